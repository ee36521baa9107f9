package object_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

const (
	// shortIdle is the idle time of objects that several instances read.
	shortIdle = 5 * time.Minute
	// step is how far the clock moves between two looks at them. A note that is urgent is written
	// a step later, within ledger.IdleGrace.
	step = 5 * time.Second
	// longest is how long an object that nobody reads any more may be there.
	longest = shortIdle + shortIdle/10 + ledger.IdleMargin + ledger.IdleGrace
)

// instance is one of several that serve reads over one ledger.
type instance struct {
	*object.Store
	hurry atomic.Bool
	late  bool       // it does not hurry
	at    lethe.Time // of its next notes
}

// read is an object that some instances read now and then, up to an end.
type read struct {
	key              string
	next, last, ends lethe.Time
	missed           lethe.Time // when it was not found within its time, which a note that is under way may mend
	gone             bool
}

// fleet is three instances over one ledger, and what they read.
type fleet struct {
	*world
	instances []*instance
	objects   []*read
	random    *rand.Rand
	faults    []string
	hurried   int // notes that could not wait for their minute
}

// newFleet stores n objects for instances over the ledgers.
func newFleet(t *testing.T, c *clocktest.Clock, n int, ledgers ...testLedger) *fleet {
	f := &fleet{world: worldOn(t, ledgers[0], c, nil), random: rand.New(rand.NewPCG(1, 2))}
	who, err := f.db.Identity(f.ctx)
	f.must(err)
	for i, l := range ledgers {
		one := &instance{at: c.Now().Add(time.Duration(i+1) * 20 * time.Second)}
		one.Store, err = object.New(object.Options{
			Ledger: ledgertest.ForObjects(l), Backends: f.stores(), StoreID: who.ID, Clock: c, Monotonic: c, Inline: 64,
			NoteSoon: func() { one.hurry.Store(true) },
		})
		f.must(err)
		f.instances = append(f.instances, one)
	}
	for i := range n {
		r := &read{key: fmt.Sprintf("k%03d", i), last: c.Now()}
		_, err := f.instances[0].Put(f.ctx, object.PutRequest{Bucket: bucket, Key: r.key, Body: strings.NewReader("data"), Size: 4, Idle: shortIdle})
		f.must(err)
		r.next, r.ends = r.last.Add(f.pause()), r.last.Add(time.Duration(f.random.Int64N(int64(6*shortIdle))))
		f.objects = append(f.objects, r)
	}
	return f
}

// pause returns when an object is read again: as often within its idle time as about its end.
func (f *fleet) pause() time.Duration {
	if f.random.IntN(2) == 0 {
		return time.Duration(f.random.Int64N(int64(shortIdle)))
	}
	return shortIdle + time.Duration(f.random.Int64N(int64(longest-shortIdle)))
}

// run lets the instances read what is due, one of them expire, and each write its notes, until
// nothing is left. It returns what broke the promise.
func (f *fleet) run() []string {
	for len(f.faults) == 0 && f.clock.Now() < f.objects[0].last.Add(24*time.Hour) {
		writes := f.noting()
		f.reads()
		for _, i := range writes {
			f.must(i.NoteReads(f.ctx))
		}
		if left := f.left(); left == 0 {
			return f.faults
		}
		f.clock.Advance(step)
	}
	return f.faults
}

// noting returns the instances that write their notes after the reads of this step: those whose
// minute has passed, or that were in a hurry in the step before.
func (f *fleet) noting() (list []*instance) {
	now := f.clock.Now()
	for _, i := range f.instances {
		hurry := i.hurry.Swap(false) && !i.late
		if hurry {
			f.hurried++
		}
		if hurry || now >= i.at {
			i.at = now.Add(time.Minute)
			list = append(list, i)
		}
	}
	return list
}

// reads has the instances read what is due at the same time, while one of them expires.
func (f *fleet) reads() {
	now, all := f.clock.Now(), sync.WaitGroup{}
	found := map[*read]*atomic.Bool{}
	asked := make([][]*read, len(f.instances))
	for _, r := range f.objects {
		if r.gone || now < r.next || r.next > r.ends && r.missed == 0 {
			continue
		}
		r.next, found[r] = now.Add(f.pause()), &atomic.Bool{}
		first, many := f.random.IntN(len(asked)), 1+f.random.IntN(len(asked))
		for i := range many {
			who := (first + i) % len(asked)
			asked[who] = append(asked[who], r)
		}
	}
	for i, list := range asked {
		all.Go(func() {
			for _, r := range list {
				switch is, err := f.instances[i].finds(f.ctx, r.key); {
				case err != nil:
					f.t.Errorf("get %s: %v", r.key, err)
				case is:
					found[r].Store(true)
				}
			}
		})
	}
	_, err := f.db.Expire(f.ctx, ledger.Batch{Limit: 1000, MaxBlobs: 1000})
	all.Wait()
	f.must(err)
	for r, was := range found {
		f.judge(r, was.Load(), now)
	}
}

// finds reports whether the instance can read an object.
func (i *instance) finds(ctx context.Context, key string) (bool, error) {
	rd, err := i.Get(ctx, object.GetRequest{Bucket: bucket, Key: key})
	if err != nil {
		if errors.Is(err, lethe.ErrNoSuchKey) {
			err = nil
		}
		return false, err
	}
	return true, rd.Body.Close()
}

// judge compares what a read has found with when the object was read before. Where the note of
// the last one is still to be written, another look comes after it.
func (f *fleet) judge(r *read, found bool, now lethe.Time) {
	idle := now.Sub(r.last)
	switch {
	case found && idle > longest-ledger.IdleGrace:
		f.fault("%s was there %s after its last read", r.key, idle)
	case found:
		r.last, r.missed = now, 0
	case idle >= shortIdle:
		r.gone = true
	case r.missed == 0:
		r.missed, r.next = now, now.Add(2*step)
	default:
		f.fault("%s was gone %s after its last read", r.key, idle)
	}
}

func (f *fleet) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// left compares the number of objects with when they were read, and returns it.
func (f *fleet) left() int64 {
	b, err := f.Bucket(f.ctx, bucket)
	f.must(err)
	var within, overdue int64
	for _, r := range f.objects {
		switch idle := f.clock.Now().Sub(r.last); {
		case idle < shortIdle:
			within++
		case idle >= longest:
			overdue++
		}
	}
	if total := int64(len(f.objects)); b.Objects < within || b.Objects > total-overdue {
		f.fault("there are %d objects of %d: %d were read within their time, and %d are overdue", b.Objects, total, within, overdue)
	}
	return b.Objects
}

// Three instances read the same objects while they come due. Nothing that was read within its
// time is gone, and everything else is.
func TestInstancesReadWhatComesDue(t *testing.T) {
	c, url := clocktest.New(), servers.Postgres(t)
	var ledgers []testLedger
	for range 3 {
		db, err := sqlledger.OpenPostgres(t.Context(), url, ledger.Options{Clock: c, ReadGrace: grace, LateWindow: late, MaxRefs: 50})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ledgers = append(ledgers, db)
	}
	f := newFleet(t, c, 150, ledgers...)
	if faults := f.run(); len(faults) != 0 {
		t.Fatal(faults)
	}
	f.sound()
	if f.hurried == 0 {
		t.Error("no object was read in its last minute")
	}
}

// forgetful loses what it is to note.
type forgetful struct{ testLedger }

func (forgetful) NoteReads(_ context.Context, reads []ledger.Read, _ bool) (int, error) {
	return len(reads), nil
}

// The test above sees an instance that loses its notes, and one that writes them late.
func TestInstancesThatBreakThePromiseAreSeen(t *testing.T) {
	for _, name := range []string{"", "lost", "late"} {
		c := clocktest.New()
		db := testLedger(memledger.New(ledger.Options{Clock: c, ReadGrace: grace, LateWindow: late, MaxRefs: 50}))
		second := db
		if name == "lost" {
			second = forgetful{db}
		}
		f := newFleet(t, c, 300, db, second, db)
		f.instances[1].late = name == "late"
		if faults := f.run(); (len(faults) != 0) != (name != "") {
			t.Errorf("%q: %v", name, faults)
		}
	}
}
