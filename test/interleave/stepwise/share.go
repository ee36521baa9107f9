package stepwise

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lethe-storage/lethe/test/servers"
)

// Tally counts what happened in schedules.
type Tally struct{ Schedules, Waits, Deadlocks int }

// Add adds what happened in others.
func (t *Tally) Add(u Tally) {
	t.Schedules += u.Schedules
	t.Waits += u.Waits
	t.Deadlocks += u.Deadlocks
}

// Databases make empty databases.
type Databases interface{ Database() string }

// given is a database that was made already.
type given string

func (g given) Database() string { return string(g) }

// Cluster is a server of the test's own, or the database that the test is given.
func Cluster(t testing.TB) Databases {
	t.Helper()
	if *database != "" {
		return given(*database)
	}
	return servers.NewPostgres(t, "fsync=off", "full_page_writes=off", "autovacuum=off", "deadlock_timeout=20ms")
}

// Share does a number of jobs in several worlds at the same time, which are opened in
// databases of their own.
func Share[W any](t *testing.T, jobs int, open func(t testing.TB, database string) W, do func(w W, job int) Tally) {
	var next atomic.Int64
	var sum Tally
	var mu sync.Mutex
	all := Cluster(t)
	t.Run("worlds", func(t *testing.T) {
		for i := range *workers {
			url := all.Database()
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				w := open(t, url)
				for {
					job := int(next.Add(1)) - 1
					if job >= jobs {
						break
					}
					if every := max(jobs/20, 50); job%every == 0 {
						t.Logf("%d of %d", job, jobs)
					}
					n := do(w, job)
					mu.Lock()
					sum.Add(n)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules, in which %d statements waited for a lock, and %d deadlocks were ended", sum.Schedules, sum.Waits, sum.Deadlocks)
}
