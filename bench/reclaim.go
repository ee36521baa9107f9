package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// Work is what reclaiming a data set took: times for the report, the rest counted.
type Work struct {
	Objects int64
	Blobs   int64         // deleted
	Time    time.Duration // from the first transaction to the last byte gone
	CPU     time.Duration
	Calls   int64 // to the backend
	Flushes int64 // of the backend's files and folders
	Commits int64 // of the ledger
	Read    int64 // bytes through system calls
	Written int64
	// Visited are pages that statements of a ledger in a file looked at, Rows those that
	// PostgreSQL read: each engine counts what the other does not.
	Visited, Rows int64
	Peak          int64 // most memory at once, bytes
	// Of stores on servers: requests to the S3 service, and calls of the cache.
	Requests, Drops int64
	Curve           []Point // objects gone by time
	// Steps is how long all calls of each step took together, those at the same
	// time added up.
	Steps map[string]time.Duration
}

// Rate is objects per second.
func (w Work) Rate() float64 { return float64(w.Objects) / w.Time.Seconds() }

// Engine is how the routines are set up: as "lethe serve" does, unless fields say
// otherwise.
type Engine struct {
	Batch int // objects per transaction, blobs per call; 0: 1,000
	// Apart cleans when all is expired instead of beside it: what is counted then does
	// not depend on how often clean looks for work meanwhile.
	Apart     bool
	Workers   int           // of each routine; 0: 2
	ReadGrace time.Duration // how long condemned bytes stay; the clock is set forward by it
}

func (e Engine) withDefaults() Engine {
	if e.Batch == 0 {
		e.Batch = 1000
	}
	if e.Workers == 0 {
		e.Workers = 2
	}
	return e
}

// Reclaim runs the engine on the store in dir until nothing is due.
func (e Engine) Reclaim(ctx context.Context, dir string) (w Work, err error) {
	s, err := openStore(ctx, dir, e.ReadGrace)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	before, err := s.db.PagesVisited(ctx)
	if err != nil {
		return w, err
	}
	if w, err = e.reclaim(ctx, s); err != nil {
		return w, err
	}
	after, err := s.db.PagesVisited(ctx)
	w.Visited = after - before
	return w, err
}

func (e Engine) reclaim(ctx context.Context, s *store) (w Work, err error) {
	e = e.withDefaults()
	if err := resetPeak(); err != nil {
		return w, err
	}
	admit, err := s.admit(ctx)
	if err != nil {
		return w, err
	}
	loop := e.loop(s, admit)
	s.flushes.Store(0)
	s.requests.Store(0)
	s.calls.Reset()
	s.watch.points = nil
	stats, before, began := s.db.Stats(), used(), lethe.Monotonic{}.Now()
	expired, cleaned, err := e.drive(ctx, s, loop)
	if err != nil {
		return w, err
	}
	spent := used().minus(before)
	return Work{
		Objects: expired, Blobs: cleaned, Time: lethe.Monotonic{}.Now().Sub(began), CPU: spent.cpu,
		Calls: s.calls.Counts().Calls(), Flushes: s.flushes.Load(), Commits: s.db.Stats().Commits - stats.Commits,
		Read: spent.read, Written: spent.written, Peak: peakRSS("self"), Steps: s.watch.d,
		Requests: s.requests.Load(), Drops: s.cache.drops(), Curve: curve(s.watch.points, began),
	}, nil
}

func (e Engine) loop(s *store, admit func(context.Context, string) error) *reclaim.Loop {
	safety := reclaim.Safety{ReadGrace: e.ReadGrace}.WithDefaults()
	expire := &routine.Expire{Ledger: s.ledger(), Batch: ledger.Batch{Limit: e.Batch, MaxBlobs: 4 * e.Batch}, Drop: s.drop()}
	clean := &routine.Clean{
		Ledger: s.ledger(), Stores: s.stores(), Store: s.id, Safety: safety, Limit: e.Batch, Clock: &s.clock, Admit: admit,
	}
	return &reclaim.Loop{
		Routines: []reclaim.Scheduled{
			{Routine: expire, Timetable: schedule.Schedule{}, Workers: e.Workers},
			{Routine: clean, Timetable: schedule.Schedule{}, Workers: e.Workers},
		},
		Ledger: s.db, Clock: &s.clock, Worker: "bench", NewID: func() lethe.ID { return lethe.RandomID(s.clock.Now()) },
	}
}

// drive runs expire and clean side by side, as their schedules do, until both
// find nothing more. It answers what they removed.
func (e Engine) drive(ctx context.Context, s *store, loop *reclaim.Loop) (objects, blobs int64, err error) {
	expired := make(chan struct{})
	var wg sync.WaitGroup
	var failed [2]error
	wg.Go(func() {
		defer close(expired)
		counts, err := loop.Once(ctx, []string{"expire"})
		objects, failed[0] = counts["expire"][reclaim.Items], err
		s.clock.by.Store(int64(e.ReadGrace))
	})
	wg.Go(func() {
		if e.Apart {
			<-expired
		}
		for last := false; failed[1] == nil; {
			var due int64
			if due, failed[1] = e.due(ctx, s); last && due == 0 || failed[1] != nil {
				return
			}
			if due == int64(e.Batch) || last {
				counts, err := loop.Once(ctx, []string{"clean"})
				blobs, failed[1] = blobs+counts["clean"][reclaim.Items], err
			}
			last = waited(expired, due == 0)
		}
	})
	wg.Wait()
	return objects, blobs, errors.Join(failed[:]...)
}

// due is how many blobs are to be deleted, a batch of them at most: clean does not begin
// for less as long as more comes, as it does not when it is woken now and then.
func (e Engine) due(ctx context.Context, s *store) (int64, error) {
	depths, err := s.db.Depths(ctx, ledger.DepthQuery{Backends: []string{backendID}, Limit: e.Batch})
	return depths.Clean[backendID].Count, err
}

// waited says whether the channel is closed, after a moment of rest if asked.
func waited(closed <-chan struct{}, rest bool) bool {
	pause := time.Duration(0)
	if rest {
		pause = 2 * time.Millisecond
	}
	select {
	case <-closed:
		return true
	case <-time.After(pause):
		return false
	}
}

// Singly is what a program without batches does: one object after the other, each
// with a transaction that removes the object, one that claims its blob, an unlink,
// and one that settles. It stops after n objects.
func Singly(ctx context.Context, dir string, n int) (w Work, err error) {
	s, err := openStore(ctx, dir, 0)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return singly(ctx, s, n)
}

func singly(ctx context.Context, s *store, n int) (w Work, err error) {
	drop := s.drop()
	clean := &routine.Clean{
		Ledger: s.db, Stores: s.stores(), Store: s.id, Safety: reclaim.Safety{}.WithDefaults(), Limit: 1, Clock: &s.clock,
	}
	counts := &reclaim.Counts{}
	began := lethe.Monotonic{}.Now()
	for range n {
		r, err := s.db.Expire(ctx, ledger.Batch{Limit: 1})
		if drop != nil && len(r.Dropped) > 0 {
			drop(ctx, r.Dropped)
		}
		if err == nil && r.Blobs > 0 {
			_, err = clean.Pass("bench")(ctx, counts.Add)
		}
		if err != nil {
			return w, fmt.Errorf("bench: object by object: %w", err)
		}
	}
	return Work{Objects: int64(n), Blobs: counts.Get("gone"), Time: lethe.Monotonic{}.Now().Sub(began), Commits: s.db.Stats().Commits}, nil
}
