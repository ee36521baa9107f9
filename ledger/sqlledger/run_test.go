package sqlledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// run records a pass of a routine that ended with the outcome.
func (l *fixture) run(routine, outcome string) lethe.ID {
	l.t.Helper()
	l.clock.Advance(time.Second)
	id := l.id()
	l.ok(l.StartRun(l.ctx, ledger.Run{ID: id, Routine: routine, Worker: "w"}))
	if outcome != "" {
		l.ok(l.FinishRun(l.ctx, id, outcome, map[string]int64{"items": 3}))
	}
	return id
}

func TestRuns(t *testing.T) {
	l := newLedger(t)
	good := l.run("expire", "ok")
	failed := l.run("expire", "failed: no")
	open := l.run("clean", "")
	began := l.now()
	l.clock.Advance(time.Second)
	l.ok(l.BeatRun(l.ctx, open, map[string]int64{"items": 1}))
	last, succeeded, err := l.LastRuns(l.ctx)
	l.ok(err)
	if len(last) != 2 || last["expire"].ID != failed || last["clean"].ID != open || len(succeeded) != 1 || succeeded["expire"].ID != good {
		t.Fatalf("last %+v, succeeded %+v", last, succeeded)
	}
	if r := last["clean"]; r.StartedAt != began || r.BeatAt != l.now() || r.FinishedAt != 0 || r.Counts["items"] != 1 || r.Worker != "w" {
		t.Errorf("open run %+v", r)
	}
	if r := succeeded["expire"]; r.Outcome != "ok" || r.FinishedAt == 0 || r.Counts["items"] != 3 {
		t.Errorf("finished run %+v", r)
	}
	n, err := l.InterruptRuns(l.ctx, "w")
	l.ok(err)
	if n != 1 {
		t.Errorf("interrupted %d", n)
	}
	l.refused(l.BeatRun(l.ctx, open, nil), lethe.ErrFenced)
	l.refused(l.FinishRun(l.ctx, open, "ok", nil), lethe.ErrFenced)
	last, _, err = l.LastRuns(l.ctx)
	l.ok(err)
	if r := last["clean"]; r.Outcome != "interrupted" || r.FinishedAt != l.now() {
		t.Errorf("interrupted run %+v", r)
	}
}

// TestPruneRuns: of each routine the newest finished runs stay, and its newest
// success however old.
func TestPruneRuns(t *testing.T) {
	l := newLedger(t)
	open := l.run("expire", "")
	good := l.run("expire", "ok")
	for range runsKept + 5 {
		l.run("expire", "failed: no")
	}
	l.run("clean", "ok")
	n, err := l.Prune(l.ctx, 3)
	l.ok(err)
	more, err := l.Prune(l.ctx, 10)
	l.ok(err)
	if n != 3 || more != 2 {
		t.Errorf("pruned %d, then %d", n, more)
	}
	if _, succeeded, err := l.LastRuns(l.ctx); err != nil || succeeded["expire"].ID != good || succeeded["clean"].ID == "" {
		t.Errorf("succeeded %+v, %v", succeeded, err)
	}
	l.ok(l.BeatRun(l.ctx, open, nil))
}

func TestDead(t *testing.T) {
	l := newLedger(t)
	var ids []lethe.ID
	for i := range 3 {
		b := l.condemnOne(fmt.Sprint("k", i))
		ids = append(ids, b.ID)
		l.settle(l.claim(1).Fence, ledger.SettleItem{ID: b.ID, Result: ledger.Failed, Error: "denied", Dead: true})
	}
	list, err := l.Dead(l.ctx, ledger.DeadQuery{Backend: "disk", Reason: lethe.ReasonDelete, After: ids[0], Limit: 1})
	l.ok(err)
	if len(list) != 1 || list[0].ID != ids[1] || list[0].LastError != "denied" {
		t.Errorf("dead %+v", list)
	}
	for _, q := range []ledger.DeadQuery{{Backend: "other"}, {Reason: lethe.ReasonExpiry}, {After: ids[2]}} {
		if list, err := l.Dead(l.ctx, q); err != nil || len(list) != 0 {
			t.Errorf("%+v: %+v, %v", q, list, err)
		}
	}
	n, err := l.Requeue(l.ctx, []lethe.ID{ids[0], ids[0], l.id()})
	l.ok(err)
	b, _ := l.blob(ids[0])
	if n != 1 || b.State != lethe.Condemned || b.Attempts != 0 || b.DueAt != l.now() || b.Reason != lethe.ReasonDelete || b.LastError == "" {
		t.Errorf("requeued %d, blob %+v", n, b)
	}
	if n, err = l.WriteOff(l.ctx, []lethe.ID{ids[0], ids[1]}); n != 1 || err != nil {
		t.Errorf("written off %d, %v", n, err)
	}
	if n, bytes := l.total(lethe.Dead); n != 1 || bytes != 100 {
		t.Errorf("dead %d, %d bytes", n, bytes)
	}
	if c := l.claim(10); len(c.Blobs) != 1 || c.Blobs[0].ID != ids[0] {
		t.Errorf("claimed %+v", c.Blobs)
	}
}

func TestMarks(t *testing.T) {
	l := newLedger(t)
	live := l.putTTL("k", "d", 0).Object
	gone := l.condemnOne("gone").ID
	blobs, err := l.ContentBlobs(l.ctx, live.ContentID)
	l.ok(err)
	id := blobs[0].ID
	n, err := l.MarkSuspect(l.ctx, []lethe.ID{id, gone, l.id()}, "not found")
	l.ok(err)
	if b, _ := l.blob(id); n != 1 || !b.Suspect || b.LastError != "not found" || b.VerifiedAt != 0 {
		t.Errorf("marked %d, blob %+v", n, b)
	}
	n, err = l.MarkSound(l.ctx, []lethe.ID{id}, 0)
	l.ok(err)
	if b, _ := l.blob(id); n != 1 || b.Suspect || b.LastError != "" || b.VerifiedAt != l.now() {
		t.Errorf("found sound %d, blob %+v", n, b)
	}
	for name, c := range map[string]struct {
		q    ledger.BlobQuery
		want int
	}{
		"all":       {ledger.BlobQuery{}, 2},
		"live":      {ledger.BlobQuery{States: []lethe.State{lethe.Live}}, 1},
		"two":       {ledger.BlobQuery{States: []lethe.State{lethe.Live, lethe.Condemned}}, 2},
		"limit":     {ledger.BlobQuery{Limit: 1}, 1},
		"elsewhere": {ledger.BlobQuery{Backend: "other"}, 0},
		"after":     {ledger.BlobQuery{After: max(id, gone)}, 0},
	} {
		if list, err := l.Blobs(l.ctx, c.q); err != nil || len(list) != c.want {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

func TestGuard(t *testing.T) {
	l := newLedger(t)
	b, err := l.AddBackend(l.ctx, ledger.Backend{ID: "disk", Quota: 5})
	l.ok(err)
	l.ok(l.SetEpoch(l.ctx, "disk", 3, 2))
	for _, e := range [][2]int64{{2, 2}, {3, 1}, {3, 4}} {
		l.refused(l.SetEpoch(l.ctx, "disk", e[0], e[1]), lethe.ErrFenced)
	}
	l.refused(l.SetEpoch(l.ctx, "nowhere", 1, 1), lethe.ErrBackendMismatch)
	l.ok(l.HoldBackend(l.ctx, "disk", "why"))
	l.refused(l.HoldBackend(l.ctx, "nowhere", "why"), lethe.ErrBackendMismatch)
	again, err := l.AddBackend(l.ctx, ledger.Backend{ID: "disk", Quota: 7, Epoch: 99, Held: ""})
	l.ok(err)
	want := ledger.Backend{ID: "disk", Quota: 7, Epoch: 2, Intended: 3, Held: "why", HeldFor: ledger.HeldByPerson, HeldSince: b.CreatedAt, CreatedAt: b.CreatedAt}
	if again != want {
		t.Errorf("backend %+v, want %+v", again, want)
	}
	if list, err := l.Backends(l.ctx); err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("backends %+v, %v", list, err)
	}
	if _, err := l.AddBackend(l.ctx, ledger.Backend{ID: "x", Quota: -1}); err == nil {
		t.Error("a negative quota was taken")
	}
	s, err := l.Identity(l.ctx)
	l.ok(err)
	if s.ID == "" || s.DB == "" || s.ID == s.DB || s.CreatedAt == 0 {
		t.Errorf("identity %+v", s)
	}
}

func TestAccessKeys(t *testing.T) {
	l := newLedger(t)
	k, err := l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "AK2", Secret: "s2", Buckets: []string{"b", "c"}, ReadOnly: true, Settings: true})
	l.ok(err)
	if k.Owner != "AK2" || k.CreatedAt != l.now() {
		t.Errorf("added %+v", k)
	}
	_, err = l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "AK1", Secret: "s1", Owner: "alice"})
	l.ok(err)
	_, err = l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "AK1", Secret: "other"})
	l.refused(err, lethe.ErrAccessKeyExists)
	if _, err = l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "AK3"}); err == nil {
		t.Error("a key without a secret was taken")
	}
	got, err := l.AccessKey(l.ctx, "AK2")
	l.ok(err)
	if got.Secret != "s2" || fmt.Sprint(got.Buckets) != "[b c]" || !got.ReadOnly || !got.Settings || got.CreatedAt != k.CreatedAt {
		t.Errorf("key %+v", got)
	}
	k, err = l.SetKeyTTL(l.ctx, ledger.KeyTTLChange{Key: "AK1", Default: new(time.Hour)})
	l.ok(err)
	k, err = l.SetKeyTTL(l.ctx, ledger.KeyTTLChange{Key: "AK1", Max: new(2 * time.Hour)}) // the other stays
	l.ok(err)
	if k.ID != "AK1" || k.Secret != "" || k.TTL() != (ledger.KeyTTL{Key: "AK1", Default: time.Hour, Max: 2 * time.Hour}) {
		t.Errorf("changed %+v", k)
	}
	_, err = l.SetKeyTTL(l.ctx, ledger.KeyTTLChange{Key: "nobody", Max: new(time.Hour)})
	l.refused(err, lethe.ErrNoSuchAccessKey)
	for _, bad := range []ledger.KeyTTLChange{{Key: "AK1", Max: new(time.Minute)}, {Key: "AK1", Max: new(time.Duration(-1000))}, {Key: "AK2", Default: new(time.Hour)}} {
		_, err = l.SetKeyTTL(l.ctx, bad)
		l.refused(err, lethe.ErrInvalidTTL)
	}
	list, err := l.AccessKeys(l.ctx)
	l.ok(err)
	if len(list) != 2 || list[0].ID != "AK1" || list[0].Secret != "" || len(list[0].Buckets) != 0 || list[0].MaxTTL != 2*time.Hour || list[1].TTL() != (ledger.KeyTTL{}) {
		t.Errorf("keys %+v", list)
	}
	l.ok(l.RemoveAccessKey(l.ctx, "AK1"))
	l.refused(l.RemoveAccessKey(l.ctx, "AK1"), lethe.ErrNoSuchAccessKey)
	_, err = l.AccessKey(l.ctx, "AK1")
	l.refused(err, lethe.ErrNoSuchAccessKey)
}

// TestRunThatEndedMeanwhile: a run that ends between another's look and its insert is
// noticed. If it succeeded the other does not begin, else it does.
func TestRunThatEndedMeanwhile(t *testing.T) {
	for outcome, begins := range map[string]bool{"ok": false, "failed": true} {
		t.Run(outcome, func(t *testing.T) {
			clock := newTestClock()
			db, ctx := openServerAt(t, servers.Postgres(t), ledger.Options{Clock: clock}), t.Context()
			tx, err := db.engine.Server.Runners[engine.Request].Pool.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }() // after Commit it does nothing
			// A read does not wait for this lock; an insert does.
			if _, err := tx.ExecContext(ctx, `LOCK TABLE runs IN SHARE MODE`); err != nil {
				t.Fatal(err)
			}
			asked := make(chan error, 1)
			go func() {
				run := ledger.Run{ID: lethe.RandomID(1), Routine: "verify", Worker: "slow"}
				b, err := db.BeginRun(context.WithoutCancel(ctx), ledger.Solo{Run: run, Stale: time.Hour})
				if err == nil && (b.OK != begins || !begins && (b.Other == nil || b.Other.Worker != "quick")) {
					err = fmt.Errorf("got %+v", b)
				}
				asked <- err
			}()
			awaitLock(t, db)
			clock.Advance(time.Second)
			ended := clock.Now()
			if _, err := tx.ExecContext(ctx, `INSERT INTO runs (id, routine, worker, started_at, beat_at, finished_at, outcome, counts, solo)
				VALUES ('quick', 'verify', 'quick', $1, $1, $1, $2, '{}', 1)`, ended, outcome); err != nil {
				t.Fatal(err)
			}
			clock.Advance(time.Second)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			last, _, err := db.LastRuns(ctx)
			if r := last["verify"]; err != nil || begins && (r.Worker != "slow" || r.StartedAt < ended) {
				t.Errorf("the last run is %+v, %v", r, err)
			}
		})
	}
}
