package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// slowService is a bucket of an S3 service. Tests set how long a call takes by the
// stopwatch, and may make it return nonsense for deletes.
type slowService struct {
	takes atomic.Int64
	fails atomic.Bool
}

func (s *slowService) start(w *world) []string {
	list := shared(w.t, "", "cloud")
	from := list[1][strings.Index(list[1], "endpoint: ")+len("endpoint: "):]
	from, _, _ = strings.Cut(from, ",")
	to, err := url.Parse(from)
	if err != nil {
		w.t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.stopwatch.Advance(time.Duration(s.takes.Load()))
		if s.fails.Load() && r.URL.Query().Has("delete") {
			fmt.Fprint(rw, "an answer to nothing that was asked")
			return
		}
		behind.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(front.Close)
	return []string{strings.Replace(list[1], from, front.URL, 1), "reclaim.clean.batch=1"}
}

// shed deletes n objects and their bytes.
func (w *world) shed(n int) {
	w.t.Helper()
	for i := range n {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("bytes ", i), "")
	}
	for i := range n {
		w.remove("first", fmt.Sprint("k", i))
	}
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "clean")
}

// overloaded makes deletes take this long for a while.
func (s *slowService) overloaded(w *world, takes time.Duration) {
	s.takes.Store(int64(takes))
	for range 6 {
		w.shed(6)
		w.stopwatch.Advance(3 * time.Second)
	}
	s.takes.Store(0)
}

// reload makes the server read its configuration again, as SIGHUP does.
func (w *world) reload() {
	w.t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.await("configuration reloaded")
}

// slowCases returns the cases of slow operations and of throttling.
func slowCases() []runbookCase {
	var s slowService
	slow := func(w *world) {
		s.takes.Store(int64(6 * time.Second))
		w.shed(1)
		s.takes.Store(0)
	}
	broken := func(w *world) {
		w.put("first", "a", "bytes that matter", "")
		w.remove("first", "a")
		w.clock.Advance(2 * time.Hour)
		s.fails.Store(true)
		w.lethe("reclaim", "--once", "--only", "clean")
		s.fails.Store(false)
		w.shed(1)
	}
	limited := "backends=[{name: main, kind: dir, path: blobs, rates: {deletes_per_second: 1}}]"
	return []runbookCase{
		{alert: "LetheBackendSlow", services: s.start, samples: 5, provoke: func(w *world) {
			w.bucket("first")
			slow(w)
		}, again: slow, mend: func(w *world) { w.shed(20) }},
		{alert: "LetheBackendErrors", services: s.start, samples: 5, provoke: func(w *world) {
			w.bucket("first")
			broken(w)
		}, again: broken, mend: func(w *world) { w.shed(20) }},
		{alert: "LetheBackendOverloaded", services: s.start, samples: 40, provoke: func(w *world) {
			w.bucket("first")
			s.overloaded(w, 0)
			s.overloaded(w, 30*time.Millisecond)
		}, mend: func(w *world) { w.stopwatch.Advance(time.Minute) }},
		{alert: "LetheRatesTooLow", settings: []string{limited}, samples: 60, provoke: func(w *world) {
			w.bucket("first")
			w.shed(3)
			w.put("first", "a", "bytes that matter", "")
			w.remove("first", "a")
			w.clock.Advance(3 * time.Hour)
		}, mend: func(w *world) {
			w.settings = slices.DeleteFunc(w.settings, func(s string) bool { return s == limited })
			w.reload()
			w.ok("reclaim", "--once", "--only", "clean")
			w.held(0)
		}},
		{alert: "LetheReclaimSlowed", services: func(w *world) []string { return shared(w.t, servers.Postgres(w.t), "cloud") }, samples: 70,
			provoke: func(w *world) {
				w.instance(ledger.InstanceInfo{Host: "serves", Roles: []string{"serve"}, BackoffLevel: 4})
				w.await(`"by":"client latency elsewhere"`)
			}, mend: func(w *world) {
				w.stop()
				w.settings = append(w.settings, "reclaim.yield=0")
				w.start()
			}},
	}
}
