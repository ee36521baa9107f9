package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

func (a *actor) usedKey() string { return fmt.Sprintf("k%d", a.rng.IntN(usedAgain)) }

// serve is an instance of the application.
func (s *keySite) serve(a *actor) {
	ops := []func(*actor){s.once, s.once, s.once, s.again, s.again, s.rename, s.drop, s.drop, s.drop, s.spoil, s.vanish}
	for range 12 + a.rng.IntN(12) {
		ops[a.rng.IntN(len(ops))](a)
		switch a.rng.IntN(3) {
		case 0:
			a.sleep(a.between(0, s.rules.MinAge))
		case 1:
			a.sleep(a.between(0, s.rules.Retention+2*s.rules.Interval))
		default:
			a.sleep(a.between(0, time.Minute))
		}
	}
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
	s.insert(key, by)
}

// insert commits a row, by an instant.
func (s *keySite) insert(key string, by lethe.Time) {
	_, _ = write(s.w, "insert", key, func() (struct{}, error) {
		if s.hidden != 0 || s.w.now >= by {
			return struct{}{}, errGaveUp
		}
		if !s.named[key] {
			s.rows.Insert(filesPrefix + key)
			s.named[key] = true
			s.w.fail(s.inserted(key))
		}
		return struct{}{}, nil
	})
}

// rename lets a row name an object that is there.
func (s *keySite) rename(a *actor) {
	if key := a.usedKey(); s.objects.has(key) {
		s.insert(key, lethe.Forever)
	}
}

// drop removes a row; its object stays, mostly.
func (s *keySite) drop(a *actor) {
	list := slices.DeleteFunc(s.live(), func(key string) bool { return key[0] == 'a' })
	if len(list) == 0 {
		return
	}
	key := list[a.rng.IntN(len(list))]
	_, _ = write(s.w, "drop-row", key, func() (struct{}, error) {
		if s.hidden != 0 {
			return struct{}{}, errGaveUp
		}
		s.rows.Remove(filesPrefix + key)
		delete(s.named, key)
		s.unnamed[key] = s.w.now
		return struct{}{}, nil
	})
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

// vanish lets most rows vanish for a while, or name keys elsewhere.
func (s *keySite) vanish(a *actor) {
	if s.hidden != 0 || s.last == 0 || a.one(2) {
		return
	}
	s.hidden, s.shown, s.elsewhere = s.w.now, a.rng.IntN(3), a.one(2)
	for _, key := range s.live() {
		if s.visible(key) {
			continue
		}
		s.rows.Remove(filesPrefix + key)
		if s.elsewhere {
			s.rows.Insert("/" + filesPrefix + key)
		}
	}
	s.w.note("all rows but %d vanish", s.shown)
	lasts := a.between(0, s.rules.Interval)
	if a.one(3) {
		lasts = a.between(s.rules.Interval, 2*s.rules.Retention)
	}
	s.w.lands(landing{"rows", nil, s.w.now.Add(lasts), s.reappear})
}

func (s *keySite) reappear() {
	for _, key := range s.live() {
		if !s.visible(key) {
			s.rows.Remove("/" + filesPrefix + key)
			s.rows.Insert(filesPrefix + key)
		}
	}
	s.hidden = 0
}

// visible reports whether the row of a key is one of those that can be seen.
func (s *keySite) visible(key string) bool { return slices.Index(s.live(), key) < s.shown }

// race is an instance that names a key again at the worst moment: when it was looked
// that no row does, or when a delete that was sent long ago takes effect; and that puts
// an object that is missing right before it is looked whether it is.
func (s *keySite) race(a *actor) {
	for {
		moment := []func() (string, lethe.Time){s.landing, s.looked, s.looked, s.missed}[a.rng.IntN(4)]
		a.ahead = true
		a.sleepUntil(func() bool { key, _ := moment(); return key != "" }, 2*s.rules.Retention)
		key, at := moment()
		if a.sleepTo(at); key != "" && s.named[key] {
			s.objects.upload(key, func() {})
		} else if key != "" && key[0] == 'k' {
			if a.one(2) {
				s.objects.upload(key, func() {})
			}
			s.insert(key, lethe.Forever)
		}
		a.ahead = false
		a.sleep(a.between(0, s.rules.Interval))
	}
}

// landing returns a key whose object goes when a delete takes effect.
func (s *keySite) landing() (key string, at lethe.Time) {
	for _, l := range s.w.late {
		if l.what == "unlink" {
			return l.keys[len(l.keys)-1], l.at
		}
	}
	return "", 0
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
