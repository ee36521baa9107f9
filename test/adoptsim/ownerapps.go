package adoptsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

func ownedKey(n int) string { return fmt.Sprintf("r%d", n) }

func ownedName(n int) string { return fmt.Sprintf("n%d", n) }

// serve is an instance of the application.
func (s *ownedSite) serve(a *actor) {
	ops := []func(*actor){s.make, s.make, s.make, s.move, s.move, s.extend, s.remove, s.remove, s.cascade}
	if s.folders {
		ops = append(ops, s.fill, s.fill, s.discard)
	}
	for range 8 + a.rng.IntN(8) {
		ops[a.rng.IntN(len(ops))](a)
		a.sleep(a.between(0, 30*time.Second))
		if a.one(5) {
			a.sleep(a.between(0, 20*time.Minute))
		}
	}
}

// live draws a row, empty if there is none.
func (s *ownedSite) live(a *actor) string {
	if len(s.rows) == 0 {
		return ""
	}
	list := slices.Sorted(maps.Keys(s.rows))
	return list[a.rng.IntN(len(list))]
}

// make makes a row with its objects, or moves the one that is there.
func (s *ownedSite) make(a *actor) {
	s.store(a, ownedKey(a.rng.IntN(ownedRows)), ownedName(a.rng.IntN(ownedNames)))
}

func (s *ownedSite) move(a *actor) {
	if key := s.live(a); key != "" {
		s.store(a, key, ownedName(a.rng.IntN(ownedNames)))
	}
}

// parts draws what is uploaded of something that is owned: the object, or some in the
// folder.
func (s *ownedSite) parts(a *actor, owned string) []string {
	if !s.folders {
		return []string{owned}
	}
	var out []string
	for range 1 + a.rng.IntN(3) {
		out = append(out, fmt.Sprintf("%s%d", owned, a.rng.IntN(4)))
	}
	return out
}

// put uploads an object; it reports whether that was acknowledged.
func (s *ownedSite) put(object string) bool {
	return s.objects.upload(object, func() {
		if s.dead[object] = s.owner(object) != ""; s.dead[object] {
			s.must[object] = true
		}
		s.check("put")
	})
}

// store uploads what a row is to own, and commits the row within the longest write. A
// refused transaction is repeated, uploads included.
func (s *ownedSite) store(a *actor, key, name string) {
	for range 4 {
		began := s.now
		var objects []string
		for _, owned := range s.owns(key, name) {
			for _, object := range s.parts(a, owned) {
				if !s.put(object) {
					a.ahead = false
					return
				}
				objects = append(objects, object)
			}
		}
		a.ahead = false
		s.pause(a, s.owns(key, name), began)
		_, err := write(s.world, "store", key+" "+name, func() (struct{}, error) {
			return struct{}{}, s.commit(a, key, name, objects, began)
		})
		s.note("%s: store %s %s: %v", a.name, key, name, err)
		if !errors.Is(err, memadopt.ErrRefused) {
			return
		}
		s.counts["refused"]++
	}
}

// commit inserts a row, or moves the one that is there.
func (s *ownedSite) commit(a *actor, key, name string, objects []string, began lethe.Time) error {
	if s.now.Sub(began) >= s.grace.LongestWrite {
		return errGaveUp // the database has ended it
	}
	row, there := s.rows[key]
	var err error
	if there {
		err = s.db.Move(key, name)
	} else {
		row.end = a.ending()
		err = s.db.Insert(key, name, row.end)
	}
	if err != nil {
		return err
	}
	row.name = name
	s.rows[key] = row
	s.release()
	for _, object := range objects {
		s.dead[object] = true
		if s.discarded[object] < began {
			s.must[object] = true
		}
	}
	return nil
}

// pause lets time pass between uploads and their commit: none, or some, or as much as
// there may, or until the guard lets them be named.
func (s *ownedSite) pause(a *actor, owned []string, began lethe.Time) {
	left := s.grace.LongestWrite - s.now.Sub(began) - time.Second
	free := func() bool {
		return !slices.ContainsFunc(owned, func(k string) bool { return s.refused(ownedPrefix + k) })
	}
	switch {
	case left <= 0:
	case a.racer && !a.one(4):
		a.sleepUntil(free, left)
	case a.one(4):
		a.sleep(a.between(0, left))
	case a.one(4):
		a.sleep(left)
	case a.one(2):
		a.sleepUntil(free, left)
	}
}

func (s *ownedSite) extend(a *actor) {
	key, end := s.live(a), a.ending()
	_, _ = write(s.world, "extend", key, func() (struct{}, error) {
		err := s.db.Extend(key, end)
		if err == nil {
			s.rows[key] = ownedRow{s.rows[key].name, end}
		}
		return struct{}{}, err
	})
}

func (s *ownedSite) remove(a *actor) { s.removes(s.live(a)) }

// cascade removes all rows of a name in one transaction.
func (s *ownedSite) cascade(a *actor) {
	name := ownedName(a.rng.IntN(ownedNames))
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		if s.rows[key].name == name {
			keys = append(keys, key)
		}
	}
	s.removes(keys...)
}

func (s *ownedSite) removes(keys ...string) {
	_, _ = write(s.world, "delete", fmt.Sprint(keys), func() (struct{}, error) {
		for _, key := range keys {
			if s.db.Delete(key) == nil {
				delete(s.rows, key)
			}
		}
		s.release()
		return struct{}{}, nil
	})
}

// fill writes to a folder of a row.
func (s *ownedSite) fill(a *actor) {
	if key := s.live(a); key != "" {
		owned := s.owns(key, s.rows[key].name)
		s.put(s.parts(a, owned[a.rng.IntN(len(owned))])[0])
	}
}

// discard removes an object from a folder of a row.
func (s *ownedSite) discard(a *actor) {
	if len(s.must) == 0 {
		return
	}
	list := slices.Sorted(maps.Keys(s.must))
	object := list[a.rng.IntN(len(list))]
	if s.arrive("discard", object, readFaults) == none {
		s.discarded[object] = s.now
		delete(s.must, object)
		delete(s.objects.objects, object)
	}
}

// race is an instance that stores what a row owned again at the worst moment: right
// before a delete of it takes effect.
func (s *ownedSite) race(a *actor) {
	a.racer = true
	for {
		object, at := s.deleteAhead()
		if object == "" {
			a.sleepUntil(func() bool { object, _ := s.deleteAhead(); return object != "" }, time.Hour)
			continue
		}
		a.sleepTo(at)
		key, name := s.naming(a, object)
		s.store(a, key, name)
		a.ahead = false
		a.sleep(a.between(0, 10*time.Second))
	}
}

// deleteAhead returns an object, or a folder, that is to be deleted, and when.
func (s *ownedSite) deleteAhead() (object string, at lethe.Time) {
	for _, l := range s.late {
		if l.what == "unlink" {
			return l.keys[len(l.keys)-1], l.at
		}
	}
	for _, m := range s.db.Marks() {
		if m.State == memadopt.Condemned {
			return m.Object[len(ownedPrefix):], s.now
		}
	}
	return "", 0
}

// naming draws a row that would own an object.
func (s *ownedSite) naming(a *actor, object string) (key, name string) {
	key, name = ownedKey(a.rng.IntN(ownedRows)), ownedName(a.rng.IntN(ownedNames))
	for i := range max(ownedRows, ownedNames) {
		if i < ownedRows && covers(s.owns(ownedKey(i), name), object) {
			return ownedKey(i), name
		}
		if i < ownedNames && covers(s.owns(key, ownedName(i)), object) {
			return key, ownedName(i)
		}
	}
	return key, name
}

// going returns an object, or a folder, that is about to go, or of which a delete may yet
// take effect; empty if there is none.
func (s *ownedSite) going() string {
	for _, m := range s.db.Marks() {
		switch {
		case m.State == memadopt.Condemned, m.State == memadopt.Waiting && m.Due <= s.now.Add(time.Minute), m.Unseen > s.now:
			return m.Object
		}
	}
	return ""
}

// chosen draws what is to be held: of what is about to go, mostly.
func (s *ownedSite) chosen(a *actor) adopt.Hold {
	owned := s.owns(ownedKey(a.rng.IntN(ownedRows)), ownedName(a.rng.IntN(ownedNames)))
	object := ownedPrefix + owned[a.rng.IntN(len(owned))]
	if next := s.going(); next != "" && !a.one(4) {
		object = next
	}
	switch a.rng.IntN(6) {
	case 0:
		return adopt.Hold{Scope: adopt.HoldCollection}
	case 1:
		return adopt.Hold{Scope: adopt.HoldRow, Key: ownedKey(a.rng.IntN(ownedRows))}
	case 2:
		return adopt.Hold{Scope: adopt.HoldPrefix, Key: object[:len(object)-1]}
	}
	if s.folders {
		object += fmt.Sprint(a.rng.IntN(4))
	}
	return adopt.Hold{Scope: adopt.HoldObject, Key: object}
}
