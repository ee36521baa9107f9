package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// objectsOf is how many names of objects a folder has.
const objectsOf = 6

func folderNamed(n int) string { return fmt.Sprintf("f%d", n) }

func (a *actor) folder() string { return folderNamed(a.rng.IntN(folders)) }

func (a *actor) object(folder string) string {
	return fmt.Sprintf("%s/%d", folder, a.rng.IntN(objectsOf))
}

// serve is an instance of the application.
func (s *folderSite) serve(a *actor) {
	ops := []func(*actor, string){
		s.create, s.create, s.create, s.rowFirst, s.fill, s.remove, s.remove, s.remove, s.remove, s.discard, s.unmark, s.remark, s.loseRecord, s.vanish,
	}
	for range 12 + a.rng.IntN(12) {
		ops[a.rng.IntN(len(ops))](a, a.folder())
		switch a.rng.IntN(3) {
		case 0:
			a.sleep(a.between(0, s.rules.MinAge))
		case 1:
			a.sleep(a.between(0, s.rules.Retention+4*s.rules.Interval))
		default:
			a.sleep(a.between(0, time.Minute))
		}
	}
}

// upload puts objects of a folder, none longer after another than half of what an
// upload may take; it returns when the last one was there.
func (s *folderSite) upload(a *actor, folder string) (last lethe.Time) {
	for range 1 + a.rng.IntN(4) {
		if s.objects.upload(a.object(folder), func() {}) {
			last = s.w.now
		}
		if a.one(3) {
			a.sleep(a.between(0, s.rules.MinAge/3))
		}
	}
	return last
}

// create makes a folder: its objects, and within what may pass its row.
func (s *folderSite) create(a *actor, folder string) {
	if s.named[folder] {
		return
	}
	if last := s.upload(a, folder); last != 0 {
		if a.one(3) {
			a.sleep(a.between(0, s.rules.MinAge/2))
		}
		s.insert(folder, last.Add(s.rules.MinAge-30*time.Second))
	}
}

// insert commits a row, by an instant.
func (s *folderSite) insert(folder string, by lethe.Time) bool {
	_, err := write(s.w, "insert", folder, func() (struct{}, error) {
		if s.hidden != 0 || s.w.now >= by {
			return struct{}{}, errGaveUp
		}
		if !s.named[folder] {
			s.rows.Insert(folder)
			s.named[folder] = true
		}
		return struct{}{}, nil
	})
	return err == nil
}

// rowFirst makes a folder the other way round, or lets a row come back.
func (s *folderSite) rowFirst(a *actor, folder string) {
	if s.insert(folder, lethe.Forever) && !a.one(3) {
		s.upload(a, folder)
	}
}

// fill writes to a folder that lives.
func (s *folderSite) fill(a *actor, folder string) {
	if s.named[folder] {
		s.upload(a, folder)
	}
}

// remove removes the row; the objects stay.
func (s *folderSite) remove(_ *actor, folder string) {
	_, _ = write(s.w, "remove", folder, func() (struct{}, error) {
		if s.hidden != 0 {
			return struct{}{}, errGaveUp
		}
		s.rows.Remove(folder)
		delete(s.named, folder)
		return struct{}{}, nil
	})
}

// discard removes an object of a folder.
func (s *folderSite) discard(a *actor, folder string) {
	key := a.object(folder)
	if s.w.arrive("discard", key, readFaults) == none {
		delete(s.objects.objects, key)
	}
}

// unmark removes a marker by hand.
func (s *folderSite) unmark(_ *actor, folder string) {
	if s.w.arrive("unmark", folder, readFaults) == none && s.objects.has(markerOf(folder)) {
		delete(s.objects.objects, markerOf(folder))
		s.unmarked[folder] = s.w.now
		s.w.counts["unmarked by hand"]++
	}
}

// remark puts another marker in the place of one.
func (s *folderSite) remark(a *actor, folder string) {
	if a.one(2) && s.w.arrive("remark", folder, readFaults) == none {
		s.objects.put(markerOf(folder))
		s.unmarked[folder], s.foreign[folder] = s.w.now, true
	}
}

// loseRecord takes a folder off the record, as a restored backup does.
func (s *folderSite) loseRecord(a *actor, folder string) {
	if k := s.record(folder); a.one(2) && k.State != 0 {
		_ = s.rows.Forget(context.Background(), k)
		s.strays[folder] = true // whose marker it is nobody knows any more
		s.w.note("the record of %s is lost", folder)
	}
}

// vanish lets most rows vanish for a while.
func (s *folderSite) vanish(a *actor, _ string) {
	if s.hidden != 0 || s.last == 0 || a.one(2) {
		return
	}
	s.hidden, s.shown = s.w.now, a.rng.IntN(3)
	for _, name := range s.live() {
		if !s.visible(name) {
			s.rows.Remove(name)
		}
	}
	s.w.note("all rows but %d vanish", s.shown)
	lasts := a.between(0, s.rules.Interval)
	if a.one(4) {
		lasts = a.between(s.rules.Interval, 2*s.rules.Retention)
	}
	s.w.lands(landing{"rows", nil, s.w.now.Add(lasts), s.reappear})
}

func (s *folderSite) reappear() {
	for _, name := range s.live() {
		if !s.visible(name) {
			s.rows.Insert(name)
		}
	}
	s.hidden = 0
}

// visible reports whether the row of a folder is one of those that can be seen.
func (s *folderSite) visible(name string) bool { return slices.Index(s.live(), name) < s.shown }

// race is an instance that makes a folder again at the worst moment: when a page of it
// is listed, when it was looked that no row names it, or when a delete that was sent
// long ago takes effect.
func (s *folderSite) race(a *actor) {
	for {
		moment := []func() (string, lethe.Time){s.landing, s.looked, s.looked, s.listed}[a.rng.IntN(4)]
		a.ahead = true
		a.sleepUntil(func() bool { name, _ := moment(); return name != "" }, 2*s.rules.Retention)
		name, at := moment()
		if a.sleepTo(at); name != "" {
			s.again(a, name)
		}
		a.ahead = false
		a.sleep(a.between(0, s.rules.Interval))
		if name != "" && !a.one(4) {
			s.remove(a, name)
		}
	}
}

// again makes a folder again, in one order or the other.
func (s *folderSite) again(a *actor, name string) {
	first := a.one(3)
	if !first {
		s.insert(name, lethe.Forever)
	}
	for range a.rng.IntN(4) {
		s.objects.upload(a.object(name), func() {})
	}
	if first {
		s.insert(name, lethe.Forever)
	}
}

// landing returns a folder objects of which go when a delete takes effect.
func (s *folderSite) landing() (name string, at lethe.Time) {
	for _, l := range s.w.late {
		if l.what == "unlink" {
			name, _, _ = strings.Cut(l.keys[0], "/")
			return name, l.at
		}
	}
	return "", 0
}

// looked returns a folder of which it was looked that no row names it.
func (s *folderSite) looked() (name string, at lethe.Time) {
	for _, r := range s.solo.open {
		if r.look != nil && r.beat != 0 && s.w.now.Sub(r.step) < sendsWithin {
			return r.look.folder, s.w.now
		}
	}
	return "", 0
}

// listed returns a folder of which a page was listed.
func (s *folderSite) listed() (name string, at lethe.Time) {
	if s.w.now.Sub(s.listedAt) < 100*time.Millisecond {
		return s.listing, s.w.now
	}
	return "", 0
}

// jump sets the clock of the bucket, or of the database, forward.
func (s *folderSite) jump(a *actor) {
	c := []*clock{s.db, s.backend}[a.rng.IntN(2)]
	a.sleep(a.between(0, 3*s.rules.Retention))
	c.ahead += s.rules.Retention + a.between(time.Minute, time.Hour)
	s.w.note("a clock is set forward")
	a.sleep(10000 * time.Hour)
}
