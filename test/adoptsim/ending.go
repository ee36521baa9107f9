package adoptsim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// rounds is how often each routine runs in the quiet end, an hour apart. It is enough
// for a watchdog, an attempt that rests for an hour, and a mark to end.
const rounds = 8

// end lets everything late land, runs each routine on one worker, and looks at what
// is left.
func (w *world) end() {
	w.quiet = true
	w.note("quiet")
	w.advance(w.now.Add(w.grace.Late + time.Hour))
	w.keeper.release()
	routines := w.routines()
	for range rounds {
		for _, r := range routines {
			if err := w.pass(r, "end"); err != nil && w.err == nil {
				w.fail(fmt.Errorf("a pass of %s failed in the quiet end: %w", r.Name(), err))
			}
		}
		w.advance(w.now.Add(time.Hour))
	}
	w.check("end")
	if w.err == nil {
		w.fail(w.oracle.left())
	}
}

// left: what has expired is gone, and nothing of it is left.
func (o *oracle) left() error {
	s := o.w.db.Snapshot()
	referenced := map[string]bool{}
	for _, r := range s.Rows {
		switch {
		case r.Status == memadopt.Claimed:
			return fmt.Errorf("paste %s is still in progress", r.Key)
		case r.Status == memadopt.Live && r.End != 0 && r.End <= o.w.now:
			return fmt.Errorf("paste %s expired at %s and is still there", r.Key, r.End)
		}
		referenced[r.Content] = true
	}
	for _, m := range s.Marks {
		return fmt.Errorf("content %s is still marked, in state %d", m.Content, m.State)
	}
	if s.Again > 0 {
		return fmt.Errorf("%d batches of copies are still to be dropped", s.Again)
	}
	rows := map[string]bool{}
	for c := range o.shared {
		referenced[c] = true
	}
	for _, c := range s.Contents {
		rows[c.Object] = true
		if !referenced[c.Key] {
			return fmt.Errorf("content %s is still there, and no paste refers to it", c.Key)
		}
	}
	for _, key := range o.w.objs.Keys() {
		if !rows[key] && o.owned[o.put[key]] && !o.forgotten[key] {
			return fmt.Errorf("object %s is still there, and has no row", key)
		}
	}
	return cmp.Or(o.emptied(s), o.cached(true, 0))
}
