package cluster_test

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// version is what was once written under a key.
type version struct {
	n        int
	pieces   []piece // its bytes, in order
	sum      [sha256.Size]byte
	from, to lethe.Time // when it ends, as exactly as the client knows; zero: never
}

// piece is bytes that can be made again.
type piece struct {
	seed uint64
	size int
}

// of gives a version its bytes.
func (v *version) of(pieces ...piece) *version {
	v.pieces = pieces
	v.sum = sha256.Sum256(v.bytes())
	return v
}

func (v *version) bytes() []byte {
	var all []byte
	for _, p := range v.pieces {
		all = append(all, bytesOf(p.seed, p.size)...)
	}
	return all
}

// entry is what may lie under a key; nil stands for nothing.
type entry struct {
	key     string
	n       int // of the last version
	may     []*version
	unknown bool // the outcome of a write is
}

func (e *entry) acked() bool { return !e.unknown && len(e.may) == 1 && e.may[0] != nil }

// seen is what was found under a key, and when.
type seen struct {
	there    bool
	n        int
	sum      [sha256.Size]byte
	from, to lethe.Time
}

// mistake is what must not happen.
type mistake struct{ error }

// Unwrap returns the reason.
func (m *mistake) Unwrap() error { return m.error }

func isMistake(err error) bool {
	var m *mistake
	return errors.As(err, &m)
}

// fits says why what was found must not be.
func (e *entry) fits(s seen) error {
	why := ""
	for _, v := range e.may {
		problem := v.differs(s, e.unknown)
		if problem == "" {
			return nil
		}
		why += "; " + problem
	}
	return &mistake{fmt.Errorf("%s%s", e.key, why)}
}

// differs says why v is not what was found. A write of unknown outcome may have
// been done long after the client gave up.
func (v *version) differs(s seen, unknown bool) string {
	switch {
	case v == nil && s.there:
		return fmt.Sprintf("version %d is there, should be none", s.n)
	case v == nil:
	case !s.there && v.from != 0 && s.to >= v.from:
	case !s.there:
		return fmt.Sprintf("nothing is there, should be version %d", v.n)
	case s.n != v.n:
		return fmt.Sprintf("version %d is there, should be %d", s.n, v.n)
	case s.sum != v.sum:
		return fmt.Sprintf("version %d has other bytes than were put", v.n)
	case v.from != 0 && s.from > v.to && !unknown:
		return fmt.Sprintf("version %d is there, %s after its end", v.n, s.from.Sub(v.to))
	}
	return ""
}
