package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func reapTests() []test {
	return []test{
		{name: "claims the silent", run: claimSilent},
		{name: "claims are disjoint", run: intentClaimsDisjoint},
		{name: "claimed writers fail", run: claimedWriterFails},
		{name: "promote", run: promote},
		{name: "promote with the writer's wishes", run: promoteWishes},
		{name: "superseded by whoever touches the key", run: superseded},
		{name: "promote refused", run: promoteRefused},
		{name: "promote a duplicate", run: promoteDuplicate},
		{name: "condemn", run: condemnIntent},
		{name: "release", run: releaseIntent},
		{name: "fenced", run: reapFenced},
		{name: "a fence is for what it was drawn for", run: fenceOfState},
		{name: "taken back", run: intentsRecovered},
		{name: "backlog", run: reapBacklog},
	}
}

// provable begins a write that a reaper could finish by proof.
func (w *world) provable(key, body string) (lethe.ID, ledger.Commit) {
	w.Helper()
	return w.provableAs(w.reference(key, body), body)
}

func (w *world) provableAs(c ledger.Commit, body string) (lethe.ID, ledger.Commit) {
	w.Helper()
	id := w.id()
	c.Blobs = []ledger.Uploaded{{Blob: id, Size: int64(len(body)), Digest: sum(body), Blocks: blockSums(body)}}
	must(w.Begin(w.ctx, ledger.Intent{ID: id, Backend: disk, Size: int64(len(body)), Promotion: &ledger.Promotion{Commit: c}}))(w)
	return id, c
}

// silent claims the intents without a heartbeat for a minute.
func (w *world) silent() ledger.ClaimedIntents {
	w.Helper()
	return must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "reaper", Limit: 100, MinAge: time.Minute}))(w)
}

func claimSilent(w *world) {
	first := w.begin("1")
	w.later(time.Second)
	second, c := w.provable("k", "22")
	w.later(time.Minute - time.Second - 1000)
	equal(w, "silent", len(w.silent().Intents), 0)
	w.later(time.Second)
	equal(w, "on another backend", len(must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Backend: "tape", MinAge: time.Minute}))(w).Intents), 0)
	in := must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "r", Backend: disk, Limit: 9, MinAge: time.Minute - time.Second}))(w)
	if len(in.Intents) != 2 || in.Intents[0].Blob.ID != first || in.Intents[1].Blob.ID != second || in.Now != w.now() {
		w.Fatalf("intents are %+v", in)
	}
	if in.Intents[0].Promotion != nil || in.Intents[1].Promotion == nil {
		w.Fatalf("promotions are %+v", in)
	}
	equal(w, "promotion", plain(in.Intents[1].Promotion.Commit), plain(c))
	claim := ledger.Claim{Worker: "r", Fence: in.Fence, At: w.now()}
	equal(w, "claim", in.Intents[0].Blob.Claim, claim)
	equal(w, "claim", w.row(second).Claim, claim)
}

func intentClaimsDisjoint(w *world) {
	for range 5 {
		w.begin("x")
	}
	w.later(time.Minute)
	seen := map[lethe.ID]bool{}
	last := int64(0)
	for range 3 {
		in := must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "r", Limit: 2, MinAge: time.Minute}))(w)
		if in.Fence <= last {
			w.Fatalf("fence %d after %d", in.Fence, last)
		}
		last = in.Fence
		for _, i := range in.Intents {
			seen[i.Blob.ID] = true
		}
	}
	equal(w, "claimed", len(seen), 5)
	equal(w, "left", len(w.silent().Intents), 0)
}

func claimedWriterFails(w *world) {
	_, c := w.provable("k", "body")
	plainly := w.written("l", "other")
	w.later(time.Minute)
	w.silent()
	w.unchanged(func() {
		w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrReaped)
		w.fails(refused(w.Commit(w.ctx, plainly)), lethe.ErrReaped)
	})
}

// promote: the reaper makes the same commit. The row stays for the late window, as the
// writer may still be sending.
func promote(w *world) {
	id, c := w.provable("k", "body")
	w.later(time.Minute)
	done := must(w.Promote(w.ctx, w.silent().Fence, id, lethe.BlockSums{}))(w)
	equal(w, "object", done.Object.ID, c.Op)
	equal(w, "its name", done.Object.Bucket+"/"+done.Object.Key, "bucket/k")
	equal(w, "blob", w.onlyBlob("k").ID, id)
	b := w.row(id)
	equal(w, "claim", b.Claim, ledger.Claim{})
	equal(w, "late until", b.LateUntil, w.now().Add(lateWindow))
	if out, found, _ := w.Outcome(w.ctx, c.Op); !found || out.ObjectID != c.Op {
		w.Fatalf("the writer's operation has the outcome %+v, %v", out, found)
	}
	w.remove("k")
	w.later(readGrace)
	equal(w, "kept", w.clean().Kept, 1)
}

func promoteWishes(w *world) {
	c := w.reference("k", "body")
	c.TTL, c.Object.Tags = time.Hour, map[string]string{"a": "b"}
	c.Object.Attrs = ledger.Attrs{ContentType: "text/x", User: map[string]string{"u": "v"}, Parts: []ledger.PartAttrs{{Number: 1, Size: 2}}}
	id, _ := w.provableAs(c, "body")
	w.later(time.Minute)
	must(w.Promote(w.ctx, w.silent().Fence, id, lethe.BlockSums{}))(w)
	o := w.get("k").Object
	equal(w, "end", o.TTLAt, w.now().Add(time.Hour))
	equal(w, "tags", o.Tags["a"], "b")
	equal(w, "attributes", plain(o.Attrs), plain(c.Object.Attrs))
}

// superseded: each transaction that writes or removes the key removes the promotion, even if
// the key was empty (docs/protocol.md, rule 19).
func superseded(w *world) {
	entry := w.binned("k", "binned")
	touch := map[string]func(){
		"put":      func() { w.put("k", "other") },
		"zero":     func() { w.put("k", "") },
		"delete":   func() { w.remove("k") },
		"complete": func() { w.completeOnto("k") },
		"update": func() {
			must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", Tags: &map[string]string{}}))(w)
		},
		"expire":  func() { must(w.Expire(w.ctx, ledger.Batch{}))(w) },
		"restore": func() { must(w.Restore(w.ctx, w.id(), entry, true))(w) },
	}
	for _, name := range []string{"delete", "put", "update", "zero", "complete", "restore", "expire"} {
		w.Log(name)
		if name == "expire" {
			w.putTTL("k", "short", time.Second)
		}
		id, _ := w.provable("k", "promised")
		other, _ := w.provable("other", "kept")
		w.later(time.Second)
		touch[name]()
		w.later(time.Minute)
		in := w.silent()
		for _, i := range in.Intents {
			equal(w, "provable", i.Promotion != nil, i.Blob.ID == other)
		}
		w.unchanged(func() {
			w.fails(refused(w.Promote(w.ctx, in.Fence, id, lethe.BlockSums{})), lethe.ErrPreconditionFailed)
		})
		w.ok(w.CondemnIntent(w.ctx, in.Fence, id))
		w.ok(w.CondemnIntent(w.ctx, in.Fence, other))
	}
}

// binned puts the object under a key into the trash.
func (w *world) binned(key, body string) lethe.ID {
	w.Helper()
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.put(key, body)
	w.remove(key)
	w.configure(ledger.BucketSettings{})
	e := must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)
	return e[len(e)-1].ID
}

func promoteRefused(w *world) {
	c := w.reference("k", "body")
	c.If.IfMatch = "*"
	conditional, _ := w.provableAs(c, "body")
	c = w.reference("l", "body")
	c.Object.TTLAt = w.now().Add(3 * time.Hour)
	long, _ := w.provableAs(c, "body")
	big, _ := w.provable("m", "too many bytes")
	w.configure(ledger.BucketSettings{MaxTTL: time.Hour, QuotaBytes: 5})
	w.later(time.Minute)
	fence := w.silent().Fence
	w.unchanged(func() {
		w.fails(refused(w.Promote(w.ctx, fence, conditional, lethe.BlockSums{})), lethe.ErrPreconditionFailed)
		w.fails(refused(w.Promote(w.ctx, fence, long, lethe.BlockSums{})), lethe.ErrInvalidTTL)
		w.fails(refused(w.Promote(w.ctx, fence, big, lethe.BlockSums{})), lethe.ErrQuotaExceeded)
	})
}

func promoteDuplicate(w *world) {
	first := w.put("a", "body")
	id, _ := w.provable("k", "body")
	w.later(time.Minute)
	done := must(w.Promote(w.ctx, w.silent().Fence, id, lethe.BlockSums{}))(w)
	equal(w, "duplicate", done.Duplicate, true)
	equal(w, "content", done.Object.ContentID, first.ContentID)
	w.condemned(id, lethe.ReasonDuplicate, w.now())
	equal(w, "late until", w.row(id).LateUntil, w.now().Add(lateWindow))
}

func condemnIntent(w *world) {
	id, _ := w.provable("k", "body")
	w.later(time.Minute)
	fence := w.silent().Fence
	w.later(time.Second)
	w.ok(w.CondemnIntent(w.ctx, fence, id))
	due := w.now().Add(lateWindow)
	w.condemned(id, lethe.ReasonUploadOrphan, due)
	equal(w, "late until", w.row(id).LateUntil, due)
	w.totals(0, 0, 1, 0)
	w.later(lateWindow)
	equal(w, "gone", w.clean().Gone, 1)
}

func releaseIntent(w *world) {
	id, c := w.provable("k", "body")
	w.later(time.Minute)
	in := w.silent()
	w.ok(w.ReleaseIntent(w.ctx, in.Fence, id))
	equal(w, "claim", w.row(id).Claim, ledger.Claim{})
	again := w.silent()
	if len(again.Intents) != 1 || again.Intents[0].Promotion == nil || again.Fence <= in.Fence {
		w.Fatalf("claimed again: %+v", again)
	}
	w.ok(w.ReleaseIntent(w.ctx, again.Fence, id))
	w.ok(w.Beat(w.ctx, id, 0))
	w.commit(c)
}

func reapFenced(w *world) {
	id, _ := w.provable("k", "body")
	never, _ := w.provable("l", "other")
	w.later(time.Minute)
	old := w.silent().Fence
	w.ok(w.ReleaseIntent(w.ctx, old, id))
	now := w.silent().Fence
	w.ok(w.ReleaseIntent(w.ctx, old, never))
	for _, fence := range []int64{old, 0, now + 1} {
		for _, b := range []lethe.ID{id, w.id()} {
			w.unchanged(func() {
				w.fails(refused(w.Promote(w.ctx, fence, b, lethe.BlockSums{})), lethe.ErrFenced)
				w.fails(w.CondemnIntent(w.ctx, fence, b), lethe.ErrFenced)
				w.fails(w.ReleaseIntent(w.ctx, fence, b), lethe.ErrFenced)
			})
		}
	}
	w.unchanged(func() { w.fails(w.CondemnIntent(w.ctx, 0, never), lethe.ErrFenced) })
	must(w.Promote(w.ctx, now, id, lethe.BlockSums{}))(w)
	w.fails(w.CondemnIntent(w.ctx, now, id), lethe.ErrFenced)
}

// fenceOfState: the reaper and the cleaner cannot act on each other's claims, even with the
// fence.
func fenceOfState(w *world) {
	corpse := w.corpses(1)[0]
	intent := w.begin("silent")
	w.later(time.Minute)
	reaper, cleaner := w.silent().Fence, w.claim().Fence
	w.unchanged(func() {
		w.fails(w.CondemnIntent(w.ctx, cleaner, corpse), lethe.ErrFenced)
		w.fails(w.ReleaseIntent(w.ctx, cleaner, corpse), lethe.ErrFenced)
		w.fails(refused(w.Promote(w.ctx, cleaner, corpse, lethe.BlockSums{})), lethe.ErrFenced)
		s := w.settle(ledger.Claimed{Fence: reaper, Blobs: []ledger.Blob{{ID: intent}}}, ledger.SettleItem{Result: ledger.Gone})
		equal(w, "fenced", s.Fenced, 1)
	})
}

func intentsRecovered(w *world) {
	id := w.begin("body")
	w.later(time.Minute)
	fence := w.silent().Fence
	w.later(time.Minute - 1000)
	equal(w, "recovered", len(must(w.RecoverClaims(w.ctx, time.Minute, 9))(w)), 0)
	w.later(1000)
	r := must(w.RecoverClaims(w.ctx, time.Minute, 9))(w)
	if len(r) != 1 || r[0] != (ledger.Recovered{Backend: disk, State: lethe.Pending, Claims: 1}) {
		w.Fatalf("recovered %+v", r)
	}
	w.fails(w.CondemnIntent(w.ctx, fence, id), lethe.ErrFenced)
	equal(w, "silent", len(w.silent().Intents), 1)
}

func reapBacklog(w *world) {
	first := w.now()
	w.begin("1")
	w.begin("22")
	w.later(time.Second)
	w.begin("333")
	equal(w, "backlog", must(w.ReapBacklog(w.ctx, time.Minute))(w), ledger.Backlog{NextDue: first.Add(time.Minute), Scheduled: 3})
	w.later(time.Minute - time.Second)
	equal(w, "backlog", must(w.ReapBacklog(w.ctx, time.Minute))(w),
		ledger.Backlog{Count: 2, Bytes: 3, Oldest: w.now(), NextDue: w.now().Add(time.Second), Scheduled: 1})
	w.silent()
	equal(w, "backlog", must(w.ReapBacklog(w.ctx, time.Minute))(w), ledger.Backlog{NextDue: w.now().Add(time.Second), Scheduled: 1})
}
