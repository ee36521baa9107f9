package adoptsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

func (a *actor) usedKey() string { return fmt.Sprintf("k%d", a.rng.IntN(usedAgain)) }

// serve is an instance of the application.
func (s *keySite) serve(a *actor) {
	vanish := func(a *actor) { s.vanish(a, a.one(2)) }
	s.use(a, []func(*actor){s.once, s.once, s.once, s.again, s.again, s.rename, s.drop, s.drop, s.drop, s.spoil, vanish})
}

// once stores an object under a key that is used once.
func (s *keySite) once(a *actor) {
	s.fresh++
	s.store(a, fmt.Sprintf("n%d", s.fresh))
}

// again stores an object under a key that is used again and again.
func (s *keySite) again(a *actor) { s.store(a, a.usedKey()) }

// store uploads an object, and names it before it is too old to be in flight; some do
// not come so far.
func (s *keySite) store(a *actor, key string) {
	if !s.objects.upload(key, func() {}) || a.one(5) {
		return
	}
	by := s.w.now.Add(s.rules.MinAge - time.Minute)
	switch a.rng.IntN(3) {
	case 0:
		a.sleep(a.between(0, s.rules.MinAge))
	case 1:
		a.sleep(by.Sub(s.w.now) - a.between(0, time.Minute))
	}
	s.name(key, by)
}

// name commits a row, by an instant.
func (s *keySite) name(key string, by lethe.Time) {
	s.insert(key, by, func() { s.w.fail(s.inserted(key)) })
}

// rename lets a row name an object that is there.
func (s *keySite) rename(a *actor) {
	if key := a.usedKey(); s.objects.has(key) {
		s.name(key, lethe.Forever)
	}
}

// drop removes a row; its object stays, mostly.
func (s *keySite) drop(a *actor) {
	list := slices.DeleteFunc(s.live(), func(key string) bool { return key[0] == 'a' })
	if len(list) == 0 {
		return
	}
	key := list[a.rng.IntN(len(list))]
	s.remove(key, func() { s.unnamed[key] = s.w.now })
	if a.one(4) && !s.named[key] {
		delete(s.objects.objects, key)
	}
}

// spoil removes an object that a row names, as a wrong cleanup does.
func (s *keySite) spoil(a *actor) {
	if list := s.live(); a.one(2) {
		key := list[a.rng.IntN(len(list))]
		delete(s.objects.objects, key)
		s.spoilt[key] = true
		s.w.note("%s is spoilt", key)
	}
}

// race is an instance that names a key again at the worst moment: when it was looked
// that no row does, or when a delete that was sent long ago takes effect; and that puts
// an object that is missing right before it is looked whether it is.
func (s *keySite) race(a *actor) {
	for {
		moments := []moment{s.ending, s.looked, s.looked, s.missed, s.compared}
		if s.w.kind.focus.steps != "" {
			moments = []moment{s.compared}
		}
		key := s.meet(a, moments...)
		known := s.orphaned(key)
		if key != "" && s.named[key] {
			s.objects.upload(key, func() {})
		} else if key != "" && key[0] == 'k' {
			if a.one(2) {
				s.objects.upload(key, func() {})
			}
			s.name(key, lethe.Forever)
		}
		a.ahead = false
		if known && a.one(2) {
			a.sleep(a.between(0, time.Minute))
			s.remove(key, func() { s.unnamed[key] = s.w.now })
		}
		a.sleep(a.between(0, s.rules.Interval))
	}
}

// ending returns a key whose object goes when a delete takes effect.
func (s *keySite) ending() (key string, at lethe.Time) {
	key, at = s.landing()
	return strings.TrimPrefix(key, filesPrefix), at
}

// chosen draws what is to be held: what is about to go, mostly.
func (s *keySite) chosen(a *actor) adopt.Hold {
	key, _ := s.looked()
	if key == "" || a.one(4) {
		key = a.usedKey()
	}
	switch a.rng.IntN(6) {
	case 0:
		return adopt.Hold{Scope: adopt.HoldCollection}
	case 1, 2:
		return adopt.Hold{Scope: adopt.HoldPrefix, Key: filesPrefix + key[:1]}
	}
	return adopt.Hold{Scope: adopt.HoldObject, Key: filesPrefix + key}
}

// looked returns a key of which it was looked that no row names it.
func (s *keySite) looked() (key string, at lethe.Time) {
	for _, r := range s.solo.open {
		if len(r.condemned) > 0 && r.beat != 0 && s.w.now.Sub(r.step) < orphansWithin {
			return r.condemned[0][len(filesPrefix):], s.w.now
		}
	}
	return "", 0
}

// compared returns an orphan that is to go while a run compares rows that do not name it.
func (s *keySite) compared() (key string, at lethe.Time) {
	for _, r := range s.solo.open {
		if r.beat == 0 || s.w.now.Sub(r.streamed) > time.Second {
			continue
		}
		for _, o := range s.record.Orphans() {
			due := o.Since.Add(s.rules.Retention) <= s.w.now
			if key := strings.TrimPrefix(o.Key, filesPrefix); due && key[0] == 'k' && !s.named[key] {
				return key, s.w.now
			}
		}
	}
	return "", 0
}

// orphaned reports whether a key is on record as an orphan's.
func (s *keySite) orphaned(key string) bool {
	return slices.ContainsFunc(s.record.Orphans(), func(o memadopt.Orphan) bool { return o.Key == filesPrefix+key })
}

// missed returns a key of which it was looked once more that a row names it, and whose
// object is missing.
func (s *keySite) missed() (key string, at lethe.Time) {
	for _, r := range s.solo.open {
		if s.w.now.Sub(r.again) > 100*time.Millisecond || r.beat == 0 {
			continue
		}
		for _, key := range s.live() {
			if !s.objects.has(key) {
				return key, s.w.now
			}
		}
	}
	return "", 0
}
