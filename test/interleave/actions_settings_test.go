package interleave_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/notification"
)

func backends() []action {
	drain := func(id string, on bool) func(*act) (any, error) {
		return func(a *act) (any, error) { return none(a.db.SetDraining(a.ctx, id, on)) }
	}
	return []action{
		{name: "AddBackend with another quota", changes: "backend small", run: func(a *act) (any, error) {
			return wrap(a.db.AddBackend(a.ctx, ledger.Backend{ID: "small", Quota: 5}))
		}},
		{name: "AddBackend that is new", changes: "backend new", run: func(a *act) (any, error) {
			return wrap(a.db.AddBackend(a.ctx, ledger.Backend{ID: "new", Quota: int64(a.slot)}))
		}},
		{name: "SetEpoch", changes: "backend disk", closes: true, run: func(a *act) (any, error) {
			return none(a.db.SetEpoch(a.ctx, "disk", a.f.epoch+1, a.f.epoch))
		}},
		{name: "IntendEpoch", changes: "backend disk", closes: true, run: func(a *act) (any, error) {
			return none(a.db.IntendEpoch(a.ctx, a.f.disk, a.f.epoch+2))
		}},
		{name: "AcceptEpoch", changes: "backend disk", closes: true, run: func(a *act) (any, error) {
			return none(a.db.AcceptEpoch(a.ctx, "disk", a.f.epoch))
		}},
		{name: "HoldBackend", changes: "backend disk", closes: true, run: func(a *act) (any, error) { return none(a.db.HoldBackend(a.ctx, "disk", "stop")) }},
		{name: "ChangeHold", changes: "backend disk", closes: true, run: func(a *act) (any, error) {
			return none(a.db.ChangeHold(a.ctx, a.f.disk, ledger.BackendHold{For: ledger.HeldForBackend, Reason: "doubt"}))
		}},
		{name: "SetDraining small", changes: "backend small", closes: true, run: drain("small", true)},
		{name: "SetDraining tape", changes: "backend tape", closes: true, run: drain("tape", true)},
		{name: "SetDraining attic no more", changes: "backend attic", closes: true, run: drain("attic", false)},
		{name: "Begin in the attic", changes: "backend attic", run: func(a *act) (any, error) {
			return wrap(a.db.Begin(a.ctx, ledger.Intent{ID: a.id(), Backend: "attic", Size: 1}))
		}},
		{name: "RemoveBackend", changes: "backend attic, walks of the attic", closes: true, run: func(a *act) (any, error) { return none(a.db.RemoveBackend(a.ctx, "attic")) }},
		{name: "BeginWalk of the attic", changes: "walks of the attic", reads: "backend attic", run: func(a *act) (any, error) {
			return wrap(a.db.BeginWalk(a.ctx, ledger.WalkStart{ID: a.id(), Backend: "attic", GiveUp: time.Hour}))
		}},
		{name: "DoubtClock", changes: "clock", run: func(a *act) (any, error) { return wrap(a.db.DoubtClock(a.ctx, "disk", "ahead")) }},
		{name: "DoubtClock of the attic", changes: "backend attic", run: func(a *act) (any, error) { return wrap(a.db.DoubtClock(a.ctx, "attic", "ahead")) }},
	}
}

func buckets() []action {
	return []action{
		{name: "CreateBucket", changes: "bucket new", run: func(a *act) (any, error) {
			return wrap(a.db.CreateBucket(a.ctx, ledger.Bucket{Name: "new", Owner: owner, Most: 8}))
		}},
		{name: "CreateBucket as the last", changes: "bucket new", run: func(a *act) (any, error) {
			return wrap(a.db.CreateBucket(a.ctx, ledger.Bucket{Name: fmt.Sprint("last", a.slot), Owner: owner, Most: 7}))
		}},
		{name: "CreateBucket e", changes: "bucket e, bucket new", run: func(a *act) (any, error) {
			return wrap(a.db.CreateBucket(a.ctx, ledger.Bucket{Name: "e", Owner: owner}))
		}},
		{name: "ConfigureBucket b", changes: "bucket b", closes: true, run: func(a *act) (any, error) {
			return wrap(a.db.ConfigureBucket(a.ctx, "b", ledger.BucketSettings{Undo: time.Hour, QuotaObjects: 20}, nil))
		}},
		{name: "ConfigureBucket q", changes: "bucket q, room of q", closes: true, run: func(a *act) (any, error) {
			return wrap(a.db.ConfigureBucket(a.ctx, "q", ledger.BucketSettings{QuotaObjects: 1}, nil))
		}},
		{name: "SetBucketOwner", changes: "bucket b, bucket new", run: func(a *act) (any, error) { return none(a.db.SetBucketOwner(a.ctx, "b", "another")) }},
		{name: "DeleteBucket", changes: "bucket e, key e, uploads of e, nameless, bucket new", closes: true, run: func(a *act) (any, error) { return none(a.db.DeleteBucket(a.ctx, "e", "")) }},
		{name: "PutDocument", changes: "bucket b, documents", run: func(a *act) (any, error) {
			return none(a.db.PutDocument(a.ctx, ledger.Document{Bucket: "b", Kind: "policy", Body: []byte(fmt.Sprint(a.slot))}))
		}},
		{name: "PutDocument in e", changes: "bucket e", run: func(a *act) (any, error) {
			return none(a.db.PutDocument(a.ctx, ledger.Document{Bucket: "e", Kind: "policy", Body: []byte("x")}))
		}},
		{name: "SetNotifications of e", changes: "bucket e", run: func(a *act) (any, error) {
			return none(a.db.SetNotifications(a.ctx, ledger.NotificationChange{Bucket: "e", Rules: notification.Rules{
				{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*"}},
			}}))
		}},
		{name: "DeleteDocument", changes: "bucket b, documents", run: func(a *act) (any, error) {
			return none(a.db.DeleteDocument(a.ctx, ledger.Document{Bucket: "b", Kind: "policy"}))
		}},
		{name: "SaveUsage of e", changes: "bucket e, usages", run: func(a *act) (any, error) {
			return none(a.db.SaveUsage(a.ctx, ledger.UsageRecord{Bucket: a.f.empty, TakenAt: a.f.now + lethe.Time(a.slot), Document: []byte("x")}, time.Hour))
		}},
		{name: "AddHold on b", changes: "bucket b", closes: true, run: func(a *act) (any, error) {
			return wrap(a.db.AddHold(a.ctx, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, By: "x"}))
		}},
		{name: "AddHold on r", changes: "bucket r", closes: true, run: func(a *act) (any, error) {
			return wrap(a.db.AddHold(a.ctx, ledger.Hold{Bucket: "r", Scope: ledger.HoldObject, Key: "tmp/x", By: "x"}))
		}},
		{name: "AddHold on u", changes: "bucket u", closes: true, run: func(a *act) (any, error) {
			return wrap(a.db.AddHold(a.ctx, ledger.Hold{Bucket: "u", Scope: ledger.HoldPrefix, By: "x"}))
		}},
		{name: "ReleaseHold", changes: "bucket b, deferred", run: func(a *act) (any, error) {
			return none(a.db.ReleaseHold(a.ctx, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Key: "h/"}))
		}},
		{name: "ReturnDeferred", passes: true, changes: "deferred", reads: "bucket b, limits", run: func(a *act) (any, error) {
			u, err := a.db.ReturnDeferred(a.ctx, 100)
			return append(slices.Repeat([]string{"seen"}, u.Seen), slices.Repeat([]string{"returned"}, u.Returned)...), err
		}},
	}
}

func rules() []action {
	set := func(rs ...lifecycle.Rule) func(*act) (any, error) {
		return func(a *act) (any, error) {
			return wrap(a.db.SetRules(a.ctx, ledger.RulesChange{Bucket: "r", Rules: rs, By: "operator"}))
		}
	}
	return []action{
		{name: "SetRules to none", changes: "bucket r, reapply", closes: true, run: set()},
		{name: "SetRules to others", changes: "bucket r, reapply", closes: true, run: set(lifecycle.Rule{ID: "tmp", Prefix: "tmp/", Days: 300})},
		{name: "ReapplyRules", changes: "key tmp/x, key log/y, reapply", reads: "bucket r", run: func(a *act) (any, error) { return wrap(a.db.ReapplyRules(a.ctx, 1)) }},
		{name: "AllowBeyondLimit", changes: "limits", run: func(a *act) (any, error) {
			return none(a.db.AllowBeyondLimit(a.ctx, ledger.Allowance{Kind: ledger.LimitPurge, Until: a.f.now.Add(time.Hour), N: 1}))
		}},
		// A forecast: it counts what is due, and then what there is, and what goes in between
		// may make it stop what would just have been within its limit. So the objects that
		// it counts are not among what it reads.
		{name: "PrecheckLimits", changes: "limits, stopped", reads: "bucket b, bucket r", run: func(a *act) (any, error) {
			l := ledger.Limit{Share: 1}
			return wrap(a.db.PrecheckLimits(a.ctx, ledger.Limits{TTL: l, Rules: l}))
		}},
		{name: "EndTrips", changes: "limits", run: func(a *act) (any, error) { return wrap(a.db.EndTrips(a.ctx, ledger.Limits{})) }},
		{name: "Purge within limits", passes: true, changes: "limits, trash, content bin", reads: "bucket u", run: func(a *act) (any, error) {
			r, err := a.db.Purge(a.ctx, ledger.Batch{Limit: 100, Limits: ledger.Limits{Purge: ledger.Limit{Ask: 9}}})
			return took(r), err
		}},
	}
}

// walks are those of reconcile, and runs of routines.
func walks() []action {
	return []action{
		{name: "BeginWalk", changes: "walk of the tape", reads: "backend tape", run: func(a *act) (any, error) {
			return wrap(a.db.BeginWalk(a.ctx, ledger.WalkStart{ID: a.id(), Backend: "tape", GiveUp: time.Second}))
		}},
		{name: "SaveWalk", changes: "walk of the tape", run: func(a *act) (any, error) {
			return none(a.db.SaveWalk(a.ctx, ledger.WalkStep{ID: a.f.tapeWalk.ID, To: lethe.ID("p"), Counts: map[string]int64{"x": 1}}))
		}},
		{name: "Sight", changes: "walk of the tape", run: func(a *act) (any, error) {
			return wrap(a.db.Sight(a.ctx, ledger.Sighting{Walk: a.f.tapeWalk.ID, Findings: []ledger.Finding{{Key: "f", Kind: ledger.FoundForeign}}}))
		}},
		{name: "FinishWalk of the tape", changes: "walk of the tape", run: func(a *act) (any, error) {
			return wrap(a.db.FinishWalk(a.ctx, ledger.WalkEnd{ID: a.f.tapeWalk.ID, Outcome: "ok"}))
		}},
		{name: "Sight the orphan as foreign", changes: "walk of the disk", run: func(a *act) (any, error) {
			return wrap(a.db.Sight(a.ctx, ledger.Sighting{Walk: a.f.walk.ID, Findings: []ledger.Finding{{Key: a.f.orphan, Kind: ledger.FoundForeign}}}))
		}},
		{name: "FinishWalk", changes: "walk of the disk", run: func(a *act) (any, error) {
			return wrap(a.db.FinishWalk(a.ctx, ledger.WalkEnd{ID: a.f.walk.ID, Outcome: "ok"}))
		}},
		{name: "CondemnOrphans", changes: "walk of the disk, condemned", reads: "backend disk, clock", run: func(a *act) (any, error) {
			return wrap(a.db.CondemnOrphans(a.ctx, ledger.OrphanRequest{Walk: a.f.walk.ID, Backend: "disk", Epoch: a.f.epoch, Grace: time.Hour, Limit: 10}))
		}},
		{name: "TakeOrphan", eager: lost, changes: "walk of the disk, content lost", reads: "backend disk, clock", run: func(a *act) (any, error) {
			orphan, _ := lethe.ParseBlobKey(a.f.store, a.f.orphan)
			return wrap(a.db.TakeOrphan(a.ctx, ledger.Found{
				Lost: a.f.lost.ID, Orphan: orphan, Backend: "disk", Epoch: a.f.epoch, Size: a.f.lost.Size, Digest: a.f.lost.Digest,
			}))
		}},
		{name: "StartRun", changes: "runs", run: func(a *act) (any, error) {
			return none(a.db.StartRun(a.ctx, ledger.Run{ID: a.id(), Routine: "verify", Worker: "w"}))
		}},
		{name: "BeatRun", changes: "runs", run: func(a *act) (any, error) { return none(a.db.BeatRun(a.ctx, a.f.run, nil)) }},
		{name: "FinishRun", changes: "runs", run: func(a *act) (any, error) { return none(a.db.FinishRun(a.ctx, a.f.run, "ok", nil)) }},
		{name: "InterruptRuns", changes: "runs", run: func(a *act) (any, error) { return wrap(a.db.InterruptRuns(a.ctx, "w")) }},
		{name: "BeginRun", changes: "runs", run: func(a *act) (any, error) {
			return wrap(a.db.BeginRun(a.ctx, ledger.Solo{Run: ledger.Run{ID: a.id(), Routine: "reconcile", Worker: fmt.Sprint(a.slot)}, Stale: time.Hour}))
		}},
		{name: "EndStaleRuns", changes: "runs", run: func(a *act) (any, error) { return wrap(a.db.EndStaleRuns(a.ctx, time.Hour)) }},
	}
}

// lists are what stands for itself.
func lists() []action {
	return []action{
		{name: "SealReceipts", changes: "receipts", run: func(a *act) (any, error) { return none(a.db.SealReceipts(a.ctx, a.f.segment)) }},
		{name: "DropReceipts", changes: "receipts", run: func(a *act) (any, error) { return wrap(a.db.DropReceipts(a.ctx, 0, 10)) }},
		{name: "AddAccessKey", changes: "keys", run: func(a *act) (any, error) {
			return wrap(a.db.AddAccessKey(a.ctx, ledger.AccessKey{ID: "another", Secret: fmt.Sprint(a.slot)}))
		}},
		{name: "SetKeyTTL", changes: "keys", run: func(a *act) (any, error) {
			return wrap(a.db.SetKeyTTL(a.ctx, ledger.KeyTTLChange{Key: "key", Max: new(time.Duration(1+a.slot) * time.Hour)}))
		}},
		{name: "RemoveAccessKey", changes: "keys", run: func(a *act) (any, error) { return none(a.db.RemoveAccessKey(a.ctx, "key")) }},
		{name: "AddAdminToken", changes: "tokens", run: func(a *act) (any, error) {
			return wrap(a.db.AddAdminToken(a.ctx, ledger.AdminToken{ID: fmt.Sprint(a.slot), Name: "another", Role: "viewer", Hash: "h"}, 0))
		}},
		{name: "RemoveAdminToken", changes: "tokens", run: func(a *act) (any, error) { return none(a.db.RemoveAdminToken(a.ctx, "token")) }},
		{name: "BeatInstance", changes: "instances", run: func(a *act) (any, error) {
			return none(a.db.BeatInstance(a.ctx, "i", ledger.InstanceInfo{PID: a.slot}))
		}},
		{name: "AskInstances", changes: "instances", run: func(a *act) (any, error) { return wrap(a.db.AskInstances(a.ctx, "another", time.Hour)) }},
		{name: "RemoveInstance", changes: "instances", run: func(a *act) (any, error) { return none(a.db.RemoveInstance(a.ctx, "i")) }},
		{name: "ShareSecret", changes: "secrets", run: func(a *act) (any, error) { return wrap(a.db.ShareSecret(a.ctx, "s", fmt.Sprint(a.slot))) }},
	}
}
