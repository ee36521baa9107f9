package service

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// progressEvery is the interval of progress in a stream.
const progressEvery = 200 * time.Millisecond

// Check verifies the ledger's counts, and compares rows with bytes, and bytes
// with rows. It deletes nothing.
func (s *Service) Check(ctx context.Context, req api.CheckRequest, emit func(api.Event)) (api.CheckResult, error) {
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return api.CheckResult{}, err
	}
	var total int64 // live rows are compared from both sides
	for _, t := range totals {
		if t.Backend == ledger.InLedger {
			if req.Checksums {
				total += t.Blobs
			}
			continue
		}
		total += t.Blobs
		if t.State == lethe.Live {
			total += t.Blobs
		}
	}
	v := s.o.Verify(req.Checksums)
	kinds := map[string]int64{}
	unread := s.unread(totals, emit)
	if unread > 0 {
		kinds[unreadable] = unread
	}
	v.Report = func(p reclaim.Problem) {
		kinds[p.Kind]++
		emit(api.Event{Problem: &api.Problem{Kind: p.Kind, Backend: p.Backend, Name: p.Name, Detail: api.Plain(p.Detail)}})
	}
	loop := s.alone(v)
	stop := s.follow(loop, []string{v.Name()}, total, emit)
	done, err := loop.Once(ctx, nil)
	stop()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return api.CheckResult{}, err
	}
	c := done[v.Name()]
	return api.CheckResult{Problems: c["problems"] + unread, Kinds: kinds, Rows: c["rows"], Keys: c["keys"], Inline: c["inline"], Bytes: c["bytes"]}, nil
}

// unreadable is the kind of a problem that hides what there is.
const unreadable = "unreadable"

// unread reports the backends that no walk comes to, and returns how many there are.
func (s *Service) unread(totals []ledger.Total, emit func(api.Event)) int64 {
	list := reconcile.UnreadBackends(totals, s.o.Backends)
	for _, t := range list {
		emit(api.Event{Problem: &api.Problem{Kind: unreadable, Backend: t.Backend, Name: t.Backend, Detail: fmt.Sprintf(
			"it is not in the configuration: its %s of %s were not compared", words.Plural(t.Blobs, "blob", "blobs"), words.Size(t.Bytes))}})
	}
	return int64(len(list))
}

// alone returns a loop of one routine, so that its run is recorded as others
// are.
func (s *Service) alone(r reclaim.Routine) *reclaim.Loop {
	l := s.o.Loop
	one := reclaim.Scheduled{Routine: r, Workers: 1}
	for _, other := range l.Routines {
		if other.Routine.Name() == r.Name() {
			one.Controller = other.Controller // clients wait for it as for a scheduled run
		}
	}
	return l.With(one)
}

// follow emits the progress of the loop's routines until stop is called.
func (s *Service) follow(l *reclaim.Loop, names []string, total int64, emit func(api.Event)) (stop func()) {
	since := s.o.Clock.Now()
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				p := progressOf(l.States(), names, since)
				p.Total = total
				emit(api.Event{Progress: p})
			}
		}
	}()
	return func() {
		close(ended)
		<-gone
	}
}

// progressOf adds up what the named routines did in runs that are in progress
// or ended since; it names the running one.
func progressOf(states map[string]reclaim.State, names []string, since lethe.Time) *api.Progress {
	p := &api.Progress{Counts: map[string]int64{}}
	for _, name := range names {
		st := states[name]
		if !st.Running && st.LastRun < since {
			continue
		}
		if st.Running {
			p.What = name
		}
		for k, n := range st.Counts {
			p.Counts[k] += n
		}
	}
	p.Done = p.Counts[reclaim.Items]
	return p
}
