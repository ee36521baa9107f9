package adoptsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// serve is an instance of the application, which writes to production.
func (s *pairedSite) serve(a *actor) {
	for range 12 + a.rng.IntN(12) {
		if a.one(3) {
			s.drop(a, s.prod)
		} else {
			s.store(a)
		}
		a.sleep(a.between(0, time.Minute))
		if a.one(3) {
			a.sleep(a.between(0, s.rules.Retention+s.rules.MinAge))
		}
	}
}

// store puts an object, and names it before it is too old to be in flight; some do not come so far.
func (s *pairedSite) store(a *actor) {
	s.fresh++
	key, by := fmt.Sprintf("n%d", s.fresh), s.w.now.Add(s.rules.MinAge-2*time.Minute)
	if !s.objects.upload(key, func() {}) || a.one(4) {
		return
	}
	a.sleep(a.between(0, s.rules.MinAge/2))
	rows := s.prod.rows
	_, _ = write(s.w, "insert", key, func() (struct{}, error) {
		if s.w.now < by {
			rows.Insert(filesPrefix + key)
		}
		return struct{}{}, nil
	})
}

// drop removes a row; its object is to go.
func (s *pairedSite) drop(a *actor, d *pairedDB) {
	list := slices.DeleteFunc(s.live(d), func(key string) bool { return strings.HasPrefix(key, filesPrefix+"anchor") })
	if len(list) > 0 {
		d.rows.Remove(list[a.rng.IntN(len(list))])
	}
}

// live returns what rows of a database name.
func (s *pairedSite) live(d *pairedDB) (keys []string) {
	_, _, err := d.rows.Stream(context.Background(), func(key string) error {
		keys = append(keys, key)
		return nil
	})
	s.w.fail(err)
	return keys
}

// operate is who copies databases and buckets, puts them back, and decides whose the objects are.
func (s *pairedSite) operate(a *actor) {
	for len(s.order) == 0 { // the first to be admitted has the objects
		a.sleepUntil(func() bool { return len(s.order) > 0 }, time.Hour)
	}
	ops := []func(*actor){s.stage, s.save, s.save, s.putBack, s.putBack, s.twin, s.promote, s.swap, s.empty}
	if s.lag > 0 {
		ops = ops[:1]
	}
	for {
		ops[a.rng.IntN(len(ops))](a)
		s.judge()
		a.sleep([]time.Duration{a.between(0, time.Minute), a.between(time.Minute, 10*time.Minute), a.between(0, 2*time.Hour)}[a.rng.IntN(3)])
		if s.lag == 0 && (s.disturbed || a.one(4)) {
			s.decide(s.prod)
		}
	}
}

// most is how many databases there are.
const most = 4

// stage runs a copy in another place, in which rows are removed, with the same bucket.
func (s *pairedSite) stage(a *actor) {
	if len(s.all) == most {
		return
	}
	name := fmt.Sprintf("copy%d", len(s.all))
	d := s.prod.copied(name, name)
	for range 5 {
		s.drop(a, d)
	}
	s.w.note("%s is a copy of %s elsewhere", name, s.prod.name)
	s.w.counts["copies"]++
	s.run(d)
}

// twin runs a copy in the same place, such as one of its disk.
func (s *pairedSite) twin(*actor) {
	if len(s.all) == most {
		return
	}
	s.disturbed = true
	d := s.prod.copied(fmt.Sprintf("twin%d", len(s.all)), s.prod.place)
	s.w.note("%s is a copy of %s in its place", d.name, s.prod.name)
	s.w.counts["copies in the same place"]++
	s.run(d)
}

// save makes a backup of production.
func (s *pairedSite) save(*actor) {
	s.backup = &backup{of: s.prod, copy: s.prod.copied("backup", s.prod.place), at: s.w.now}
	s.w.note("a backup of %s", s.prod.name)
}

// putBack puts production back to its backup. One older than two epochs knows the last no more.
func (s *pairedSite) putBack(*actor) {
	b := s.backup
	if b == nil || b.of != s.prod {
		return
	}
	s.disturbed, s.turned = true, s.w.now
	again := b.copy.copied("", b.copy.place)
	s.prod.rows, s.prod.pairings = again.rows, again.pairings
	s.w.note("%s is put back to its backup, after %d epochs", s.prod.name, b.moves)
	s.w.counts["restored"]++
	if s.judge(); b.moves >= 2 && s.prod.lost == 0 {
		s.w.fail(fmt.Errorf("%s knows the last epoch, and was put back to a time %d epochs before", s.prod.name, b.moves))
	}
	b.moves, b.at = 0, s.w.now
}

// promote makes another database that of the objects, while all go on.
func (s *pairedSite) promote(a *actor) {
	if len(s.all) == 1 {
		return
	}
	d := s.all[a.rng.IntN(len(s.all))]
	if s.disturbed = true; s.decide(d) {
		s.w.note("%s is production now", d.name)
		s.w.counts["promoted"]++
		s.prod, s.turned = d, s.w.now
	}
}

// swap puts another bucket in the place of the present one: one that is empty, or was it before.
func (s *pairedSite) swap(*actor) {
	s.disturbed, s.backup = true, nil // it may be of the time of the other bucket
	now := lying{s.objects.objects, s.order}
	if s.objects.objects, s.order = s.other.objects, s.other.order; s.objects.objects == nil {
		s.objects.objects = map[string]object{}
	}
	s.other = now
	s.w.note("another bucket is in the place: %d objects", len(s.objects.objects))
	s.w.counts["buckets swapped"]++
}

// empty empties the bucket, or puts back what lay there earlier.
func (s *pairedSite) empty(a *actor) {
	s.disturbed, s.backup = true, nil
	old := s.saved
	s.saved = lying{maps.Clone(s.objects.objects), s.order}
	clear(s.objects.objects)
	if s.order = nil; a.one(2) && old.objects != nil {
		maps.Copy(s.objects.objects, old.objects)
		s.order = old.order
	}
	s.w.note("the bucket is emptied, or restored: %d objects", len(s.objects.objects))
	s.w.counts["buckets emptied or restored"]++
}

// decide gives the objects to a database if it is refused, as an operator does, and reports whether
// it has them. All others are refused then.
func (s *pairedSite) decide(d *pairedDB) bool {
	p := s.pairing(d)
	if _, err := p.Look(context.Background()); !errors.Is(err, adopt.ErrUnpaired) {
		return err == nil
	}
	s.w.counts["refused"]++
	d.given = true
	if err := p.Accept(context.Background()); err != nil {
		s.w.note("%s is not accepted: %v", d.name, err)
		return false
	}
	s.w.counts["accepted"]++
	s.w.note("%s is accepted", d.name)
	s.judge()
	for _, other := range s.all {
		if other != d && other.lost == 0 {
			s.w.fail(fmt.Errorf("%s was accepted, and %s still knows the last epoch", d.name, other.name))
		}
	}
	return true
}

// admit lets a process ask to be admitted, and move the epoch on; it reports whether it is refused. One
// whose database knows the last epoch all the time is not.
func (s *pairedSite) admit(d *pairedDB, p *adopt.Pairing) (refused bool) {
	began := s.w.now
	err := p.Admit(context.Background())
	s.judge()
	refused = errors.Is(err, adopt.ErrUnpaired)
	if refused && !s.disturbed && s.lag == 0 && d.lost == 0 && d.gained <= began {
		s.w.fail(fmt.Errorf("%s is refused, and knows the last epoch: %w", d.name, err))
	}
	if refused {
		s.w.counts["refusals"]++
	}
	// An epoch is replaced half a minute after it was confirmed.
	if b := s.backup; err == nil && b != nil && b.of == d && began.Sub(b.at) > 40*time.Second {
		b.moves, b.at = b.moves+1, s.w.now
	}
	return refused
}
