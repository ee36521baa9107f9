package reclaim

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Batches take the oldest work first, which is fair as long as one batch is all
// there is. When more is due, every second batch takes turns instead: of each
// bucket that has something due its share, so that ten objects of one bucket do
// not wait for ten million of another. Whose turn it is is learnt by looking at a
// stretch of the buckets, from where the last look ended, round and round: what
// that costs is bounded, and is nothing while there is no more than a batch.
//
// Who is alone is looked at more and more rarely, up to every mostAlone batches.
const (
	stretch   = 256 // buckets of one look, each a look into an index
	mostAlone = 8
)

// ring is where the looks of a routine have come to: all its passes go round the
// same ring, so that a pass that is cut short does not begin where it began before.
// The zero value is ready.
type ring struct {
	mu   sync.Mutex
	from lethe.ID
}

func (r *ring) at() lethe.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from
}

func (r *ring) moved(t ledger.Turns) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from = t.Last; t.End {
		r.from = ""
	}
}

// turns decides which batches of a pass take turns, and of which buckets. The zero
// value begins with the oldest.
type turns struct {
	after   map[lethe.ID]lethe.Time // what is known to be done, by bucket
	crowded bool                    // more is due than one batch
	wait    int                     // batches of the oldest before the next look
	alone   int                     // looks in a row that found one bucket at most
}

// oldest notes that a batch took the oldest, and whether more was due than it took.
func (t *turns) oldest(more bool) {
	t.crowded = more
	t.wait = max(t.wait-1, 0)
}

// next is whose turn it is by a look that began at from; none: the oldest's. Those
// whose work is older come later, because what the others leave is theirs.
func (t *turns) next(from lethe.ID, found ledger.Turns) []ledger.Turn {
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

// TurnLedger tells which buckets have work.
type TurnLedger interface {
	// DueBuckets looks at a stretch of the buckets, and returns those that have
	// something that is due. What it answers may be old at once: it is a hint.
	DueBuckets(ctx context.Context, q ledger.TurnQuery) (ledger.Turns, error)
}

// look returns whose turn the next batch is; none: the oldest's.
func (t *turns) look(ctx context.Context, l TurnLedger, r *ring, backend string) ([]ledger.Turn, error) {
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
