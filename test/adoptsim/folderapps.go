package adoptsim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
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
	var ops []func(*actor)
	for _, op := range []func(*actor, string){
		s.create, s.create, s.create, s.rowFirst, s.fill, s.drop, s.drop, s.drop, s.drop, s.discard, s.unmark, s.remark, s.loseRecord,
	} {
		ops = append(ops, func(a *actor) { op(a, a.folder()) })
	}
	s.use(a, append(ops, func(a *actor) { s.vanish(a, false) }))
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
		s.insert(folder, last.Add(s.rules.MinAge-30*time.Second), func() {})
	}
}

// rowFirst makes a folder the other way round, or lets a row come back.
func (s *folderSite) rowFirst(a *actor, folder string) {
	if s.insert(folder, lethe.Forever, func() {}) && !a.one(3) {
		s.upload(a, folder)
	}
}

// fill writes to a folder that lives.
func (s *folderSite) fill(a *actor, folder string) {
	if s.named[folder] {
		s.upload(a, folder)
	}
}

// drop removes the row; the objects stay.
func (s *folderSite) drop(_ *actor, folder string) { s.remove(folder, func() {}) }

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
	if k := s.known(folder); a.one(2) && k.State != 0 {
		_ = s.record.Forget(context.Background(), k)
		s.strays[folder] = true // whose marker it is nobody knows any more
		s.w.note("the record of %s is lost", folder)
	}
}

// race is an instance that makes a folder again at the worst moment: when a page of it
// is listed, when it was looked that no row names it, or when a delete that was sent
// long ago takes effect. Now and then it puts another marker instead.
func (s *folderSite) race(a *actor) {
	for {
		name := s.meet(a, s.ending, s.looked, s.looked, s.listed)
		switch {
		case name != "" && a.one(4):
			s.remark(a, name)
		case name != "":
			s.again(a, name)
		}
		a.ahead = false
		a.sleep(a.between(0, s.rules.Interval))
		if name != "" && !a.one(4) {
			s.drop(a, name)
		}
	}
}

// again makes a folder again, in one order or the other.
func (s *folderSite) again(a *actor, name string) {
	first := a.one(3)
	if !first {
		s.insert(name, lethe.Forever, func() {})
	}
	for range a.rng.IntN(4) {
		s.objects.upload(a.object(name), func() {})
	}
	if first {
		s.insert(name, lethe.Forever, func() {})
	}
}

// ending returns a folder objects of which go when a delete takes effect.
func (s *folderSite) ending() (name string, at lethe.Time) {
	key, at := s.landing()
	name, _, _ = strings.Cut(key, "/")
	return name, at
}

// chosen draws what is to be held: of a folder that is about to go, mostly.
func (s *folderSite) chosen(a *actor) adopt.Hold {
	name, _ := s.looked()
	if name == "" || a.one(4) {
		name = a.folder()
	}
	switch a.rng.IntN(6) {
	case 0:
		return adopt.Hold{Scope: adopt.HoldCollection}
	case 1, 2:
		return adopt.Hold{Scope: adopt.HoldObject, Key: a.object(name)}
	case 3:
		return adopt.Hold{Scope: adopt.HoldPrefix, Key: "f"}
	}
	return adopt.Hold{Scope: adopt.HoldPrefix, Key: name + "/"}
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
