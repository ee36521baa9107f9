package sim

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim"
)

// capped says that one run takes only so much of a kind in this world.
func (w *World) capped() bool { return !w.cfg.Plans && hash2(w.cfg.Seed, 43)%8 == 0 }

// cappedRoutines are those that a run of which may be bounded, by the counts that
// configuration bounds them by.
var cappedRoutines = map[string]string{
	"expire": reclaim.Items, "purge": reclaim.Items, "clean": "gone", "reap": reclaim.Items, "multipart": reclaim.Items, "lifecycle": "aborted",
}

// most is how much one run of a routine takes, 0 for any number.
func (w *World) most(routine string) int64 {
	if _, known := cappedRoutines[routine]; !known || !w.capped() {
		return 0
	}
	return int64(hash2(w.cfg.Seed, 500+uint64(routine[0])+uint64(len(routine))) % 5)
}

// atOnce is the size of a routine's batches: no more than a run takes.
func (w *World) atOnce(routine string) int {
	if most := w.most(routine); most > 0 {
		return int(min(most, batch))
	}
	return batch
}

// loop is the real loop of a node, by which passes are made where it has something to
// say: whether the ledger is the one that the backends belong to, and whether a run
// has taken as much as it may.
func (w *World) loop(p *nodePairing) *reclaim.Loop {
	if !w.paired() && !w.capped() {
		return nil
	}
	l := &reclaim.Loop{Clock: w, NewID: func() lethe.ID { return "" }, Spans: reclaim.Spans{Batch: w.begins}}
	if w.paired() {
		l.Confirmed = p.confirmed
	}
	return l
}

// passing is the pass of a routine that an actor makes.
type passing struct {
	routine string
	spared  bool  // from the gate of the ledger in doubt
	took    int64 // by what was seen to go
	before  int64 // the step under way
}

// begins notes that a step begins.
func (w *World) begins(ctx context.Context, _ string) (context.Context, func(int64, error)) {
	if a := w.cur; a != nil {
		a.began, a.pass.before = w.turn, a.pass.took
	}
	return ctx, func(int64, error) {}
}

func (w *World) scheduled(r reclaim.Routine) reclaim.Scheduled {
	return reclaim.Scheduled{Routine: r, Most: w.most(r.Name()), Takes: cappedRoutines[r.Name()]}
}

// passes makes a pass of a routine.
func (a *actor) passes(r reclaim.Routine) (err error) {
	if l := a.proc.node.loop; l != nil {
		_, spared := r.(reclaim.SafeUnpaired)
		a.pass = passing{routine: r.Name(), spared: spared}
		_, err = l.Pass(context.Background(), a.w.scheduled(r), a.name)
		a.pass = passing{}
		return err
	}
	step := r.Pass(a.name)
	var counts reclaim.Counts
	for more := true; more && err == nil; {
		a.began = a.w.turn
		more, err = step(context.Background(), counts.Add)
	}
	return err
}

// drainCapped runs a routine that is bounded run after run, until one was not ended
// for its limit: the rest waits for the next.
func (w *World) drainCapped(r reclaim.Routine) {
	loop := &reclaim.Loop{Clock: w, NewID: func() lethe.ID { return "" }}
	for i, more := 0, true; more && w.err == nil; i++ {
		counts, err := loop.Pass(context.Background(), w.scheduled(r), "janitor")
		// What a limit keeps is left as well, until a run has put it aside.
		if i > 0 && counts[reclaim.Items] == 0 && !w.limited() {
			w.fail(broken("a run of %s told that more is due, and the next one finds nothing", named(r.Name())))
		}
		if more = counts[reclaim.Limited] > 0; err != nil || i > 10_000 {
			w.fail(broken("%s fails without a fault, or does not come to an end: %w %v", named(r.Name()), err, counts))
		}
	}
}

// bounded: no step of a run begins once that has taken as much as it may.
func (o *oracle) bounded(before View, step Step) error {
	a := o.w.cur
	if a == nil || a.pass.routine == "" {
		return nil
	}
	n := 0
	switch step {
	case "expire":
		n = len(before.Objects) - len(o.view.Objects)
	case "purge":
		n = len(before.Trash) - len(o.view.Trash)
	case "settle":
		n = len(before.Blobs) - len(o.view.Blobs)
	case "abort-stale", "abort-ruled":
		n = len(before.Uploads) - len(o.view.Uploads)
	}
	a.pass.took += int64(n)
	if most := o.w.most(a.pass.routine); n > 0 && most > 0 && a.pass.before >= most {
		return broken("%s takes %d more, and had taken %d in its run, which takes no more than %d", named(a.pass.routine), n, a.pass.before, most)
	}
	return nil
}

// gated: no routine but those that are spared has taken a step that began when the
// ledger was in doubt, nor before a backend was asked whom it belongs to.
func (w *World) gated(a *actor, step Step) error {
	if a == nil || a.pass.routine == "" || a.pass.spared || !w.paired() || step == "hold-backend" {
		return nil
	}
	for id, since := range w.doubts.strange {
		if since < a.began {
			return broken("%s by %s, and backend %s is held because of the ledger: %s", step, a.name, id, w.doubts.held[id])
		}
	}
	if !a.proc.node.pairing.heard {
		return broken("%s by %s, and its process has asked no backend whom it belongs to", step, a.name)
	}
	return nil
}

// weighed: a batch takes no more rows than it may, and condemns no more blobs, but for
// those of one content that has more, and copies of inline ones, which are on their way out
// (docs/protocol.md, rule 16). A plan's batch is as it is told.
func (o *oracle) weighed(before View, step Step, sc scope) error {
	rows := 0
	switch step {
	case "expire":
		rows = len(before.Objects) - len(o.view.Objects)
	case "purge":
		rows = len(before.Trash) - len(o.view.Trash)
	}
	if rows == 0 || sc.only != nil {
		return nil
	}
	inline := map[lethe.ID]bool{}
	for _, c := range before.Contents {
		inline[c.ID] = c.Inline
	}
	was := map[lethe.ID]bool{}
	for _, b := range before.Blobs {
		was[b.ID] = b.State != lethe.Condemned && !inline[b.ContentID]
	}
	sum, largest, of := 0, 0, map[lethe.ID]int{}
	for _, b := range o.view.Blobs {
		if b.State == lethe.Condemned && was[b.ID] {
			of[b.ContentID]++
			sum, largest = sum+1, max(largest, of[b.ContentID])
		}
	}
	if rows > batch || sum > max(maxBlobs, largest) {
		return broken("one batch took %d rows and condemned %d blobs, it may take %d and %d", rows, sum, batch, maxBlobs)
	}
	return nil
}
