package adoptsim

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
)

// pairedSite is an application with an object for each of its rows, and other databases beside
// the same bucket: copies of its own. All of them run.
type pairedSite struct {
	w       *world
	rules   adopt.KeyRules
	objects *pile
	lag     time.Duration     // of listings of epochs; 0 mostly
	removed map[string]object // epochs, with the time at which they were
	prod    *pairedDB         // whose rows are those of the objects
	all     []*pairedDB
	backup  *backup // of production; nil if there is none
	fresh   int     // objects that were put
	nonces  int
	pairedOracle
}

// backup is a copy of a database that does not run.
type backup struct {
	of    *pairedDB
	copy  *pairedDB
	moves int        // how often an epoch was begun and confirmed since, as far as is known,
	at    lethe.Time // and when the last time
}

// pairedDB is a database, with processes that work on it.
type pairedDB struct {
	name     string
	place    string // of the database
	rows     *memadopt.Keys
	pairings *memadopt.Pairings

	lost, gained lethe.Time  // since when it does not know the last epoch, 0: it does; since when it does
	accepted     adopt.Epoch // by an operator
	given        bool        // it is no copy elsewhere, or an operator gave the objects to it
}

// copied returns a copy of a database.
func (d *pairedDB) copied(name, place string) *pairedDB {
	return &pairedDB{name: name, place: place, rows: d.rows.Copy(), pairings: d.pairings.Copy(place), lost: never, given: d.given && place == d.place, accepted: d.accepted}
}

// pairedAt is the name of bucket and prefix.
const pairedAt = "bucket/files/"

// epochs is where they lie.
const epochs = ".lethe/epoch/"

func newPairedSite(w *world) *pairedSite {
	w.grace.Late = w.pick(3*time.Minute, 15*time.Minute)
	w.kind.faults = 2 + w.rng.Uint64N(20)
	s := &pairedSite{w: w, objects: newPile(w, &clock{w: w}), removed: map[string]object{}, rules: adopt.KeyRules{
		MinAge: w.pick(15*time.Minute, time.Hour), Retention: w.pick(time.Minute, 30*time.Minute), Most: 1000, Least: 0.01,
	}}
	if w.cfg.Seed%4 == 3 {
		s.lag = w.pick(2*time.Second, 20*time.Second, 5*time.Minute)
	}
	s.prod = &pairedDB{name: "production", place: "a", rows: memadopt.NewKeys(w), pairings: memadopt.NewPairings(w, "a"), lost: never, given: true}
	for i := range anchors {
		name := fmt.Sprintf("anchor%d", i)
		s.objects.put(name)
		s.prod.rows.Insert(filesPrefix + name)
	}
	s.run(s.prod)
	for range 2 {
		w.enter("app", s.serve)
	}
	w.enter("operator", s.operate)
	return s
}

// run starts two processes of a database.
func (s *pairedSite) run(d *pairedDB) {
	s.all = append(s.all, d)
	s.w.enter("worker of "+d.name+" ", func(a *actor) {
		p := s.pairing(d)
		for {
			a.pass(s.keys(d, p))
			a.sleep(a.between(time.Second, s.rules.MinAge/2))
		}
	})
	s.w.enter("beat of "+d.name+" ", func(a *actor) {
		p := s.pairing(d)
		for {
			longest := 2 * time.Minute
			if refused := s.admit(d, p); refused {
				longest = 20 * time.Minute
			}
			a.sleep(a.between(30*time.Second, longest))
		}
	})
}

// pairing is that of a process that has just started.
func (s *pairedSite) pairing(d *pairedDB) *adopt.Pairing {
	return &adopt.Pairing{Place: pairedAt, Rows: pairedRows{s, d}, Store: pairedStore{nil, s, d}, Boot: s.w, Nonce: func() string {
		s.nonces++
		return fmt.Sprintf("%s%d", d.place, s.nonces)
	}}
}

func (s *pairedSite) keys(d *pairedDB, p *adopt.Pairing) routine {
	store := pairedStore{nil, s, d}
	return &adopt.Keys{
		Collection: "files", Prefix: filesPrefix, Rules: s.rules, Rows: pairedKeys{d.rows, s, d}, Store: store,
		Remove: adopt.Within{Prefix: filesPrefix, Store: intercept.New(store, p)}, Batch: batch, Boot: s.w,
	}
}

// holds looks at who knows the last epoch.
func (s *pairedSite) holds(string) error {
	s.judge()
	return nil
}

// nap is about as long as a look or an epoch lasts, or longer.
func (s *pairedSite) nap(a *actor) {
	a.sleep(a.between(0, []time.Duration{15 * time.Second, time.Minute, time.Hour}[a.rng.IntN(3)]))
	s.w.note("%s wakes", a.name)
}

// pairedKeys are the rows of a database as its processes see them.
type pairedKeys struct {
	*memadopt.Keys // as they were when the pass began
	s              *pairedSite
	d              *pairedDB
}

func (k pairedKeys) See(ctx context.Context, seeing adopt.Seeing) (adopt.Seen, error) {
	return write(k.s.w, "see", k.d.name+" "+fmt.Sprint(seeing.Orphans), func() (adopt.Seen, error) { return k.d.rows.See(ctx, seeing) })
}

// pairedRows is the record of a database as its processes see it.
type pairedRows struct {
	s *pairedSite
	d *pairedDB
}

func (r pairedRows) Paired(ctx context.Context, place string) (adopt.Paired, error) {
	return read(r.s.w, "paired", r.d.name, func() (adopt.Paired, error) { return r.d.pairings.Paired(ctx, place) })
}

// change is a transaction on the database as it is now: what commits later is not in one that was put
// back to a backup meanwhile.
func (r pairedRows) change(step, detail string, fn func(*memadopt.Pairings) error) error {
	rows := r.d.pairings
	_, err := write(r.s.w, step, r.d.name+" "+detail, func() (struct{}, error) { return struct{}{}, fn(rows) })
	return err
}

func (r pairedRows) BeginEpoch(ctx context.Context, place string, seen adopt.Epoch, nonce string) error {
	return r.change("begin", fmt.Sprint(seen, nonce), func(p *memadopt.Pairings) error { return p.BeginEpoch(ctx, place, seen, nonce) })
}

func (r pairedRows) ConfirmEpoch(ctx context.Context, place string, seen adopt.Paired) error {
	return r.change("confirm", fmt.Sprint(seen.Epoch, seen.Next), func(p *memadopt.Pairings) error {
		err := p.ConfirmEpoch(ctx, place, seen)
		if err == nil && p == r.d.pairings {
			r.s.w.fail(r.s.confirmed(r.d, seen))
		}
		return err
	})
}

func (r pairedRows) AcceptEpoch(ctx context.Context, place string, last adopt.Epoch) error {
	return r.change("accept", fmt.Sprint(last), func(p *memadopt.Pairings) error {
		r.d.accepted = last
		return p.AcceptEpoch(ctx, place, last)
	})
}

// pairedStore is the bucket as the processes of a database see it.
type pairedStore struct {
	blob.Store // unused
	s          *pairedSite
	d          *pairedDB
}

func (b pairedStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	return b.s.objects.Stat(ctx, key)
}

// List lists epochs, or objects of the application.
func (b pairedStore) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	view := *b.s.objects
	if prefix == epochs && b.s.lag > 0 && b.s.w.cur != nil {
		view.objects = b.s.lagging()
	}
	return view.List(ctx, prefix, after, func(i blob.Info) error {
		if prefix == "" && strings.HasPrefix(i.Key, epochs) {
			return nil
		}
		return fn(i)
	})
}

// lagging returns the epochs as they were some time ago.
func (s *pairedSite) lagging() map[string]object {
	if s.w.cur.one(3) {
		return s.objects.objects
	}
	old := map[string]object{}
	for key, o := range s.objects.objects {
		if strings.HasPrefix(key, epochs) && s.w.now.Sub(o.at) >= s.lag {
			old[key] = o
		}
	}
	for key, o := range s.removed {
		if s.w.now.Sub(o.mod) < s.lag && s.w.now.Sub(o.at) >= s.lag {
			old[key] = o
		}
	}
	return old
}

// Put puts an epoch; one whose end was not seen may land later, in the same bucket.
func (b pairedStore) Put(_ context.Context, key string, _ io.Reader, _ int64) error {
	w, p := b.s.w, *b.s.objects
	fault := w.arrive("put", key, putFaults)
	unknown := fmt.Errorf("sim: put %s: %w", key, blob.ErrUnknown)
	switch fault {
	case notDone, undone:
		return unknown
	case late:
		w.later("put", []string{key}, b.s.w.grace.Late, func() { p.put(key) })
		return unknown
	}
	err := p.create(key)
	switch {
	case fault == crashAfter:
		w.cur.dies()
	case fault == doneError && err == nil:
		return unknown
	}
	return err
}

// Delete deletes objects, or epochs that are past.
func (b pairedStore) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	objects := b.s.objects.objects // those of this bucket, although another takes its place
	return bucket{b.s.w, orphansWithin, func(keys []string) func([]string) {
		if strings.HasPrefix(keys[0], epochs) {
			return func(keys []string) { b.s.forget(objects, keys) }
		}
		b.s.w.fail(b.s.sends(b.d, keys))
		sent := b.s.w.now
		return func(keys []string) {
			for _, key := range keys {
				b.s.w.fail(b.s.loses(b.d, key, sent))
				delete(objects, key)
			}
		}
	}}.Delete(ctx, keys)
}

// forget removes epochs; listings that lag show them a while longer.
func (s *pairedSite) forget(objects map[string]object, keys []string) {
	for _, key := range keys {
		if o, there := objects[key]; there {
			s.removed[key] = object{o.at, s.w.now}
		}
		delete(objects, key)
	}
	s.judge()
}
