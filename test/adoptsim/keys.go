package adoptsim

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// keySite is an application with an object for each of its rows.
type keySite struct {
	table
	rules  adopt.KeyRules
	record *memadopt.Keys
	keyOracle
	fresh int // keys that were used once
}

// Keys that the application uses again and again.
const usedAgain = 4

// filesPrefix is that of the keys of rows.
const filesPrefix = "files/"

// orphansWithin is how long after it was looked orphans are deleted.
const orphansWithin = time.Minute

func newKeySite(w *world) *keySite {
	w.grace.Late = w.pick(3*time.Minute, 15*time.Minute)
	if w.kind.faults = 2 + w.rng.Uint64N(20); w.cfg.Seed%6 == 1 {
		w.kind.focus = focus{steps: " end ", faults: []Fault{notDone, undone, crashBefore}, rate: 500}
	}
	s := &keySite{rules: adopt.KeyRules{
		MinAge: w.pick(15*time.Minute, time.Hour), Retention: w.pick(20*time.Minute, 3*time.Hour),
		Interval: w.pick(15*time.Minute, 40*time.Minute), Most: []int{1, 3, 1000}[w.rng.IntN(3)], Least: 0.5,
	}}
	db := &clock{w: w}
	s.record = memadopt.NewKeys(db)
	s.table = table{
		w: w, times: times{s.rules.MinAge, s.rules.Retention, s.rules.Interval}, db: db, rows: s.record,
		objects: newPile(w, &clock{w: w, ahead: w.pick(0, 20*time.Second, -20*time.Second)}),
		row:     func(name string) string { return filesPrefix + name },
	}
	s.keeper = newKeeper(w, s.record, db, func() bool { key, _ := s.looked(); return key != "" }, s.chosen)
	s.keyOracle = newKeyOracle(s)
	s.populate(func(name string) string { return name }, func(r *run) routine { return s.routine(r) }, s.ended, s.serve)
	w.enter("racer", s.race)
	if w.cfg.Seed%3 == 0 {
		w.enter("holder", s.keeper.keep)
	}
	return s
}

func (s *keySite) routine(r *run) *adopt.Keys {
	return &adopt.Keys{
		Collection: "keys", Prefix: filesPrefix, Rules: s.rules, Rows: keyRows{s, r}, Store: keyStore{s.objects, s, r},
		Remove: adopt.Within{Prefix: filesPrefix, Store: keyStore{s.objects, s, r}}, Batch: batch, Boot: s.w,
		Events: &adopt.Events{Missing: func(_ string, keys []string) { s.w.fail(s.missing(r, keys)) }},
	}
}

// nap is about as long as a delete may be sent, a run may be silent, or longer.
func (s *keySite) nap(a *actor) {
	long := a.between(0, orphansWithin)
	switch a.rng.IntN(4) {
	case 0:
		long = a.between(orphansWithin, 5*orphansWithin)
	case 1:
		long = a.between(s.rules.Retention, 2*s.rules.Retention)
	}
	a.sleep(long)
	s.w.note("%s wakes", a.name)
}

// end lets every orphan go, and looks at what is left.
func (s *keySite) end() {
	s.quiet(6, func() {
		s.rules.Most = 1000
		s.told = map[string]bool{}
	})
	s.w.fail(s.left())
}

// keyRows are the rows as workers see them.
type keyRows struct {
	s *keySite
	r *run
}

func (k keyRows) Stream(ctx context.Context, fn func(string) error) (at lethe.Time, last int64, err error) {
	return k.s.stream(ctx, k.r, fn)
}

func (s *keySite) stream(ctx context.Context, r *run, fn func(string) error) (at lethe.Time, last int64, err error) {
	_, err = read(s.w, "stream", "", func() (struct{}, error) {
		r.streamed, r.named, r.few = s.w.now, maps.Clone(s.named), 2*s.rowsSeen() < s.last
		at, last, err = s.record.Stream(ctx, fn)
		return struct{}{}, err
	})
	return at, last, err
}

func (k keyRows) Named(ctx context.Context, keys []string) ([]string, error) {
	return read(k.s.w, "named", strings.Join(keys, " "), func() ([]string, error) {
		k.r.again = k.s.w.now
		return k.s.record.Named(ctx, keys)
	})
}

func (k keyRows) See(ctx context.Context, s adopt.Seeing) (adopt.Seen, error) {
	k.r.step = k.s.w.now
	out, err := write(k.s.w, "see", fmt.Sprint(s.Orphans), func() (adopt.Seen, error) {
		out, err := k.s.record.See(ctx, s)
		k.s.w.fail(k.s.sees(k.r, s, out))
		return out, err
	})
	if !s.Look {
		k.r.condemned = out.Condemned
	}
	return out, err
}

func (k keyRows) Gone(ctx context.Context, keys []string) error {
	_, err := write(k.s.w, "gone", strings.Join(keys, " "), func() (struct{}, error) {
		k.s.w.fail(k.s.gone(k.r, keys))
		return struct{}{}, k.s.record.Gone(ctx, keys)
	})
	return err
}

func (k keyRows) End(ctx context.Context, rows int64, since lethe.Time) error {
	_, err := write(k.s.w, "end", "", func() (struct{}, error) {
		k.s.w.fail(k.s.ends(k.r, rows))
		err := k.s.record.End(ctx, rows, since)
		_, last, _ := k.s.record.Stream(ctx, func(string) error { return nil })
		k.s.w.fail(k.s.stands(last))
		return struct{}{}, err
	})
	return err
}

func (k keyRows) Known(ctx context.Context) (adopt.Backlog, error) { return k.s.record.Known(ctx) }

// keyStore is the bucket as workers see it.
type keyStore struct {
	*pile
	s *keySite
	r *run
}

func (b keyStore) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	err := b.pile.List(ctx, prefix, after, fn)
	b.r.broke = b.r.broke || err != nil
	return err
}

func (b keyStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	info, err := b.pile.Stat(ctx, key)
	b.r.stated[key] = b.s.w.now
	return info, err
}

func (b keyStore) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	return bucket{b.s.w, orphansWithin, func(keys []string) func([]string) {
		if late := b.s.w.now.Sub(b.r.step); late > orphansWithin {
			b.s.w.fail(fmt.Errorf("%v are deleted %s after it was looked", keys, late))
		}
		b.r.condemned = nil
		listed := b.r.streamed
		return func(keys []string) {
			for _, key := range keys {
				b.s.w.fail(b.s.loses(key, listed))
				delete(b.objects, key)
			}
		}
	}}.Delete(ctx, keys)
}
