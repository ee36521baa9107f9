package adoptsim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// release forgets objects that no row owns any more: they may go.
func (s *ownedSite) release() {
	for object := range s.must {
		if s.owner(object) == "" {
			delete(s.must, object)
		}
	}
}

// holds: what a row owns is there, and rows are as the application left them, but those
// that have expired, and that no hold keeps.
func (s *ownedSite) holds(step string) error {
	there := map[string]memadopt.Row{}
	for _, r := range s.db.Rows() {
		there[r.Key] = r
		if p := s.rows[r.Key]; p != (ownedRow{r.Name, r.End}) {
			return fmt.Errorf("row %s is of %s until %s, and was made of %s until %s", r.Key, r.Name, r.End, p.name, p.end)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		if _, ok := there[key]; ok {
			continue
		}
		switch end := s.rows[key].end; {
		case step != "settle" && step != "take" || end == 0 || end > s.now:
			return fmt.Errorf("row %s went in %q, and lasts until %s", key, step, end)
		case s.keeper.holds().Row(key) != nil:
			return fmt.Errorf("row %s went, and %s", key, s.keeper.holds().Row(key).Why())
		}
		delete(s.rows, key)
	}
	s.release()
	for _, object := range slices.Sorted(maps.Keys(s.must)) {
		if !s.objects.has(object) {
			return fmt.Errorf("row %s owns %s, which is gone", s.owner(object), object)
		}
	}
	return nil
}

// loses takes the effect of a delete. What is held goes by deletes alone that were
// allowed before.
func (s *ownedSite) loses(objects []string) {
	for _, object := range objects {
		if s.objects.has(object) {
			s.fail(s.keeper.lost(ownedPrefix + object))
		}
		delete(s.objects.objects, object)
	}
	s.check("unlink")
}

// end lets all become quiet, and looks at what is left.
func (s *ownedSite) end() {
	s.quiet = true
	s.note("quiet")
	s.advance(s.now.Add(s.grace.Late + time.Hour))
	s.keeper.release()
	routines := s.routines()
	for range rounds {
		for _, r := range routines {
			if err := s.pass(r, "end"); err != nil {
				s.fail(fmt.Errorf("a pass of %s failed in the quiet end: %w", r.Name(), err))
				return
			}
		}
		s.advance(s.now.Add(time.Hour))
	}
	s.check("end")
	s.fail(s.left())
}

// left: what has expired is gone, and nothing of it is left.
func (s *ownedSite) left() error {
	snapshot := s.db.Snapshot()
	for _, r := range snapshot.Rows {
		switch {
		case r.Status == memadopt.Claimed:
			return fmt.Errorf("row %s is still in progress", r.Key)
		case r.End != 0 && r.End <= s.now:
			return fmt.Errorf("row %s expired at %s and is still there", r.Key, r.End)
		}
	}
	for _, m := range snapshot.Marks {
		return fmt.Errorf("%s is still marked, in state %d", m.Object, m.State)
	}
	for _, object := range s.objects.below("") {
		if s.dead[object] && s.owner(object) == "" {
			return fmt.Errorf("%s is still there, and no row owns it", object)
		}
	}
	return nil
}
