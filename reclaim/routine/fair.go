package routine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Batches take the oldest work first, which is fair while one batch takes all that
// is due. When more is due, every second batch is divided among the buckets that
// have something due, so that ten objects of one bucket do not wait for ten million
// of another. The buckets are found by a look at a stretch of them, from where the
// last look ended. The cost of a look is bounded, and there is none while a batch
// is enough.
//
// A bucket that is alone is looked at more and more rarely, up to every mostAlone
// batches.
const (
	stretch   = 256 // buckets of one look, each an index look-up
	mostAlone = 8
)

// cursor is the cursor of a routine's looks. All its passes share it, so that a pass
// that is cut short does not begin where it began before. The zero value is ready.
type cursor struct {
	mu   sync.Mutex
	from lethe.ID
}

func (r *cursor) at() lethe.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from
}

func (r *cursor) moved(t ledger.Turns) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from = t.Last; t.End {
		r.from = ""
	}
}

// fairScheduler decides which batches of a pass are divided, and among which buckets. The
// zero value begins with the oldest.
type fairScheduler struct {
	after   map[lethe.ID]lethe.Time // how far each bucket is done
	crowded bool                    // more is due than one batch
	wait    int                     // batches of the oldest before the next look
	alone   int                     // looks in a row that found one bucket at most
}

// oldest records that a batch took the oldest, and whether more was due than it
// took.
func (t *fairScheduler) oldest(more bool) {
	t.crowded = more
	t.wait = max(t.wait-1, 0)
}

// next returns the buckets of the next batch by a look that began at from; none:
// take the oldest. Buckets whose work is older come later, because they get what
// the others leave.
func (t *fairScheduler) next(from lethe.ID, found ledger.Turns) []ledger.Turn {
	if t.after == nil {
		t.after = make(map[lethe.ID]lethe.Time)
	}
	for _, turn := range found.Due {
		t.after[turn.Bucket] = turn.After
	}
	t.wait = 1
	if from == "" && found.End && len(found.Due) <= 1 {
		t.wait = min(1<<t.alone, mostAlone)
		t.alone = min(t.alone+1, mostAlone)
		return nil
	}
	t.alone = 0
	list := slices.Clone(found.Due)
	slices.SortStableFunc(list, func(a, b ledger.Turn) int { return cmp.Compare(b.After, a.After) })
	return list
}

// FairLedger finds the buckets that have work.
type FairLedger interface {
	// DueBuckets looks at a stretch of the buckets, and returns those that have
	// something due. The result is a hint: it may be outdated at once.
	DueBuckets(ctx context.Context, q ledger.TurnQuery) (ledger.Turns, error)
}

// look returns the buckets of the next batch; none: take the oldest.
func (t *fairScheduler) look(ctx context.Context, l FairLedger, r *cursor, backend string) ([]ledger.Turn, error) {
	if !t.crowded || t.wait > 0 {
		return nil, nil
	}
	from := r.at()
	found, err := l.DueBuckets(ctx, ledger.TurnQuery{Backend: backend, From: from, Limit: stretch, After: t.after})
	if err != nil {
		return nil, err
	}
	r.moved(found)
	return t.next(from, found), nil
}
