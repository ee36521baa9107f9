package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// Differ runs the same random history of so many steps on two ledgers, with the same clock
// and ids. It compares every result, the kind of every error, and at the end everything
// observable. It recounts both after every step. -rapid.checks sets the number of histories;
// a failure is shrunk to its shortest history.
func Differ(t *testing.T, steps int, one, other Open) { differ(t, steps, 0, one, other) }

// DifferApart is Differ with no two steps at the same instant and unlimited batches, for
// ledgers such as PostgreSQL that may choose among rows due at the same time.
func DifferApart(t *testing.T, steps int, one, other Open) {
	differ(t, steps, time.Microsecond, one, other)
}

func differ(t *testing.T, steps int, apart time.Duration, one, other Open) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t, rt, one, other)
		h.apart = apart
		defer h.end(t)
		for h.step = 1; h.step <= steps; h.step++ {
			h.act(rapid.Uint64().Draw(rt, "step"))
		}
		h.same("dump", dump(t, h.pair[0].l), dump(t, h.pair[1].l))
	})
}

// side is one of the two ledgers.
type side struct {
	l   Ledger
	ids *IDs
}

// history is a random history in progress. Later steps draw from the results that it
// remembers, including stale names.
type history struct {
	*rapid.T
	ctx   context.Context
	clock *clocktest.Clock
	ids   *IDs
	pair  [2]side
	step  int
	apart time.Duration // least time between two steps
	dice  *rand.Rand    // of the step
	trace []string
	// questions counts the calls of the ledgers.
	questions uint64

	uploaded []ledger.Uploaded // intents begun, with their uploads
	versions []ledger.Object
	uploads  []ledger.Upload
	parts    []ledger.Part
	claims   []ledger.Claimed
	intents  []ledger.ClaimedIntents
	trash    []lethe.ID
	ops      []lethe.ID
	runs     []lethe.ID
	events   []ledger.ClaimedEvents
	planted  []lethe.ID // names without a row
}

func newHistory(t *testing.T, rt *rapid.T, one, other Open) *history {
	h := &history{T: rt, ctx: t.Context(), clock: newClock(), ids: NewIDs(0)}
	h.roll(rapid.Uint64().Draw(rt, "world"))
	maxRefs := []int64{1, 2, 3, 1000, 1000, 1000}[h.number(6)]
	for i, open := range []Open{one, other} {
		h.pair[i].ids = NewIDs(7)
		h.pair[i].l = open(t, ledger.Options{
			Clock: h.clock, Random: h.pair[i].ids,
			MaxRefs: maxRefs, ReadGrace: readGrace, MovedGrace: movedGrace, LateWindow: lateWindow, OpsKept: opsKept,
			Replicas: 1 + int(maxRefs)%2,
		})
	}
	ask(h, "add disk", func(l Ledger) (any, error) { return wrap(l.AddBackend(h.ctx, ledger.Backend{ID: disk, Quota: 4000})) })
	ask(h, "add tape", func(l Ledger) (any, error) { return wrap(l.AddBackend(h.ctx, ledger.Backend{ID: "tape"})) })
	for _, name := range bucketNames {
		h.createBucket(name)
	}
	return h
}

// end closes the ledgers, and shows the steps of a history that failed.
func (h *history) end(t testing.TB) {
	for _, s := range h.pair {
		shut(t, s.l)
	}
	if h.Failed() {
		h.Logf("history:\n%s", strings.Join(h.trace, "\n"))
	}
}

// advance moves the clock: not at all, a little, or past one of the graces.
func (h *history) advance() {
	h.clock.Advance(h.apart)
	far := []time.Duration{0, 0, 0, time.Microsecond, time.Second, time.Second, time.Minute, time.Minute, readGrace, lateWindow}
	switch {
	case h.chance(60):
		h.clock.Advance(opsKept)
	case h.chance(15):
		h.clock.Advance(3 * time.Hour)
	default:
		h.clock.Advance(far[h.number(len(far))])
	}
	h.ids.Seed(uint64(h.step) + 1_000_000)
}

// ask calls both ledgers and compares the results. The source of ids restarts with each
// call, because the ledgers may draw differently in a transaction that fails.
func ask[T any](h *history, what string, call func(Ledger) (T, error)) (T, error) {
	h.Helper()
	var answers [2]T
	var errs [2]error
	h.questions++
	for i, s := range h.pair {
		s.ids.Seed(h.questions)
		answers[i], errs[i] = call(s.l)
	}
	h.trace = append(h.trace, fmt.Sprintf("%3d %s %s: %v", h.step, h.clock.Now(), what, errs[0]))
	h.same(what+": error", kind(errs[0]), kind(errs[1]))
	if errs[0] == nil {
		h.same(what, plain(answers[0]), plain(answers[1]))
	}
	return answers[0], errs[0]
}

// same fails the history on a difference.
func (h *history) same(what, one, other string) {
	h.Helper()
	if one != other {
		h.Fatalf("step %d: %s: one ledger says\n%s\nthe other\n%s", h.step, what, one, other)
	}
}

// recount recounts both ledgers.
func (h *history) recount() {
	for i, s := range h.pair {
		found, err := s.l.Recount(h.ctx)
		bodies, broken := s.l.CheckBodies(h.ctx, "", 1000)
		if found = append(found, bodies.Wrong...); err != nil || broken != nil || len(found) > 0 {
			h.Fatalf("step %d: recount of ledger %d: %+v, %v", h.step, i, found, errors.Join(err, broken))
		}
	}
}

// id makes an id; all that a step makes differ.
func (h *history) id() lethe.ID { return lethe.NewID(h.clock.Now(), h.ids) }

// op returns the id of an operation, sometimes one used before.
func (h *history) op() lethe.ID {
	if h.chance(20) {
		return pick(h, h.ops)
	}
	op := h.id()
	h.ops = append(h.ops, op)
	return op
}

// roll seeds the dice of a step. The step depends on them alone, so one number determines
// it, and all numbers are equally likely.
func (h *history) roll(v uint64) { h.dice = rand.New(rand.NewPCG(v, uint64(h.step))) }

// chance is true once in n times.
func (h *history) chance(n int) bool { return h.dice.IntN(n) == 0 }

// number draws one of 0 to n-1.
func (h *history) number(n int) int { return h.dice.IntN(n) }

// one draws one of the texts.
func (h *history) one(texts ...string) string { return texts[h.number(len(texts))] }

// pick draws one of a list, mostly near its end; the zero value if it is empty.
func pick[T any](h *history, list []T) (v T) {
	if len(list) == 0 {
		return v
	}
	if recent := min(4, len(list)); !h.chance(4) {
		return list[len(list)-1-h.number(recent)]
	}
	return list[h.number(len(list))]
}

// some draws up to n of a list.
func some[T any](h *history, list []T, n int) (out []T) {
	for range h.number(n + 1) {
		if len(list) > 0 {
			out = append(out, pick(h, list))
		}
	}
	return out
}

// most draws the rows of a batch; 0, which is no limit, where a limit would let a ledger
// choose among rows due at the same time.
func (h *history) most(below int) int {
	if n := h.number(below); h.apart == 0 {
		return n
	}
	return 0
}

// act takes one step. The number 0, to which a failed history shrinks, takes none.
func (h *history) act(v uint64) {
	if v == 0 {
		return
	}
	h.roll(v)
	h.advance()
	actions[h.number(len(actions))](h)
	h.recount()
}

// actions are the steps by their weight.
var actions = weigh(map[int][]func(*history){
	8: {(*history).begin, (*history).commitUploaded},
	4: {(*history).beat, (*history).commitReference, (*history).commitSource, (*history).delete, (*history).expire, (*history).evict, (*history).clean},
	3: {(*history).reap, (*history).settleOld, (*history).beginPart, (*history).commitPart, (*history).complete, (*history).listTrash,
		(*history).place, (*history).moveInline, (*history).reconcile},
	2: {(*history).update, (*history).resolve, (*history).countRead, (*history).noteReads, (*history).list, (*history).createUpload, (*history).restore, (*history).purge,
		(*history).mark, (*history).claimAndDie, (*history).recover, (*history).configure, (*history).dead,
		(*history).setRules, (*history).reapply, (*history).notify, (*history).deliver, (*history).hold, (*history).returnDeferred, (*history).limited},
	1: {(*history).buckets, (*history).deleteBucket, (*history).documents, (*history).abort, (*history).staleUploads,
		(*history).reads, (*history).extend, (*history).outcome, (*history).backlogs, (*history).turns, (*history).recordRuns,
		(*history).backend, (*history).prune, (*history).abandon, (*history).condemnLate, (*history).purgeTrash, (*history).ruledUploads,
		(*history).misplace, (*history).drain, (*history).blocks, (*history).named, (*history).changeHold, (*history).receipts,
		(*history).usage, (*history).deadEvents},
})

func weigh(by map[int][]func(*history)) (out []func(*history)) {
	for weight := range 9 {
		for _, f := range by[weight] {
			for range weight {
				out = append(out, f)
			}
		}
	}
	return out
}
