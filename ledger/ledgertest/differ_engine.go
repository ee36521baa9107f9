package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func (h *history) batch() ledger.Batch {
	return ledger.Batch{Limit: h.most(5), MaxBlobs: h.most(4)}
}

func (h *history) expire() {
	b := h.batch()
	r, err := ask(h, fmt.Sprintf("expire %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Expire(h.ctx, b) })
	if err == nil && r.More {
		b.After = r.LastDue
		ask(h, "expire on", func(l Ledger) (ledger.Reclaimed, error) { return l.Expire(h.ctx, b) })
	}
}

func (h *history) evict() {
	r := ledger.EvictRequest{Bucket: h.bucketName(), Batch: h.batch(), Begun: h.chance(2)}
	if h.chance(2) {
		r.Room = ledger.Room{Objects: int64(h.number(3)), Bytes: int64(h.number(500))}
	}
	ask(h, "next evicted from "+r.Bucket, func(l Ledger) ([]ledger.Due, error) {
		return l.NextEvicted(h.ctx, ledger.EvictQuery{Bucket: r.Bucket, Limit: 2})
	})
	out, err := ask(h, fmt.Sprintf("evict %+v", r), func(l Ledger) (ledger.Evicted, error) { return l.Evict(h.ctx, r) })
	if err == nil && out.More {
		r.After, r.Begun = out.Next, true
		ask(h, "evict on", func(l Ledger) (ledger.Evicted, error) { return l.Evict(h.ctx, r) })
	}
	limit := h.number(3)
	ask(h, "buckets that evict", func(l Ledger) ([]ledger.Bucket, error) { return l.EvictingBuckets(h.ctx, "", limit) })
}

// turns looks at a stretch of the buckets, and schedules those with due rows.
func (h *history) turns() {
	q := ledger.TurnQuery{Limit: h.number(4)}
	if h.chance(2) {
		q.Backend = h.one(disk, "tape")
	}
	found, err := ask(h, fmt.Sprintf("due buckets %+v", q), func(l Ledger) (ledger.Turns, error) { return l.DueBuckets(h.ctx, q) })
	if err == nil && !found.End {
		q.From = found.Last
		found, err = ask(h, fmt.Sprintf("due buckets %+v", q), func(l Ledger) (ledger.Turns, error) { return l.DueBuckets(h.ctx, q) })
	}
	if err != nil || len(found.Due) == 0 {
		return
	}
	if q.Backend == "" {
		b := h.batch()
		b.Turns = found.Due
		ask(h, fmt.Sprintf("expire %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Expire(h.ctx, b) })
		return
	}
	r := ledger.ClaimRequest{Worker: "w", Backend: q.Backend, Limit: h.most(5), Turns: found.Due}
	c, err := ask(h, fmt.Sprintf("claim %+v", r), func(l Ledger) (ledger.Claimed, error) { return l.ClaimCondemned(h.ctx, r) })
	if err == nil && len(c.Blobs) > 0 {
		h.claims = append(h.claims, c)
		h.settle(c)
	}
}

func (h *history) purge() {
	b := h.batch()
	ask(h, fmt.Sprintf("purge %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Purge(h.ctx, b) })
}

func (h *history) claimCondemned() ledger.Claimed {
	r := ledger.ClaimRequest{Worker: "w", Backend: h.one(disk, "tape"), Limit: h.most(5)}
	c, err := ask(h, "claim on "+r.Backend, func(l Ledger) (ledger.Claimed, error) { return l.ClaimCondemned(h.ctx, r) })
	if err == nil && len(c.Blobs) > 0 {
		h.claims = append(h.claims, c)
	}
	return c
}

// claimAndDie claims for a worker that does not settle.
func (h *history) claimAndDie() { h.claimCondemned() }

func (h *history) clean() { h.settle(h.claimCondemned()) }

// settleOld settles an earlier claim, which may have been taken over.
func (h *history) settleOld() { h.settle(pick(h, h.claims)) }

func (h *history) settle(c ledger.Claimed) {
	s := ledger.Settlement{Fence: c.Fence}
	for _, b := range c.Blobs {
		item := ledger.SettleItem{ID: b.ID, Result: []ledger.Result{ledger.Gone, ledger.Gone, ledger.Absent, ledger.Failed, ledger.Failed, ledger.Waits}[h.number(6)]}
		if item.Result == ledger.Failed || item.Result == ledger.Waits {
			item.Error, item.RetryAt, item.Dead = "no answer", c.Now.Add(time.Minute), h.chance(2)
		}
		s.Items = append(s.Items, item)
	}
	ask(h, fmt.Sprintf("settle %+v", s), func(l Ledger) (ledger.Settled, error) { return l.Settle(h.ctx, s) })
}

func (h *history) recover() {
	grace, limit := time.Duration(h.number(3))*time.Minute, h.most(3)
	ask(h, "recover claims", func(l Ledger) ([]ledger.Recovered, error) { return l.RecoverClaims(h.ctx, grace, limit) })
}

// reap claims silent intents and resolves them, or resolves those of an earlier claim.
func (h *history) reap() {
	r := ledger.ClaimRequest{Worker: "r", Limit: h.most(4), MinAge: time.Minute}
	if h.chance(3) {
		r.Backend = disk
	}
	c, err := ask(h, "claim intents", func(l Ledger) (ledger.ClaimedIntents, error) { return l.ClaimIntents(h.ctx, r) })
	if err == nil && len(c.Intents) > 0 {
		h.intents = append(h.intents, c)
	}
	if h.chance(3) {
		c = pick(h, h.intents)
	}
	for _, in := range c.Intents {
		h.resolveIntent(c.Fence, in)
	}
}

func (h *history) resolveIntent(fence int64, in ledger.ClaimedIntent) {
	id := in.Blob.ID
	switch h.number(5) {
	case 0, 1:
		size := in.Blob.Size
		if in.Promotion != nil {
			size = in.Promotion.Commit.Blobs[0].Size
		}
		sums := h.sumsOf(size)
		done, err := ask(h, "promote "+string(id), func(l Ledger) (ledger.Committed, error) { return l.Promote(h.ctx, fence, id, sums) })
		if err == nil {
			h.wrote(done.Object, nil)
		}
	case 2:
		ask(h, "condemn "+string(id), func(l Ledger) (any, error) { return nil, l.CondemnIntent(h.ctx, fence, id) })
	case 3:
		ask(h, "release "+string(id), func(l Ledger) (any, error) { return nil, l.ReleaseIntent(h.ctx, fence, id) })
	}
}

func (h *history) extend() {
	v := pick(h, h.versions)
	ask(h, "extend "+string(v.ContentID), func(l Ledger) (any, error) { return nil, l.ExtendGrace(h.ctx, v.ContentID) })
}

func (h *history) outcome() {
	op := pick(h, h.ops)
	type found struct {
		ledger.Outcome
		Found bool
	}
	ask(h, "outcome "+string(op), func(l Ledger) (found, error) {
		out, ok, err := l.Outcome(h.ctx, op)
		return found{out, ok}, err
	})
}

func (h *history) backlogs() {
	ask(h, "expire backlog", func(l Ledger) (ledger.Backlog, error) { return l.ExpireBacklog(h.ctx) })
	ask(h, "purge backlog", func(l Ledger) (ledger.Backlog, error) { return l.PurgeBacklog(h.ctx) })
	ask(h, "clean backlog", func(l Ledger) (ledger.Backlog, error) { return l.CleanBacklog(h.ctx, disk) })
	ask(h, "clean due", func(l Ledger) (bool, error) { return l.CondemnedDue(h.ctx, disk, 0) })
	ask(h, "reap backlog", func(l Ledger) (ledger.Backlog, error) { return l.ReapBacklog(h.ctx, time.Minute) })
}

// mark marks live blobs as missing, or as sound again.
func (h *history) mark() {
	live, _ := ask(h, "live blobs", func(l Ledger) ([]ledger.Blob, error) {
		return l.Blobs(h.ctx, ledger.BlobQuery{States: []lethe.State{lethe.Live}})
	})
	ids := []lethe.ID{pick(h, h.uploaded).Blob}
	for _, b := range some(h, live, 3) {
		ids = append(ids, b.ID)
	}
	if ago := time.Duration(h.number(3)) * time.Minute; h.chance(2) {
		ask(h, fmt.Sprint("mark sound ", ids, ago), func(l Ledger) (int, error) { return l.MarkSound(h.ctx, ids, ago) })
	} else {
		ask(h, fmt.Sprint("mark suspect ", ids), func(l Ledger) (int, error) { return l.MarkSuspect(h.ctx, ids, "missing") })
	}
	ask(h, "blobs by id", func(l Ledger) ([]ledger.Blob, error) { return l.BlobsByID(h.ctx, ids) })
}

func (h *history) dead() {
	q := ledger.DeadQuery{Backend: h.one("", disk), Bucket: h.one("", bucketName), Limit: 3}
	dead, _ := ask(h, "dead", func(l Ledger) ([]ledger.DeadLetter, error) { return l.Dead(h.ctx, q) })
	var ids []lethe.ID
	for _, b := range dead {
		ids = append(ids, b.ID)
	}
	if h.chance(3) {
		ids = append(ids, pick(h, h.uploaded).Blob)
	}
	ask(h, "dead by id", func(l Ledger) ([]ledger.DeadLetter, error) { return lettersByID(h.ctx, l, ids) })
	if h.chance(2) {
		ask(h, fmt.Sprint("requeue ", ids), func(l Ledger) (int, error) { return l.Requeue(h.ctx, ids) })
		return
	}
	ask(h, fmt.Sprint("write off ", ids), func(l Ledger) (int, error) { return l.WriteOff(h.ctx, ids) })
}

func (h *history) recordRuns() {
	r := ledger.Run{ID: h.id(), Routine: h.one("expire", "clean"), Worker: "w"}
	h.runs = append(h.runs, r.ID)
	ask(h, "start run", func(l Ledger) (any, error) { return nil, l.StartRun(h.ctx, r) })
	id, outcome := pick(h, h.runs), h.one("ok", "failed: x")
	switch h.number(6) {
	case 4:
		solo := ledger.Solo{Run: ledger.Run{ID: h.id(), Routine: r.Routine, Worker: h.one("w", "v")}, Stale: time.Duration(h.number(3)) * time.Second, Seen: lethe.Forever}
		h.runs = append(h.runs, solo.Run.ID)
		ask(h, "begin run", func(l Ledger) (ledger.SoloResult, error) { return l.BeginRun(h.ctx, solo) })
	case 5:
		age := time.Duration(1+h.number(3)) * time.Second
		ask(h, "end stale runs", func(l Ledger) (int, error) {
			ended, err := l.EndStaleRuns(h.ctx, age)
			return len(ended), err
		})
	case 0:
		ask(h, "beat run", func(l Ledger) (any, error) { return nil, l.BeatRun(h.ctx, id, map[string]int64{"n": 1}) })
	case 1:
		ask(h, "finish run", func(l Ledger) (any, error) { return nil, l.FinishRun(h.ctx, id, outcome, nil) })
	case 2:
		ask(h, "interrupt runs", func(l Ledger) (int, error) { return l.InterruptRuns(h.ctx, "w") })
	}
	ask(h, "last runs", runsOf)
}

func (h *history) backend() {
	id := h.one(disk, "tape", "nowhere")
	intended, epoch := int64(h.number(4)), int64(h.number(4))
	ask(h, "set epoch", func(l Ledger) (any, error) { return nil, l.SetEpoch(h.ctx, id, intended, epoch) })
	seen := ledger.Backend{ID: id, Intended: intended, Epoch: epoch}
	ask(h, "intend epoch", func(l Ledger) (any, error) { return nil, l.IntendEpoch(h.ctx, seen, intended+1) })
	ask(h, "accept epoch", func(l Ledger) (any, error) { return nil, l.AcceptEpoch(h.ctx, id, epoch) })
	why := h.one("", "", "restored")
	ask(h, "hold "+id, func(l Ledger) (any, error) { return nil, l.HoldBackend(h.ctx, id, why) })
	quota := int64(h.number(3)) * 2000
	ask(h, "add backend", func(l Ledger) (ledger.Backend, error) {
		return l.AddBackend(h.ctx, ledger.Backend{ID: disk, Quota: quota})
	})
	ask(h, "backends", func(l Ledger) ([]ledger.Backend, error) { return l.Backends(h.ctx) })
	ask(h, "identity", func(l Ledger) (ledger.Store, error) {
		s, err := l.Identity(h.ctx)
		s.Life = "" // a server's
		return s, err
	})
}

func (h *history) prune() {
	limit := h.number(5)
	ask(h, "prune", func(l Ledger) (int, error) { return l.Prune(h.ctx, limit) })
}
