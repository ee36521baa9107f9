package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// CopyStore stores objects, or their copies.
type CopyStore interface {
	blob.Copier
	Deleter
}

// Quarantine moves unreferenced objects instead of deleting them, for databases
// without a guard against new references. As a Deleter it copies, records the
// copy, and then deletes. As a routine it copies back what is referenced again,
// and deletes copies after their retention.
type Quarantine struct {
	Collection string
	Prefix     string // of the whole keys of objects
	Into       string // precedes them in the keys of their copies
	Rows       QuarantineRows
	Objects    CopyStore // keys exclude Prefix
	Copies     CopyStore // keys are whole keys of objects
	Grace      Grace
	Retention  time.Duration
	// Enough, if set, returns an error if suspiciously few rows are live, which
	// prevents purging.
	Enough func(ctx context.Context) error
	// RestoresOnly disables purging by a pass, because the description is in
	// doubt.
	RestoresOnly atomic.Bool
	Batch        int
	AtOnce       int // objects looked at or copied concurrently; 0 means one
	Boot         lethe.Clock
	Events       *Events

	swept lethe.Time // time of the last look for uploads, by Boot
}

// moving is a Delete in progress.
type moving struct {
	*Quarantine
	fence int64
	until lethe.Time // when this worker loses the objects, by Boot

	mu   sync.Mutex
	seen map[string]blob.ForeignInfo
	errs map[string]error // result for each key; those without one continue
}

// finish records the result of a key.
func (m *moving) finish(key string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errs[key] = err
}

// each calls fn for keys concurrently, and records what it returns.
func (m *moving) each(keys []string, fn func(key string) error) {
	m.all(keys, func(key string) {
		if err := fn(key); err != nil {
			m.finish(key, err)
		}
	})
}

// all calls fn for keys, up to the limit of concurrency.
func (q *Quarantine) all(keys []string, fn func(key string)) {
	var running errgroup.Group
	running.SetLimit(max(1, q.AtOnce))
	for _, key := range keys {
		if q.AtOnce == 0 {
			fn(key)
			continue
		}
		running.Go(func() error {
			fn(key)
			return nil
		})
	}
	_ = running.Wait()
}

// left returns the keys without a result.
func (m *moving) left(keys []string) (out []string) {
	for _, key := range keys {
		if _, done := m.errs[key]; !done {
			out = append(out, key)
		}
	}
	return out
}

// Delete implements Deleter: it moves objects into quarantine, by their whole
// keys. A missing object counts as deleted. Nothing is deleted before its copy
// was compared and recorded.
func (q *Quarantine) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	m := &moving{Quarantine: q, seen: map[string]blob.ForeignInfo{}, errs: map[string]error{}}
	err := m.move(ctx, keys)
	results := make([]blob.Result, len(keys))
	for i, key := range keys {
		results[i].Key = key
		switch keyErr, ok := m.errs[key]; {
		case ok:
			results[i].Err = keyErr
		case err != nil:
			results[i].Err = fmt.Errorf("%w: %w", blob.ErrNotDone, err)
		}
	}
	return results, err
}

func (m *moving) move(ctx context.Context, keys []string) error {
	found := m.look(ctx, keys)
	if len(found) == 0 {
		return nil
	}
	m.until = m.Boot.Now().Add(m.Grace.Landed())
	begun, err := m.Rows.Begin(ctx, found, m.Grace.Landed())
	if err != nil {
		return err
	}
	m.fence = begun.Fence
	going := append(begun.Copy, begun.Remove...)
	m.wait(found, append(begun.Gone, going...))
	for _, key := range begun.Gone {
		m.finish(key, nil)
	}
	m.each(begun.Copy, func(key string) error { return m.copy(ctx, key) })
	m.each(m.left(begun.Copy), func(key string) error { return m.verify(ctx, key) })
	m.each(begun.Remove, func(key string) error { return m.again(ctx, key) })
	may, err := m.Rows.Moved(ctx, begun.Fence, m.left(going), m.terms())
	if err != nil {
		return err
	}
	m.wait(found, may)
	m.each(may, func(key string) error { return m.same(ctx, key) })
	return m.remove(ctx, m.left(may))
}

// look looks at the objects.
func (m *moving) look(ctx context.Context, keys []string) (found []FoundObject) {
	m.each(keys, func(key string) error {
		rest, ok := below(key, m.Prefix)
		if !ok {
			return fmt.Errorf("%q lies outside of the prefix %q: %w: %w", Brief(key), m.Prefix, blob.ErrInvalidKey, blob.ErrNotDone)
		}
		s := FoundObject{Key: key, Copy: m.Into + key}
		info, err := m.Objects.StatForeign(ctx, rest)
		switch {
		case errors.Is(err, blob.ErrNotExist):
			s.Absent = true
		case err != nil:
			return fmt.Errorf("%w: %w", blob.ErrNotDone, err)
		}
		s.Size, s.Tag = info.Size, info.Tag
		m.mu.Lock()
		defer m.mu.Unlock()
		m.seen[key] = info
		found = append(found, s)
		return nil
	})
	slices.SortFunc(found, func(a, b FoundObject) int { return strings.Compare(a.Key, b.Key) })
	return found
}

// errHeld reports that another worker has the object, or that it is being
// restored.
var errHeld = errors.New("it is being moved into quarantine or out of it, or is referred to again: a later run tries again")

// wait records that the objects that were found and do not continue have to
// wait.
func (m *moving) wait(found []FoundObject, on []string) {
	goes := set(on)
	for _, s := range found {
		if _, done := m.errs[s.Key]; !done && !goes[s.Key] {
			m.errs[s.Key] = fmt.Errorf("%w: %w", blob.ErrNotDone, errHeld)
		}
	}
}

// copied converts an error of a copy: whatever happened to the copy, the object
// is untouched.
func (m *moving) copied(err error) error {
	if err != nil {
		return fmt.Errorf("copy into quarantine: %w: %w", blob.ErrNotDone, plain{err})
	}
	return nil
}

// plain keeps only the text of an error: the outcome of a copy says nothing
// about the object.
type plain struct{ error }

func (m *moving) copy(ctx context.Context, key string) error {
	ctx = m.recording(ctx, Upload{Key: key, Fence: m.fence, Name: m.Into + key})
	return m.copied(m.Copies.CopyForeign(ctx, m.Objects, m.seen[key], key, false))
}

// verify compares a new copy with the object.
func (m *moving) verify(ctx context.Context, key string) error {
	copied, err := m.Copies.StatForeign(ctx, key)
	if err != nil {
		return m.copied(err)
	}
	c := comparer{a: m.Objects, b: m.Copies, before: m.until, boot: m.Boot}
	if err := c.same(ctx, m.seen[key], copied); err != nil {
		return m.copied(err)
	}
	return m.copied(lacks(copied, m.seen[key]))
}

// lacks returns the attributes of an object that its copy does not have.
func lacks(copied, object blob.ForeignInfo) error {
	for _, kept := range []struct{ has, want map[string]string }{{copied.Headers, object.Headers}, {copied.User, object.User}} {
		for _, name := range slices.Sorted(maps.Keys(kept.want)) {
			if kept.has[name] != kept.want[name] {
				return fmt.Errorf("the service did not copy all that it keeps beside the bytes: %s is %q of the copy, %q of the object", name, kept.has[name], kept.want[name])
			}
		}
	}
	return nil
}

// again checks a copy that was compared before it was recorded, and copies the
// object again if the copy was removed or replaced, or if the same bytes were
// uploaded since, perhaps with other metadata. A copy that cannot be read
// is left alone: a delete in flight may take the object, and then the copy is
// all there is.
func (m *moving) again(ctx context.Context, key string) error {
	seen := m.seen[key]
	copied, err := m.Copies.StatForeign(ctx, key)
	switch {
	case err == nil && likenessOf(copied, seen) != different && lacks(copied, seen) == nil && seen.ModTime <= copied.ModTime:
		return nil
	case err != nil && !errors.Is(err, blob.ErrNotExist):
		return m.copied(err)
	}
	if err := m.copy(ctx, key); err != nil {
		return err
	}
	return m.verify(ctx, key)
}

// same checks, right before an object is deleted, that it is the one that was
// copied.
func (m *moving) same(ctx context.Context, key string) error {
	rest, _ := below(key, m.Prefix)
	now, err := m.Objects.StatForeign(ctx, rest)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil // the delete reports that
	case err != nil:
		return fmt.Errorf("%w: %w", blob.ErrNotDone, plain{err})
	case now.Tag != m.seen[key].Tag:
		return fmt.Errorf("%w: %w", blob.ErrNotDone, blob.ErrChanged)
	}
	return nil
}

// remove deletes the objects whose copies are recorded.
func (m *moving) remove(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	results, err := Within{m.Prefix, m.Objects}.Delete(ctx, keys)
	for i, r := range results {
		m.errs[keys[i]] = r.Err
	}
	return err
}
