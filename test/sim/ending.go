package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// rounds bounds the quiet end: a step of the longest grace each.
const rounds = 12

// end stops the faults, kills every actor, and lets one process work until
// nothing is due: then nothing dead may be left, and all that lives be readable.
func (w *World) end() {
	w.quiet = true
	w.cur = nil
	for _, p := range w.procs {
		p.die()
		p.bury()
	}
	w.landCommits("")
	w.sweepStrays()
	n := w.newNode()
	w.trusted(n)
	w.prepareEnd(n)
	w.fail(w.movedParts(n))
	w.fail(w.predicted(n))
	w.fail(w.released(n))
	n = w.unlimited(n)
	w.fail(w.tellAll(n))
	for range w.rounds() {
		w.advance(w.now.Add(safety.MultipartStale + time.Hour))
		w.requeue()
		w.permit(n)
		for _, r := range n.routines {
			w.drain(r)
		}
		w.drain(n.deliver)
		if w.err != nil || w.settled() {
			break
		}
	}
	w.fail(w.spotless())
	w.fail(w.allTold())
	w.fail(w.untouched())
	w.fail(w.placedWell())
	w.fail(w.retire())
	w.fail(w.readable(n))
	w.fail(w.verified())
	w.fail(w.sealedAll())
}

// requeue plays the operator who looks after the dead letters.
func (w *World) requeue() {
	dead, err := w.ledger.Dead(context.Background(), ledger.DeadQuery{Limit: 1000})
	if err != nil {
		w.fail(err)
		return
	}
	for _, b := range dead {
		l := &seam{w: w, in: w.ledger}
		_, err := l.Requeue(context.Background(), []lethe.ID{b.ID})
		w.fail(err)
	}
}

// drain runs a routine until it finds nothing more.
func (w *World) drain(r reclaim.Routine) {
	if w.most(r.Name()) > 0 {
		w.drainCapped(r)
		return
	}
	step := r.Pass("janitor")
	var counts reclaim.Counts
	for i, more := 0, true; more && w.err == nil; i++ {
		var err error
		if more, err = step(context.Background(), counts.Add); err != nil {
			w.fail(broken("%s failed without a fault: %w", named(r.Name()), err))
		}
		if i > 10_000 {
			w.fail(broken("%s does not come to an end: %v", named(r.Name()), counts.Map()))
		}
	}
}

// settled says that nothing waits for anything.
func (w *World) settled() bool {
	v := w.oracle.view
	for _, b := range v.Blobs {
		if b.State != lethe.Live {
			return false
		}
	}
	if w.placedWell() != nil || w.orphansLeft() > 0 || w.waits() > 0 {
		return false
	}
	return len(v.Uploads) == 0 && len(v.Trash) == 0 && len(w.late) == 0 && !slices.ContainsFunc(v.Objects, w.oracle.ended)
}

// spotless: everything that was due is gone, from the ledger and the backends.
func (w *World) spotless() error {
	if w.err != nil {
		return nil
	}
	if err := w.oracle.ruled(); err != nil {
		return err
	}
	if !w.settled() {
		return broken("something dead stays for ever: %s", w.remains())
	}
	keys := 0
	for _, id := range w.backends() {
		keys += w.disks[id].Len() - len(w.epochs(id)) - len(w.foreign)
	}
	if live := len(w.oracle.view.Blobs) - w.oracle.vacant(); keys != live && len(w.oracle.ruined) == 0 {
		return broken("%d keys lie on the backends, %d blobs live", keys, live)
	}
	return nil
}

func (w *World) remains() string {
	v := w.oracle.view
	var b bytes.Buffer
	for _, x := range v.Blobs {
		if x.State != lethe.Live {
			fmt.Fprintf(&b, "blob %s %s (%s, due %s, late until %s, claim %+v); ", x.ID, x.State, x.Reason, x.DueAt, x.LateUntil, x.Claim)
		}
	}
	fmt.Fprintf(&b, "%d uploads, %d in the trash, %d late effects, %d orphans, placed: %v", len(v.Uploads), len(v.Trash), len(w.late), w.orphansLeft(), w.placedWell())
	return b.String()
}

// readable reads every object through the front door.
func (w *World) readable(n *node) error {
	if w.err != nil {
		return nil
	}
	for _, x := range slices.Clone(w.oracle.view.Objects) { // a read may end one
		if w.oracle.ruined[x.ContentID] {
			continue
		}
		rd, err := n.objects.Get(context.Background(), object.GetRequest{Bucket: x.Bucket, Key: x.Key})
		if err != nil {
			return broken("%s/%s at the end: %w", x.Bucket, x.Key, err)
		}
		w.fail(w.oracle.served(rd.Object))
		got, err := io.ReadAll(rd.Body)
		rd.Body.Close()
		if err != nil || !bytes.Equal(got, w.oracle.bodies[x.ID]) {
			return broken("%s/%s at the end reads as %d other bytes: %w", x.Bucket, x.Key, len(got), err)
		}
	}
	return nil
}

// explains says that what the check found is no finding: what is somebody else's, and
// what has decayed.
func (w *World) explains(p reclaim.Problem) bool {
	id, blob := strings.CutPrefix(p.Name, "blob ")
	return p.Kind == "foreign" && w.foreigner(p.Name) || blob && w.oracle.damaged[lethe.ID(id)] != nil
}

// verified lets the real fsck look: it must find nothing to explain.
func (w *World) verified() error {
	if w.err != nil {
		return nil
	}
	stores := map[string]blob.Store{}
	for _, id := range w.backends() {
		stores[id] = w.disks[id]
	}
	var first error
	v := &routine.Verify{Ledger: w.ledger, Stores: stores, Store: w.store, Checksums: true, Limit: 100, Report: func(p reclaim.Problem) {
		if first == nil && len(w.oracle.ruined) == 0 && !w.explains(p) {
			first = broken("verify found %s: %s", named(p.Kind), p)
		}
	}}
	w.drain(v)
	return first
}
