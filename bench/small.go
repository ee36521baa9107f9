package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Peer is a server that keeps small objects.
type Peer struct {
	Program
	Store   bool     // it is a Lethe, whose store is made before it starts
	Inline  bool     // the bytes lie in its ledger
	Servers *Servers // where the ledger lies; nil: in a file
}

// Small measures what puts, gets, deletes and reclaiming of small objects cost, and how
// fast they are.
type Small struct {
	Peers    []Peer
	Steps    []string // of SmallSteps
	Clients  int
	Size     int
	Objects  int // put, got, deleted
	Due      int // expired
	Batch    int // keys of a DeleteObjects
	Runs     int // of each, interleaved
	Dir      string
	Database DatabaseAt
	Strace   string // its path: all calls of the system are counted, and times mean nothing
	Warp     *Warp
}

// SmallSteps are what can be measured.
var SmallSteps = []string{"put", "get", "delete", "reclaim", "warp put", "warp get", "warp delete"}

// Step is what one step of one run took.
type Step struct {
	Requests Latencies // none of reclaiming and of warp, which have their own
	Rate     float64   // objects per second
	Objects  int
	Effort
}

// steps that one server takes, one after the other. What removes files comes later: some
// file systems make new ones ten times more slowly for minutes after it.
var stepGroups = [][]string{{"put", "get"}, {"warp put", "warp get"}, {"delete"}, {"warp delete"}, {"reclaim"}}

// Run measures; the answer is by step and by peer, run by run. With an error it is what was
// measured before.
func (s Small) Run(ctx context.Context) (out map[string][][]Step, err error) {
	dir, err := os.MkdirTemp(s.Dir, "lethe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out = map[string][][]Step{}
	for _, name := range s.Steps {
		out[name] = make([][]Step, len(s.Peers))
	}
	for g, group := range stepGroups {
		if !slices.ContainsFunc(s.Steps, func(name string) bool { return slices.Contains(group, name) }) {
			continue
		}
		for run := range s.Runs {
			for n := range s.Peers {
				i := n
				if run%2 == 1 {
					i = len(s.Peers) - 1 - n
				}
				r := smallRun{Small: s, peer: s.Peers[i], dir: filepath.Join(dir, fmt.Sprintf("%d-%d-%d", g, run, i))}
				err := r.run(ctx, group, func(name string, step Step) {
					if out[name] != nil {
						out[name][i] = append(out[name][i], step)
					}
				})
				if err != nil {
					return out, fmt.Errorf("%s: %s: %w", r.peer.Name, group[0], err)
				}
			}
		}
	}
	return out, nil
}

// smallRun is one server at work.
type smallRun struct {
	Small
	peer Peer
	dir  string
	due  lethe.Time
	srv  *server
}

// run takes the steps of a group.
func (r *smallRun) run(ctx context.Context, group []string, add func(string, Step)) (err error) {
	if group[0] == "reclaim" && !r.peer.Store {
		return nil // it expires nothing by itself, or days later
	}
	end, err := r.start(ctx, group[0] == "reclaim")
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	for _, name := range group {
		step, err := r.step(ctx, name)
		if err != nil {
			return err
		}
		add(name, step)
	}
	return nil
}

// soon is when objects come due after they were made so.
const soon = 4 * time.Second

// start makes the store, in which objects come due soon if asked, and starts the server.
func (r *smallRun) start(ctx context.Context, due bool) (end func() error, err error) {
	var ends []func() error
	end = func() (err error) {
		for _, e := range slices.Backward(ends) {
			err = errors.Join(err, e())
		}
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return end, err
	}
	p := r.peer.Program
	if r.peer.Store {
		d := Dataset{Size: r.Size, Inline: r.peer.Inline}
		if due {
			d.Living = r.Due
		}
		at, err := d.ground(ctx, r.dir, "small", r.peer.Servers)
		if at.end != nil {
			ends = append(ends, at.end)
		}
		if err != nil {
			return end, err
		}
		if due {
			r.due = lethe.SystemClock{}.Now().Add(soon)
			err = at.schedule(0, r.Due, r.due)
		}
		if err != nil {
			return end, err
		}
		p = p.with(append(slices.Clone(atOnce), at.env...)...)
	}
	if r.srv, err = p.start(ctx, r.dir); err != nil {
		return end, err
	}
	ends = append(ends, r.srv.stop)
	_, err = r.srv.Do(ctx, http.MethodPut, "/load", nil)
	return end, err
}

func (r *smallRun) step(ctx context.Context, name string) (s Step, err error) {
	l := Load{Clients: r.Clients, Objects: r.Objects, Size: r.Size, Bucket: "load"}
	s.Objects = r.Objects
	switch name {
	case "put":
		// Folders and connections are made before the clock runs.
		warm := l
		warm.Objects, warm.Prefix, warm.Seed = r.Objects/4, "warm", 1
		if _, err := warm.Put(ctx, r.srv.Target); err != nil {
			return s, err
		}
		s.Effort, err = r.timed(ctx, &s, func() (Latencies, error) { return l.Put(ctx, r.srv.Target) })
	case "get":
		s.Effort, err = r.timed(ctx, &s, func() (Latencies, error) { return l.Get(ctx, r.srv.Target, r.Objects) })
	case "delete":
		if _, err := l.Put(ctx, r.srv.Target); err != nil {
			return s, err
		}
		s.Effort, err = r.timed(ctx, &s, func() (Latencies, error) { return l.Delete(ctx, r.srv.Target, r.Objects, r.Batch) })
	case "reclaim":
		return r.reclaim(ctx)
	default:
		return r.Warp.step(ctx, r, name)
	}
	return s, err
}

// timed notes what a load took.
func (r *smallRun) timed(ctx context.Context, s *Step, load func() (Latencies, error)) (Effort, error) {
	return r.srv.during(ctx, r.Database, r.Strace, func() (err error) {
		s.Requests, err = load()
		s.Rate = float64(s.Objects) / s.Requests.Time.Seconds()
		return err
	})
}

// reclaim waits until what is due is gone.
func (r *smallRun) reclaim(ctx context.Context) (s Step, err error) {
	s.Objects = r.Due
	all := r.Due
	if !r.peer.Inline {
		all *= 2
	}
	// What a server does while nothing is due is left out.
	if err := until(ctx, r.due.Add(-soon/4)); err != nil {
		return s, err
	}
	s.Effort, err = r.srv.during(ctx, r.Database, r.Strace, func() error {
		time.Sleep(r.due.Sub(lethe.SystemClock{}.Now()))
		took, err := timed(func() error { return gone(ctx, r.srv, float64(all)) })
		s.Rate = float64(s.Objects) / took.Seconds()
		return err
	})
	return s, err
}
