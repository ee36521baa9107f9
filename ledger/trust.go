package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// DefaultTrust is the default of Options.TrustWindow.
const DefaultTrust = 24 * time.Hour

// Copy is a live blob of a content.
type Copy struct {
	Blob
	Trusted bool // written or verified within the trust window
}

// Renewal is a copy of known bytes that a write has added to a content that was not trusted.
type Renewal struct {
	Live    []Copy // of the content, with the added ones
	Replica int    // replica number of the added copy
	// Since is the instant after which an added blob must have been written, so that an
	// older copy may be condemned beside it.
	Since  lethe.Time
	Reach  []string // backends that the writer can read; empty: all
	Wanted int      // copies to keep of a content
}

// Replaced chooses the older copies that the added one replaces (docs/protocol.md, rule 17).
// In each segment those are untrusted copies, as many as are surplus. Copies on the same
// backend go first, then those verified or written the longest ago. Suspect copies, those
// out of reach and surplus trusted ones are left to placement; rest reports whether it may
// have work.
func (r Renewal) Replaced() (gone []lethe.ID, rest bool) {
	older, added, kept := map[int][]Copy{}, map[int]Copy{}, map[int]int{}
	for _, b := range r.Live {
		switch reached := len(r.Reach) == 0 || slices.Contains(r.Reach, b.Backend); {
		case b.Replica == r.Replica:
			added[b.Segment] = b
		case b.Suspect || !reached:
		case b.Trusted:
			kept[b.Segment]++
		default:
			older[b.Segment] = append(older[b.Segment], b)
		}
	}
	for segment, b := range added {
		if b.CreatedAt <= r.Since {
			continue
		}
		list := older[segment]
		slices.SortFunc(list, func(x, y Copy) int {
			return cmp.Or(
				-compareBool(x.Backend == b.Backend, y.Backend == b.Backend),
				cmp.Compare(max(x.CreatedAt, x.VerifiedAt), max(y.CreatedAt, y.VerifiedAt)),
				cmp.Compare(x.ID, y.ID))
		})
		over := 1 + kept[segment] + len(list) - max(r.Wanted, 1)
		for _, b := range list[:max(0, min(over, len(list)))] {
			gone = append(gone, b.ID)
		}
	}
	slices.Sort(gone)
	return gone, r.Wanted > 1 || len(gone)+len(added) < len(r.Live)
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// JustRead is the least time for which a copy is trusted by the routine that has read it in
// order to condemn another one beside it, however short the trust window is.
const JustRead = 10 * time.Minute

// TrustedSince returns the instant after which a copy must have been written or verified to
// be trusted now.
func (o Options) TrustedSince(now lethe.Time) lethe.Time {
	if o.TrustWindow < 0 {
		return math.MaxInt64
	}
	return now.Add(-o.TrustWindow)
}

// ReadSince returns the instant after which a copy must have been read, so that another one
// may be condemned beside it now.
func (o Options) ReadSince(now lethe.Time) lethe.Time {
	return now.Add(-max(o.TrustWindow, JustRead))
}

// Unverified returns the error for a content that is not trusted and has these live copies:
// ErrContentGone, and also ErrUnverified if reading them may change that.
func (o Options) Unverified(live []Copy) error {
	sound, segments := map[int]bool{}, 0
	for _, b := range live {
		segments = max(segments, b.Segment+1)
		if !b.Suspect {
			sound[b.Segment] = true
		}
	}
	if o.TrustWindow < 0 || segments == 0 || len(sound) < segments {
		return lethe.ErrContentGone
	}
	return fmt.Errorf("%w: %w", lethe.ErrContentGone, lethe.ErrUnverified)
}

// unread is the error of a completion for parts that are not trusted.
type unread struct{ parts []Blob }

// Error implements error.
func (e *unread) Error() string {
	return fmt.Sprintf("parts on backends that were in doubt since (%d): %v", len(e.parts), lethe.ErrUnverified)
}

// Is implements errors.Is.
func (*unread) Is(target error) bool { return target == lethe.ErrUnverified }

// Unread returns the error of a completion that names stored parts that were not read since
// their backends were in doubt: their bytes may be gone.
func Unread(parts []Blob) error { return &unread{parts} }

// UnreadParts returns the parts that are to be read, and marked sound or suspect, before the
// completion that failed with err is run again.
func UnreadParts(err error) []Blob {
	var e *unread
	if !errors.As(err, &e) {
		return nil
	}
	return e.parts
}
