package ledgertest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func limitTests() []test {
	return []test{
		{name: "the limit of a rule that would end too many trips before the first object goes", run: ruleTrips},
		{name: "no batch goes beyond a limit", run: countedExactly},
		{name: "an hour's limit ends with the hour", run: hourPasses},
		{name: "what is allowed is used up", run: allowanceEnds},
		{name: "looking ahead leaves an allowance to be used up", run: allowancePrechecked},
		{name: "looking ahead leaves what the hour has left", run: hourPrechecked},
		{name: "a stop ends with its limit", run: stopsEnd},
		{name: "what was allowed beyond an hour's limit leaves the hour's", run: allowedBeyondHour},
		{name: "a stop ends nothing but its kind and its bucket", run: othersGoOn},
		{name: "deletes and purges have limits", run: otherLimits},
		{name: "what may land late waits while the clock is in doubt", run: doubtWaits},
		{name: "a share is of what was there", run: shareOf},
		{name: "a share counts what ended by the sibling kind", run: shareWithSibling},
		{name: "an hour that has begun does not end again", run: hourStays},
		{name: "a hold is changed only as it was seen", run: seenHold},
	}
}

// manyDue writes n objects that are due in a minute.
func (w *world) manyDue(prefix string, n int) {
	w.Helper()
	for i := range n {
		w.putTTL(fmt.Sprintf("%s%03d", prefix, i), fmt.Sprint("body", i), time.Minute)
	}
}

// putRuled puts n objects that a rule ends after a day, and four that it does not.
func (w *world) putRuled(n int) {
	w.Helper()
	for i := range n {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
	}
	for i := range 4 {
		w.put(fmt.Sprint("z", i), fmt.Sprint("body", i))
	}
	rules := lifecycle.Rules{{ID: "all", Prefix: "k", Days: 1}}
	must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: rules, By: "operator"}))(w)
	must(w.ReapplyRules(w.ctx, 0))(w)
}

func ruleTrips(w *world) {
	w.putRuled(10)
	w.later(48 * time.Hour)
	limits := ledger.Limits{Rules: ledger.Limit{Share: 60}}
	tripped := must(w.PrecheckLimits(w.ctx, limits))(w)
	equal(w, "tripped", len(tripped), 1)
	equal(w, "for ever", tripped[0].TrippedUntil, lethe.Forever)
	equal(w, "of", tripped[0].Name, bucketName)
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 3, Limits: limits}))(w)
	equal(w, "expired", r.Objects, 0)
	for r.More {
		r = must(w.Expire(w.ctx, ledger.Batch{Limit: 3, Limits: limits, After: r.LastDue}))(w)
	}
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).Count, 0)
	equal(w, "objects", must(w.Bucket(w.ctx, bucketName))(w).Objects, 14)
	equal(w, "prechecked again", len(must(w.PrecheckLimits(w.ctx, limits))(w)), 0)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: ledger.LimitRules, Subject: tripped[0].Subject, Until: w.now().Add(time.Hour), N: -1}))
	equal(w, "returned", w.returnAll(4), 10)
	equal(w, "prechecked", len(must(w.PrecheckLimits(w.ctx, limits))(w)), 0)
	equal(w, "allowed", must(w.Expire(w.ctx, ledger.Batch{Limits: limits}))(w).Objects, 10)
}

func countedExactly(w *world) {
	w.manyDue("k", 9)
	w.later(time.Minute)
	limits := ledger.Limits{TTL: ledger.Limit{Ask: 5}}
	total := 0
	b := ledger.Batch{Limit: 2, Limits: limits}
	for {
		r := must(w.Expire(w.ctx, b))(w)
		total += r.Objects
		if b.After = r.LastDue; !r.More {
			break
		}
	}
	equal(w, "expired", total, 4) // two batches; the third would be beyond
	g := must(w.LimitStates(w.ctx))(w)
	equal(w, "limits", len(g), 1)
	equal(w, "counted", g[0].N, 4)
	equal(w, "held", g[0].Tripped(w.now()), true)
	equal(w, "name", g[0].Name, bucketName)
}

func hourPasses(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	b := ledger.Batch{Limit: 3, Limits: ledger.Limits{TTL: ledger.Limit{PerHour: 4}}}
	equal(w, "expired", must(w.Expire(w.ctx, b))(w).Objects, 3)
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "the rest of the hour", r.Objects, 1)
	equal(w, "deferred", r.Deferred, 2)
	equal(w, "tripped", len(r.Tripped), 1)
	equal(w, "of", r.Tripped[0].Name, bucketName)
	equal(w, "returned early", w.returnAll(0), 0)
	w.later(r.Tripped[0].TrippedUntil.Sub(w.now()))
	equal(w, "returned", w.returnAll(0), 2)
	b.Limits.TTL.PerHour = 1 // less than a batch
	equal(w, "expired later", must(w.Expire(w.ctx, b))(w).Objects, 1)
}

func allowanceEnds(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	b := ledger.Batch{Limit: 2, Limits: ledger.Limits{TTL: ledger.Limit{Ask: 1}}}
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "expired", r.Objects, 0)
	for r.More {
		r = must(w.Expire(w.ctx, b))(w)
	}
	g := must(w.LimitStates(w.ctx))(w)[0]
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: g.Kind, Subject: g.Subject, Until: w.now().Add(time.Hour), N: 4}))
	equal(w, "returned", w.returnAll(0), 6)
	total := 0
	for r = must(w.Expire(w.ctx, b))(w); ; r = must(w.Expire(w.ctx, b))(w) {
		if total += r.Objects; !r.More {
			break
		}
	}
	equal(w, "allowed", total, 4)
	g = must(w.LimitStates(w.ctx))(w)[0]
	if !strings.Contains(g.Reason, "used up") {
		w.Errorf("it tripped because %q", g.Reason)
	}
}

func allowancePrechecked(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	limits := ledger.Limits{TTL: ledger.Limit{Ask: 1}}
	tripped := must(w.PrecheckLimits(w.ctx, limits))(w)
	equal(w, "tripped", len(tripped), 1)
	b := ledger.Batch{Limit: 2, Limits: limits}
	must(w.Expire(w.ctx, ledger.Batch{Limits: limits}))(w)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: tripped[0].Kind, Subject: tripped[0].Subject, Until: w.now().Add(time.Hour), N: 4}))
	equal(w, "returned", w.returnAll(0), 6)
	for range 2 {
		equal(w, "tripped while it is allowed", len(must(w.PrecheckLimits(w.ctx, limits))(w)), 0)
		equal(w, "expired", must(w.Expire(w.ctx, b))(w).Objects, 2)
	}
	tripped = must(w.PrecheckLimits(w.ctx, limits))(w)
	if len(tripped) != 1 || !strings.Contains(tripped[0].Reason, "used up") {
		w.Fatalf("tripped %+v", tripped)
	}
	equal(w, "expired beyond", must(w.Expire(w.ctx, b))(w).Objects, 0)
}

func hourPrechecked(w *world) {
	w.manyDue("k", 3)
	w.later(time.Minute)
	limits := ledger.Limits{TTL: ledger.Limit{PerHour: 2}}
	equal(w, "tripped early", len(must(w.PrecheckLimits(w.ctx, limits))(w)), 0)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{Limit: 2, Limits: limits}))(w).Objects, 2)
	tripped := must(w.PrecheckLimits(w.ctx, limits))(w)
	equal(w, "tripped", len(tripped), 1)
	equal(w, "until the hour ends", tripped[0].TrippedUntil.Sub(w.now()) <= time.Hour, true)
}

func stopsEnd(w *world) {
	w.manyDue("k", 4)
	w.put("stays", "body")
	w.later(time.Minute)
	asking, hourly := ledger.Limits{TTL: ledger.Limit{Ask: 1}}, ledger.Limits{TTL: ledger.Limit{PerHour: 1}}
	b := ledger.Batch{Limits: asking}
	equal(w, "deferred", must(w.Expire(w.ctx, b))(w).Deferred, 4)
	w.unchanged(func() {
		equal(w, "ended while it asks", len(must(w.EndTrips(w.ctx, asking))(w)), 0)
		equal(w, "ended by more", len(must(w.EndTrips(w.ctx, ledger.Limits{TTL: ledger.Limit{Share: 100}}))(w)), 0)
	})
	ended := must(w.EndTrips(w.ctx, hourly))(w)
	equal(w, "of", ended[0].Name, bucketName)
	if len(ended) != 1 || ended[0].Kind != ledger.LimitTTL || !strings.Contains(ended[0].Reason, "(ask)") {
		w.Fatalf("ended %+v", ended)
	}
	equal(w, "returned", w.returnAll(0), 4)
	b.Limits = hourly
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "within the hour", r.Objects, 1)
	equal(w, "deferred for the hour", r.Deferred, 3)
	equal(w, "ended within the hour", len(must(w.EndTrips(w.ctx, hourly))(w)), 0)
	equal(w, "ended", len(must(w.EndTrips(w.ctx, ledger.Limits{Rules: ledger.Limit{Ask: 1}}))(w)), 1)
	equal(w, "counted", must(w.LimitStates(w.ctx))(w)[0].N, 1)
	equal(w, "returned at last", w.returnAll(0), 3)
	equal(w, "without a limit", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 3)
	must(w.DoubtClock(w.ctx, disk, "skew"))(w)
	w.unchanged(func() { equal(w, "doubts", len(must(w.EndTrips(w.ctx, ledger.Limits{}))(w)), 0) })
}

// allowedBeyondHour: where no person is asked, an allowance ends with the hour.
func allowedBeyondHour(w *world) {
	w.manyDue("k", 5)
	w.later(time.Minute)
	b := ledger.Batch{Limits: ledger.Limits{TTL: ledger.Limit{PerHour: 1}}}
	g := must(w.Expire(w.ctx, b))(w).Tripped[0]
	equal(w, "of", g.Name, bucketName)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: g.Kind, Subject: g.Subject, Until: w.now().Add(time.Hour), N: 2}))
	equal(w, "returned", w.returnAll(0), 4)
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "allowed", r.Objects, 2)
	equal(w, "for the hour", r.Tripped[0].TrippedUntil.Sub(w.now()) <= time.Hour, true)
}

func othersGoOn(w *world) {
	w.bucket("other", ledger.BucketSettings{})
	w.manyDue("k", 3)
	c := w.reference("k", "")
	c.Object.Bucket, c.TTL = "other", time.Minute
	w.commit(c)
	w.later(time.Minute)
	r := must(w.Expire(w.ctx, ledger.Batch{Limits: ledger.Limits{TTL: ledger.Limit{Ask: 2}}}))(w)
	equal(w, "expired", r.Objects, 1)
	equal(w, "deferred", r.Deferred, 3)
	w.remove("k000")
}

func otherLimits(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Minute})
	for i := range 4 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
		w.remove(fmt.Sprint("k", i))
	}
	w.later(time.Minute)
	purge := ledger.Batch{Limit: 2, Limits: ledger.Limits{Purge: ledger.Limit{Ask: 3}}}
	equal(w, "purged", must(w.Purge(w.ctx, purge))(w).Objects, 2)
	r := must(w.Purge(w.ctx, purge))(w)
	equal(w, "purged beyond", r.Objects, 0)
	equal(w, "tripped", len(r.Tripped), 1)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: ledger.LimitPurge, Until: w.now().Add(time.Hour), N: 1}))
	equal(w, "purged as allowed", must(w.Purge(w.ctx, purge))(w).Objects, 1)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: ledger.LimitPurge}))
	equal(w, "purged anew", must(w.Purge(w.ctx, purge))(w).Objects, 1)
	w.later(readGrace)
	req := ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 10, Deletes: ledger.Limit{Ask: 3}}
	equal(w, "handed out", len(must(w.ClaimCondemned(w.ctx, req))(w).Blobs), 3)
	c := must(w.ClaimCondemned(w.ctx, req))(w)
	equal(w, "handed out beyond", len(c.Blobs), 0)
	if c.Tripped == nil {
		w.Fatal("no limit tripped")
	}
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: ledger.LimitDeletes, Subject: disk, Until: w.now() + 1, N: -1}))
	equal(w, "handed out at last", len(must(w.ClaimCondemned(w.ctx, req))(w).Blobs), 1)
}

func doubtWaits(w *world) {
	late, sure := w.begin("late"), w.begin("sure")
	w.ok(w.Abandon(w.ctx, late, true))
	w.ok(w.Abandon(w.ctx, sure, false))
	equal(w, "before", must(w.DoubtClock(w.ctx, disk, "it is an hour ahead"))(w), "")
	c := w.claim()
	equal(w, "claimed", len(c.Blobs), 1)
	equal(w, "which", c.Blobs[0].ID, sure)
	must(w.DoubtClock(w.ctx, disk, ""))(w)
	equal(w, "claimed later", len(w.claim().Blobs), 1)
}

func shareOf(w *world) {
	g := ledger.LimitState{Kind: ledger.LimitTTL}
	l := ledger.Limit{Share: 50, Floor: 10}
	now := w.now()
	equal(w, "floor", g.Left(now, l, 4), 10)
	equal(w, "share", g.Left(now, l, 100), 50)
	g.Spend(now, 30)
	equal(w, "rest", g.Left(now, l, 70), 20)
	equal(w, "the next hour", g.Left(now.Add(time.Hour), l, 70), 35)
	equal(w, "no limit", g.Left(now, ledger.Limit{}, 70), math.MaxInt64)
}

// hourStays: a transaction that began before the hour changed and counts after it counts in
// the new hour.
func hourStays(w *world) {
	turn := lethe.FromTime(w.now().Time().Truncate(time.Hour).Add(time.Hour))
	g := ledger.LimitState{Kind: ledger.LimitTTL}
	l := ledger.Limit{PerHour: 5}
	g.Spend(turn, 3)
	may, tripped := g.Admit(turn-1, l, 0, 4)
	equal(w, "may go", may, 2)
	equal(w, "counted", g.N, 5)
	equal(w, "until the hour ends that has begun", tripped.TrippedUntil, turn.Add(time.Hour))
	equal(w, "then", g.Left(turn.Add(time.Hour), l, 0), 5)
}

func seenHold(w *world) {
	seen := must(w.Backends(w.ctx))(w)[0]
	w.ok(w.HoldBackend(w.ctx, disk, "a person says so"))
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, seen, ledger.BackendHold{}), lethe.ErrFenced) })
	seen.Held = "a person says so"
	w.ok(w.SetEpoch(w.ctx, disk, 3, 2))
	w.fails(w.ChangeHold(w.ctx, seen, ledger.BackendHold{}), lethe.ErrFenced)
	seen.Intended, seen.Epoch = 3, 2
	w.ok(w.ChangeHold(w.ctx, seen, ledger.BackendHold{}))
	equal(w, "held", must(w.Backends(w.ctx))(w)[0].Held, "")
	for _, about := range []ledger.HeldFor{ledger.HeldForLedger, ledger.HeldForBackend, ledger.HeldForAbsence} {
		w.ok(w.ChangeHold(w.ctx, must(w.Backends(w.ctx))(w)[0], ledger.BackendHold{For: about, Reason: "one text"}))
		now := must(w.Backends(w.ctx))(w)[0]
		equal(w, "held for", ledger.BackendHold{For: now.HeldFor, Reason: now.Held}, ledger.BackendHold{For: about, Reason: "one text"})
	}
	w.ok(w.HoldBackend(w.ctx, disk, "one text"))
	equal(w, "held for", must(w.Backends(w.ctx))(w)[0].HeldFor, ledger.HeldByPerson)
	w.ok(w.HoldBackend(w.ctx, disk, ""))
	equal(w, "held for nothing", must(w.Backends(w.ctx))(w)[0].HeldFor, "")
}

// shareWithSibling: what ends by its own time does not lower the share of what a rule ends, also
// where only one of the two is limited.
func shareWithSibling(w *world) {
	w.putRuled(8)
	w.manyDue("t", 8)
	w.later(48 * time.Hour)
	b := ledger.Batch{Limit: 8, Limits: ledger.Limits{Rules: ledger.Limit{Share: 45}}}
	equal(w, "prechecked", len(must(w.PrecheckLimits(w.ctx, b.Limits))(w)), 0)
	equal(w, "ended by themselves", must(w.Expire(w.ctx, b))(w).Objects, 8)
	equal(w, "prechecked again", len(must(w.PrecheckLimits(w.ctx, b.Limits))(w)), 0)
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "ended by the rule", r.Objects, 8)
	equal(w, "tripped", len(r.Tripped), 0)
}
