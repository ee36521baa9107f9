package routine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// A plan of what expires, and of the trash, is what a run does. What a hold keeps is listed
// as staying, before a run deferred it and after, and is not taken even once it is released. A
// run that left only those is not reported as limited.
func TestPlansShowWhatAHoldKeeps(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{Undo: time.Minute}, nil)
	w.Must(err)
	for _, key := range []string{"free", "held"} {
		w.Put(key, "trash "+key)
		w.Remove(key)
		c := w.Commit(key, "object "+key, w.Intent(key, "object "+key, false))
		c.TTL = time.Minute
		_, err := w.Ledger.Commit(w.Ctx, c)
		w.Must(err)
	}
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held", Reason: "audit"}
	_, err = w.Ledger.AddHold(w.Ctx, hold)
	w.Must(err)
	w.Clock.Advance(2 * time.Minute)
	for name, r := range map[string]interface {
		reclaim.Planner
		reclaim.Backlogged
	}{
		"expire": &routine.Expire{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 1}},
		"purge":  &routine.Purge{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 1}},
	} {
		list := w.items(r)
		reclaimtest.Want(w, name+" plans", planned(list), "free:; held:a hold keeps it; ")
		results, err := r.Apply(w.Ctx, "me", list, func(string, int64) {})
		w.Must(err)
		got := map[string]plan.Outcome{}
		for _, res := range results {
			got[res.Item.Key] = res.Outcome
		}
		reclaimtest.Want(w, name+" did", fmt.Sprint(got), "map[free:done held:held]")
		left, err := r.HasBacklog(w.Ctx)
		w.Must(err)
		w.Pass(r)
		reclaimtest.Want(w, name+" left something", left, false)
		reclaimtest.Want(w, name+" plans then", planned(w.items(r)), "held:a hold keeps it; ")
	}
}

// planned lists items by key, with why they stay.
func planned(list []plan.Item) (text string) {
	slices.SortFunc(list, func(a, b plan.Item) int { return strings.Compare(a.Key, b.Key) })
	for _, i := range list {
		text += i.Key + ":" + i.Stays + "; "
	}
	return text
}

// A plan shows what a limit stops before it has tripped, what stays once it has, and what
// goes again when the hour has passed; runs do just that.
func TestPlansShowWhatALimitKeeps(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"a", "b", "c"} {
		c := w.Commit(key, "object "+key, w.Intent(key, "object "+key, false))
		c.TTL = time.Minute
		_, err := w.Ledger.Commit(w.Ctx, c)
		w.Must(err)
	}
	w.Clock.Advance(2 * time.Minute)
	asking := &routine.Expire{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 2, Limits: ledger.Limits{TTL: ledger.Limit{Ask: 2}}}}
	stays := func(list []plan.Item) (n int, why string) {
		for _, i := range list {
			if i.Stays != "" {
				n, why = n+1, i.Stays
			}
		}
		return n, why
	}
	const why = "the limit ttl keeps it: at least 3 are due; more than 2 (ask) go within an hour only if a person allows it"
	list := w.items(asking)
	n, text := stays(list)
	reclaimtest.Want(w, "before it has tripped", fmt.Sprint(len(list), n, text), fmt.Sprint(3, 3, why))
	reclaimtest.Want(w, "removed", w.Pass(asking)["objects"], 0)
	n, text = stays(w.items(asking))
	reclaimtest.Want(w, "once it has tripped", fmt.Sprint(n, text), fmt.Sprint(3, why))
	hourly := &routine.Expire{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 2, Limits: ledger.Limits{TTL: ledger.Limit{PerHour: 2}}}}
	states, err := w.Ledger.LimitStates(w.Ctx)
	w.Must(err)
	w.Must(w.Ledger.AllowBeyondLimit(w.Ctx, ledger.Allowance{Kind: ledger.LimitTTL, Subject: states[0].Subject}))
	n, _ = stays(w.items(hourly))
	reclaimtest.Want(w, "two of three may go in the hour", n, 1)
	reclaimtest.Want(w, "removed in the hour", w.Pass(hourly)["objects"], 2)
	n, _ = stays(w.items(hourly))
	reclaimtest.Want(w, "after them", n, 1)
	w.Clock.Advance(time.Hour)
	n, _ = stays(w.items(hourly))
	reclaimtest.Want(w, "in the next hour", n, 0)
	reclaimtest.Want(w, "removed in the next hour", w.Pass(hourly)["objects"], 1)
}
