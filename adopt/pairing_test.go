package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
)

// epochs are databases over one prefix, among them copies and ones that went back to a backup.
// Their instances run beside each other, step by step in a random order; calls fail, puts land
// late, processes die.
//
// Two things have to hold. An epoch is confirmed only after the one that was confirmed last by
// any database. Who is admitted knows the one that was the last when it began to look, or a
// later one, unless its database went back meanwhile.
type epochs struct {
	*testing.T
	rng       *rand.Rand
	objects   map[string]bool
	databases []*epochRow
	instances []*instance
	order     []adopt.Epoch // as they were confirmed
	late      []string      // keys of puts that land later
	clock     clock
	admitted  int
}

// epochRow is a database.
type epochRow struct {
	adopt.Paired
	backups  []adopt.Paired
	restored int // times
}

// instance is a process that works on a database: the rows and the bucket as it sees them.
type instance struct {
	adopt.Stater // unused
	e            *epochs
	db           *epochRow
	park         func() bool // false: the process dies
	dead         bool
}

var errFault = errors.New("fault")

// step is one call, which may fail before its effect or after it.
func (i *instance) step(effect func() error) error {
	if i.dead = i.dead || !i.park() || i.e.rng.IntN(60) == 0; i.dead {
		return errFault
	}
	switch i.e.rng.IntN(20) {
	case 0:
		return errFault
	case 1:
		return errors.Join(effect(), errFault)
	}
	return effect()
}

func (i *instance) Paired(context.Context, string) (p adopt.Paired, err error) {
	err = i.step(func() error {
		p = i.db.Paired
		p.Now = p.At.Add(time.Duration(i.e.rng.IntN(2)) * time.Hour)
		return nil
	})
	return p, err
}

func (i *instance) BeginEpoch(_ context.Context, _ string, seen adopt.Epoch, nonce string) error {
	return i.step(func() error {
		if i.db.Epoch != seen || i.db.Next != "" {
			return lethe.ErrFenced
		}
		i.db.Next = nonce
		return nil
	})
}

func (i *instance) ConfirmEpoch(_ context.Context, _ string, seen adopt.Paired) error {
	return i.step(func() error {
		if i.db.Epoch != seen.Epoch || i.db.Next != seen.Next {
			return lethe.ErrFenced
		}
		next := adopt.Epoch{i.db.Number + 1, i.db.Next}
		if !slices.Contains(i.e.order, next) { // as a copy may have, that was made in between
			if n := len(i.e.order); n > 0 && i.db.Epoch != i.e.order[n-1] {
				i.e.Errorf("%v is confirmed after %v, but %v was the last", next, i.db.Epoch, i.e.order[n-1])
			}
			i.e.order = append(i.e.order, next)
		}
		i.db.backups = append(i.db.backups, i.db.Paired)
		i.db.Paired = adopt.Paired{Epoch: next, At: 1}
		return nil
	})
}

func (i *instance) AcceptEpoch(context.Context, string, adopt.Epoch) error {
	return errors.ErrUnsupported
}

func (i *instance) Put(_ context.Context, key string, _ io.Reader, _ int64) error {
	return i.step(func() error {
		if i.e.rng.IntN(6) == 0 {
			i.e.late = append(i.e.late, key)
			return blob.ErrUnknown
		}
		i.e.objects[key] = true
		return nil
	})
}

func (i *instance) Delete(_ context.Context, keys []string) (results []blob.Result, err error) {
	return results, i.step(func() error {
		for _, key := range keys {
			delete(i.e.objects, key)
		}
		return nil
	})
}

func (i *instance) List(_ context.Context, _, _ string, fn func(blob.Info) error) error {
	return i.step(func() error {
		for _, key := range slices.Sorted(maps.Keys(i.e.objects)) {
			if err := fn(blob.Info{Key: key}); err != nil {
				return err
			}
		}
		return nil
	})
}

// lives is the life of a process: it asks to be admitted, again and again.
func (i *instance) lives(yield func(struct{}) bool) {
	i.park = func() bool { return yield(struct{}{}) }
	p := &adopt.Pairing{
		Place: "b/p/", Rows: i, Store: i, Boot: &i.e.clock, Nonce: func() string { return fmt.Sprint(i.e.rng.Uint32()) },
	}
	for !i.dead {
		known, restored := len(i.e.order), i.db.restored
		if p.Admit(i.e.Context()) == nil {
			i.e.admitted++
			if at := slices.Index(i.e.order, i.db.Epoch) + 1; at < known && i.db.restored == restored {
				i.e.Errorf("%v is admitted, but %v was confirmed before it looked", i.db.Epoch, i.e.order[known-1])
			}
		}
		i.e.clock.now = i.e.clock.now.Add(time.Minute)
	}
}

// happens does one of the things that nobody expects: a copy of a database, or a return to a
// backup, a put that lands, one more process.
func (e *epochs) happens() {
	d := e.databases[e.rng.IntN(len(e.databases))]
	switch n := e.rng.IntN(4); {
	case n == 0 && len(e.databases) < 4:
		d = &epochRow{Paired: d.Paired, backups: slices.Clone(d.backups)}
		e.databases = append(e.databases, d)
	case n == 1 && len(d.backups) > 0:
		d.Paired = d.backups[e.rng.IntN(len(d.backups))]
		d.restored++
	case n == 2 && len(e.late) > 0:
		e.objects[e.late[0]] = true
		e.late = e.late[1:]
	}
	if len(e.instances) < 6 {
		e.instances = append(e.instances, &instance{e: e, db: d})
	}
}

func TestPairing(t *testing.T) {
	schedules := 20_000
	if testing.Short() {
		schedules = 2000
	}
	admitted, confirmed := 0, 0
	for seed := range uint64(schedules) {
		e := &epochs{T: t, rng: rand.New(rand.NewPCG(seed, 0)), objects: map[string]bool{}, databases: []*epochRow{{}, {}}, clock: clock{now: 1}}
		e.run()
		if admitted, confirmed = admitted+e.admitted, confirmed+len(e.order); t.Failed() {
			t.Fatalf("in schedule %d: %v", seed, e.order)
		}
	}
	if t.Logf("admitted %d times, %d epochs", admitted, confirmed); confirmed < schedules || admitted < 2*schedules {
		t.Error("too few to show anything")
	}
}

// run runs a schedule.
func (e *epochs) run() {
	next := map[*instance]func() (struct{}, bool){}
	for range 400 {
		if e.rng.IntN(20) == 0 || len(e.instances) == 0 {
			e.happens()
		}
		i := e.instances[e.rng.IntN(len(e.instances))]
		if next[i] == nil {
			var stop func()
			next[i], stop = iter.Pull(i.lives)
			defer stop()
		}
		if _, alive := next[i](); !alive {
			e.instances = slices.DeleteFunc(e.instances, func(x *instance) bool { return x == i })
		}
	}
}
