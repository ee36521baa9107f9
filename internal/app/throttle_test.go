package app

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// limited returns a store of one backend with a limit, with nothing else.
func limited(deletes int) *Store {
	c := config.Default()
	c.Backends[0].Rates.DeletesPerSecond = deletes
	s := &Store{Config: c, worker: "me", watch: &observer{throttle: &throttle.Controller{Clock: lethe.Monotonic{}}}}
	s.watch.throttle.SetRates(ratesOf(c))
	return s
}

// TestInstancesShareLimits checks that instances with the role reclaim divide
// the limits; serving ones, and this instance's own heartbeat, do not count.
func TestInstancesShareLimits(t *testing.T) {
	s := limited(300)
	name := s.Config.Backends[0].Name
	both, serves := []string{config.RoleServe, config.RoleReclaim}, []string{config.RoleServe}
	for _, c := range []struct {
		list []ledger.Instance
		want int // a batch: what ten seconds allow
	}{
		{nil, 3000},
		{[]ledger.Instance{{ID: "me", Info: ledger.InstanceInfo{Roles: both}}, {ID: "other", Info: ledger.InstanceInfo{Roles: serves}}}, 3000},
		{[]ledger.Instance{{ID: "a", Info: ledger.InstanceInfo{Roles: both}}, {ID: "b", Info: ledger.InstanceInfo{Roles: both}}}, 1000},
	} {
		s.setPeers(c.list)
		if n, _ := s.watch.throttle.Deletes(name, 1_000_000); n != c.want {
			t.Errorf("beside %+v a batch has %d, want %d", c.list, n, c.want)
		}
	}
}

// TestLimitsAreReloaded checks that limits apply at once, and are not reported
// as waiting for the next start.
func TestLimitsAreReloaded(t *testing.T) {
	s := limited(300)
	next := config.Default()
	next.Reclaim.Rates.CallsPerSecond = 5
	rest := *next
	s.applyRates(next, &rest)
	if waiting := config.Changed(s.Config, &rest); len(waiting) > 0 {
		t.Errorf("%v wait for the next start", waiting)
	}
	if all, own := s.ratesOn(""), s.ratesOn(next.Backends[0].Name); all != "5 calls/s" || own != "" {
		t.Errorf("limits %q and %q", all, own)
	}
}

// TestClientLatencyIsNoted checks which requests count as client latency: those
// of one object or part, by the server's time, for reads and writes. Larger,
// refused and open-ended ones do not.
func TestClientLatencyIsNoted(t *testing.T) {
	const slow = 20 * time.Millisecond
	for _, c := range []struct {
		name string
		s3.RequestEvent
		want throttle.Kind
	}{
		{"a read", s3.RequestEvent{Operation: "GetObject", Served: slow, BytesOut: 4096}, throttle.Reads},
		{"a description", s3.RequestEvent{Operation: "HeadObject", Served: slow}, throttle.Reads},
		{"a write", s3.RequestEvent{Operation: "PutObject", Served: slow, BytesIn: 4096}, throttle.Writes},
		{"a delete", s3.RequestEvent{Operation: "DeleteObject", Served: slow}, throttle.Writes},
		{"a slow client", s3.RequestEvent{Operation: "GetObject", Served: time.Millisecond, Duration: time.Hour}, ""},
		{"a large object", s3.RequestEvent{Operation: "GetObject", Served: slow, BytesOut: smallRequest + 1}, ""},
		{"a large body", s3.RequestEvent{Operation: "PutObject", Served: slow, BytesIn: smallRequest + 1}, ""},
		{"a refusal", s3.RequestEvent{Operation: "PutObject", Served: slow, Status: 403}, ""},
		{"a listing", s3.RequestEvent{Operation: "ListObjectsV2", Served: slow}, ""},
		{"a deletion of many", s3.RequestEvent{Operation: "DeleteObjects", Served: slow}, ""},
		{"a completion", s3.RequestEvent{Operation: "CompleteMultipartUpload", Served: slow}, ""},
		{"a copy", s3.RequestEvent{Operation: "CopyObject", Served: slow}, ""},
	} {
		clock := clocktest.At(1)
		w := &observer{throttle: &throttle.Controller{ClientLatency: 1.2, Clock: clock}}
		requests := func(r s3.RequestEvent) {
			for range 500 {
				clock.Advance(10 * time.Millisecond)
				w.noteLatency(r)
			}
		}
		for _, operation := range []string{"GetObject", "PutObject"} {
			requests(s3.RequestEvent{Operation: operation, Served: time.Millisecond, Duration: time.Millisecond})
		}
		w.throttle.SetPeers([]throttle.Peer{{Reclaiming: true}})
		requests(c.RequestEvent)
		if p := w.throttle.Slowed(); p.Requests != c.want {
			t.Errorf("%s: slowed by %+v, want %q", c.name, p, c.want)
		}
	}
}

// TestRoutinesAreThrottled checks that every routine slows down for client
// latency, except those that the manual explains.
func TestRoutinesAreThrottled(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir() + "/d"
	c.Backends = append(c.Backends, c.Backends[0])
	c.Backends[1].Name, c.Backends[1].Path = "second", "second"
	s, err := OpenStore(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), Clock: lethe.SystemClock{}, Create: true, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Loop.Routines) != len(c.Reclaim.Routines()) {
		t.Fatalf("%d routines of %d are there", len(s.Loop.Routines), len(c.Reclaim.Routines()))
	}
	for _, r := range s.Loop.Routines {
		name := r.Routine.Name()
		switch exempt := strings.Contains(string(manual), "`"+name+"` is exempt"); {
		case exempt != routineTraits[name].unthrottled:
			t.Errorf("that %s is exempt is %v by the manual", name, exempt)
		case exempt == (r.Controller != nil):
			t.Errorf("%s has the controller %v", name, r.Controller)
		case !exempt && r.Controller != s.watch.throttle:
			t.Errorf("%s has another controller than its process", name)
		}
	}
}
