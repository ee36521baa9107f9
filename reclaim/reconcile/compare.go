package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// perCall is how many keys one call of a listing returns, as in S3.
const perCall = 1000

// mostCandidates bounds how many differences are remembered of one listing of a
// folder.
const mostCandidates = 10_000

var (
	// errEnd ends a listing at the end of the chunk.
	errEnd = errors.New("end of the chunk")
	// errDisorder is returned for a listing that contradicts itself.
	errDisorder = errors.New("its listing is out of order and proves nothing")
)

// candidates are the differences between a listing and the ledger's rows. They are
// checked once the listing is complete.
type candidates struct {
	unknown []blob.Info // names of this store, not among the rows
	foreign []blob.Info
	absent  []lethe.ID // live rows, not listed
	resized []lethe.ID // live rows, listed in another size
	keys    int64      // listed
	skipped int64      // beyond mostCandidates
}

func (c *candidates) n() int {
	return len(c.unknown) + len(c.foreign) + len(c.absent) + len(c.resized)
}

func (c *candidates) full() bool {
	if c.n() < mostCandidates {
		return false
	}
	c.skipped++
	return true
}

// merge compares one listing with the rows of the same range, both in the order of
// their keys.
type merge struct {
	w     *walk
	names *names
	rows  []row // not compared yet
	// prefix of the keys listed, and the key after which the range ends; empty: with
	// the prefix.
	prefix, until string
	last          string
	found         candidates
}

// listed takes the next key.
func (m *merge) listed(ctx context.Context, i blob.Info) error {
	if m.last != "" && i.Key <= m.last || !strings.HasPrefix(i.Key, m.prefix) {
		return fmt.Errorf("%q after %q below %q: %w", i.Key, m.last, m.prefix, errDisorder)
	}
	if m.until != "" && i.Key > m.until {
		return errEnd
	}
	m.last = i.Key
	if m.found.keys++; m.found.keys%perCall == 0 {
		if err := m.w.o.Call(ctx); err != nil {
			return err
		}
	}
	for len(m.rows) > 0 && string(m.names.key(m.rows[0])) < i.Key {
		m.absent()
	}
	if len(m.rows) > 0 && string(m.names.key(m.rows[0])) == i.Key {
		m.both(i)
		return nil
	}
	m.only(i)
	return nil
}

// absent takes the next row, which was not listed.
func (m *merge) absent() {
	r := m.rows[0]
	m.rows = m.rows[1:]
	if r.state() == lethe.Live && !m.found.full() {
		m.found.absent = append(m.found.absent, r.blob())
	}
}

// both takes the next row, which was listed.
func (m *merge) both(i blob.Info) {
	r := m.rows[0]
	m.rows = m.rows[1:]
	if r.state() == lethe.Live && r.size() != i.Size && !m.found.full() {
		m.found.resized = append(m.found.resized, r.blob())
	}
}

// only takes a key that no row of the chunk has.
func (m *merge) only(i blob.Info) {
	_, ours := lethe.ParseBlobKey(m.w.o.Store, i.Key)
	switch {
	case pairing.IsKey(m.w.o.Store, i.Key) || m.found.full():
	case ours:
		m.found.unknown = append(m.found.unknown, i)
	default:
		m.found.foreign = append(m.found.foreign, i)
	}
}

// span is a range of keys, with the rows that belong there.
type span struct {
	prefix, after, until string
	rows                 []row
}

// folder is the span of a chunk in a fan-out folder.
func (w *walk) folder(c *chunk, n int) span {
	s := span{prefix: string(w.o.Store) + "/" + folderName(n) + "/", rows: c.in(n)}
	if c.low != "" {
		s.after = s.prefix + string(c.low)
	}
	if c.high != ledger.WalkDone {
		s.until = s.prefix + string(c.high)
	}
	return s
}

// compare merges a span. Only a complete listing yields candidates.
func (w *walk) compare(ctx context.Context, s span) (candidates, error) {
	m := &merge{w: w, names: newNames(w.o.Store), rows: s.rows, prefix: s.prefix, until: s.until, last: s.after}
	if err := w.o.Call(ctx); err != nil {
		return candidates{}, err
	}
	err := w.store.List(ctx, s.prefix, s.after, func(i blob.Info) error { return m.listed(ctx, i) })
	if err != nil && !errors.Is(err, errEnd) {
		return candidates{}, fmt.Errorf("list %q: %w", s.prefix, err)
	}
	for len(m.rows) > 0 {
		m.absent()
	}
	return m.found, nil
}

// beyond finds the keys that lie in no fan-out folder and so cannot be blobs. It
// jumps over each folder at its first key.
func (w *walk) beyond(ctx context.Context) (candidates, error) {
	var found candidates
	after := ""
	for more := true; more; {
		if err := w.o.Call(ctx); err != nil {
			return candidates{}, err
		}
		more = false
		err := w.store.List(ctx, "", after, func(i blob.Info) error {
			if i.Key <= after {
				return fmt.Errorf("%q after %q: %w", i.Key, after, errDisorder)
			}
			after = i.Key
			if folder := w.folderOf(i.Key); folder != "" {
				after, more = max(i.Key, folder+"~"), true
				return errEnd
			}
			if found.keys++; found.keys%perCall == 0 {
				if err := w.o.Call(ctx); err != nil {
					return err
				}
			}
			if !pairing.IsKey(w.o.Store, i.Key) && !found.full() {
				found.foreign = append(found.foreign, i)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnd) {
			return candidates{}, fmt.Errorf("list foreign keys: %w", err)
		}
	}
	return found, nil
}

// folderOf returns the fan-out folder of a key with its slash, empty if it lies in
// none.
func (w *walk) folderOf(key string) string {
	rest, ours := strings.CutPrefix(key, string(w.o.Store)+"/")
	if !ours || len(rest) < 3 || rest[2] != '/' || strings.IndexByte(digits, rest[0]) < 0 || strings.IndexByte(digits, rest[1]) < 0 {
		return ""
	}
	return key[:len(key)-len(rest)+3]
}
