package interleave_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lethe-storage/lethe/internal/servers"
)

var (
	schedules = flag.Int("interleave.schedules", 4, "how many schedules each pair of methods runs; 0: all with one interruption")
	all       = flag.Bool("interleave.all", false, "every two methods that share rows, and not only the pairs that the mutants name")
	triples   = flag.Int("interleave.triples", 0, "how many triples of methods run")
	seed      = flag.Uint64("interleave.seed", 1, "what draws the schedules and the triples")
	only      = flag.String("interleave.only", "", "only pairs that this matches, as 'one + other'")
	workers   = flag.Int("interleave.workers", 3, "how many pairs run at the same time")
)

// databases make empty databases.
type databases interface{ Database() string }

// given is a database that was made already.
type given string

func (g given) Database() string { return string(g) }

// cluster starts the server of a test.
func cluster(t testing.TB) databases {
	t.Helper()
	if *database != "" {
		return given(*database)
	}
	return servers.NewPostgres(t, "fsync=off", "full_page_writes=off", "autovacuum=off", "deadlock_timeout=20ms")
}

// TestPairs runs every two methods that share rows beside each other.
func TestPairs(t *testing.T) {
	pg := cluster(t)
	match := regexp.MustCompile(*only)
	every := meetings()
	pairs := slices.DeleteFunc(slices.Clone(every), func(pair []action) bool {
		return !match.MatchString(name(pair)) || !*all && *only == "" && !hunted(name(pair))
	})
	t.Logf("%d actions, %d pairs of them, of which %d run", len(actions()), len(every), len(pairs))
	if testing.Short() && !*all {
		pairs = pairs[:min(len(pairs), 10)]
	}
	share(t, pg, len(pairs), func(w *world, i int) (sum tally) {
		for _, s := range w.interruptions(pairs[i], uint64(i)) {
			wrong, n := w.beside(pairs[i], s)
			sum.add(n)
			if wrong != "" {
				w.Errorf("%s", wrong)
				return sum
			}
			if n.deadlocks > 0 && mayDeadlock[name(pairs[i])] == "" {
				w.Errorf("%s: a deadlock, where locks are taken in one order: %s", name(pairs[i]), s)
			}
		}
		if sum.deadlocks > 0 {
			w.Logf("%s: %d deadlocks in %d schedules: %s", name(pairs[i]), sum.deadlocks, sum.schedules, mayDeadlock[name(pairs[i])])
		}
		return sum
	})
}

// meetings are every two actions that share rows.
func meetings() (pairs [][]action) {
	list := actions()
	for i, x := range list {
		for _, y := range list[i:] {
			if x.meets(y) {
				pairs = append(pairs, []action{x, y})
			}
		}
	}
	return pairs
}

// mayDeadlock are pairs that PostgreSQL may have to part, with the reason; the ledger
// runs the one that was undone again.
var mayDeadlock = map[string]string{
	"Promote + CondemnIntent": "a promotion is used up before the blob is held, and goes after it where the intent is condemned; " +
		"a reaper does the one or the other, so that two meet only when a claim was taken over in between",
}

// name names a pair.
func name(pair []action) string { return pair[0].name + " + " + pair[1].name }

// hunted says that a mutant names the pair.
func hunted(name string) bool {
	return slices.ContainsFunc(mutants, func(m mutant) bool { return slices.Contains(m.pairs, name) })
}

// interruptions are schedules in which each of two is interrupted once by the other.
func (w *world) interruptions(pair []action, number uint64) (out []schedule) {
	w.Helper()
	for _, o := range w.serial(pair) {
		for after := 1; after < o.lengths[o.order[0]]; after++ {
			out = append(out, interrupted{o.order, after})
		}
	}
	dice := rand.New(rand.NewPCG(*seed, number))
	dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if *schedules > 0 && len(out) > *schedules {
		out = out[:*schedules]
	}
	return out
}

// TestTriples runs three or four methods that share rows beside each other, by chance.
func TestTriples(t *testing.T) {
	pg := cluster(t)
	list := actions()
	share(t, pg, *triples, func(w *world, i int) (sum tally) {
		dice := rand.New(rand.NewPCG(*seed, uint64(1000+i)))
		some := []action{list[dice.IntN(len(list))]}
		size := 3
		if i%20 == 0 {
			size = most
		}
		for len(some) < size {
			if x := list[dice.IntN(len(list))]; x.meets(some[dice.IntN(len(some))]) {
				some = append(some, x)
			}
		}
		for n := range 6 {
			wrong, ran := w.beside(some, shuffle(uint64(i)<<8+uint64(n)))
			sum.add(ran)
			if wrong != "" {
				w.Errorf("%s", wrong)
				return sum
			}
		}
		return sum
	})
}

// share runs a number of jobs in several worlds at the same time.
func share(t *testing.T, pg databases, jobs int, do func(w *world, job int) tally) {
	var next atomic.Int64
	var sum tally
	var mu sync.Mutex
	t.Run("worlds", func(t *testing.T) {
		for i := range *workers {
			url := pg.Database()
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, url)
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
					sum.add(n)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules, in which %d statements waited for a lock, and %d deadlocks were ended", sum.schedules, sum.waits, sum.deadlocks)
}
