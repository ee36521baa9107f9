package sqlledger

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

func TestExplainKey(t *testing.T) {
	l := newLedger(t)
	l.undo()
	first := l.putTTL("k", "d", 0).Object
	l.clock.Advance(time.Second)
	second := l.putTTL("k", "e", time.Minute).Object
	l.clock.Advance(time.Hour)
	f, err := l.ExplainKey(l.ctx, "b", "k")
	l.ok(err)
	if f.Object == nil || f.Object.ID != second.ID || f.Object.Bucket != "b" || f.Now != l.now() {
		t.Errorf("an object past its time is still explained: %+v", f)
	}
	if len(f.Trash) != 1 || f.Trash[0].Object.ID != first.ID {
		t.Errorf("trash %+v", f.Trash)
	}
	if len(f.Ops) != 2 || f.Ops[0].Op != first.ID || f.Ops[1].Op != second.ID || f.Ops[0].What != "put" {
		t.Errorf("ops %+v", f.Ops)
	}
	for _, where := range [][2]string{{"b", "other"}, {"nowhere", "k"}} {
		if f, err := l.ExplainKey(l.ctx, where[0], where[1]); err != nil || f.Object != nil || len(f.Trash) != 0 {
			t.Errorf("%v: %+v, %v", where, f, err)
		}
	}
}

// Events of the key that wait, and its dead letters, up to a bound of each.
func TestExplainKeyOfEvents(t *testing.T) {
	l := newLedger(t)
	l.ok(l.SetNotifications(l.ctx, ledger.NotificationChange{Bucket: "b", Rules: notification.Rules{{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*"}}}}))
	l.putTTL("other", "d", 0)
	for i := range 2 * maxKeyEvents {
		l.putTTL("k", fmt.Sprint("d", i), 0)
	}
	c, err := l.ClaimEvents(l.ctx, ledger.EventClaim{Target: "app", Worker: "w", Limit: 3, Lease: time.Minute})
	l.ok(err)
	s := ledger.EventSettlement{Target: "app", Fence: c.Fence}
	for _, e := range c.Events {
		s.Results = append(s.Results, ledger.EventResult{No: e.No, Outcome: ledger.EventDead, Error: "it answered 400"})
	}
	_, err = l.SettleEvents(l.ctx, s)
	l.ok(err)
	f, err := l.ExplainKey(l.ctx, "b", "k")
	l.ok(err)
	if len(f.Events) != maxKeyEvents+2 || f.Events[0].Dead || f.Events[0].No != 4 || !f.Events[maxKeyEvents].Dead || f.Events[maxKeyEvents].Key != "k" {
		t.Errorf("%d events: %+v", len(f.Events), f.Events)
	}
	if f, err := l.ExplainKey(l.ctx, "nowhere", "k"); err != nil || len(f.Events) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// What is read in one snapshot is of one instant, whatever is committed meanwhile.
func TestOneSnapshot(t *testing.T) {
	// In a file: writers of a ledger in memory wait for readers.
	clock := newTestClock()
	db := openTest(t, filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{Clock: clock})
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: t.Context(), clock: clock}
	first := l.putTTL("k", "d", 0).Object
	for range 2 {
		l.ok(l.OneSnapshot(l.ctx, func(ctx context.Context) error {
			before, err := l.ExplainKey(ctx, "b", "k")
			if err != nil {
				return err
			}
			l.remove("k")
			after, err := l.ExplainKey(ctx, "b", "k")
			if err != nil {
				return err
			}
			_, err = l.ContentByID(ctx, first.ContentID)
			if before.Object == nil || after.Object == nil || after.Object.ID != before.Object.ID || err != nil {
				t.Errorf("before %+v, after %+v, content: %v", before.Object, after.Object, err)
			}
			return nil
		}))
		if f, err := l.ExplainKey(l.ctx, "b", "k"); err != nil || f.Object != nil {
			t.Errorf("outside of it: %+v, %v", f.Object, err)
		}
		first = l.putTTL("k", "e", 0).Object
	}
}

func TestExplainContent(t *testing.T) {
	l := newLedger(t)
	l.undo()
	id := l.putTTL("a", "d", 0).Object.ContentID
	l.putTTL("b", "d", 0)
	l.remove("b")
	c, err := l.ContentByID(l.ctx, id)
	l.ok(err)
	if c.ID != id || c.Refs != 2 || c.Digest != "d" || c.Domain != "alice" || c.Kind != lethe.Whole || c.Size != 100 || c.Closed {
		t.Errorf("content %+v", c)
	}
	l.putTTL("c", "d", 0)
	l.putTTL("e", "d", 0)
	l.remove("e")
	var list []ledger.Sharer
	q := ledger.SharerQuery{Content: id, Limit: 1}
	for {
		page, err := l.Sharers(l.ctx, q)
		l.ok(err)
		if len(page) == 0 {
			break
		}
		list, q.After = append(list, page...), page[0]
		if len(page) != 1 || len(list) > 4 || page[0].ID == "" {
			t.Fatalf("sharers %+v, %+v", page, list)
		}
	}
	var names []string
	for _, s := range list {
		names = append(names, fmt.Sprint(s.Bucket, "/", s.Key, " ", s.Trash))
	}
	if len(names) == 4 { // their order is that of their ids, objects first
		slices.Sort(names[:2])
		slices.Sort(names[2:])
	}
	if want := []string{"b/a false", "b/c false", "b/b true", "b/e true"}; !slices.Equal(names, want) {
		t.Errorf("sharers %q, want %q", names, want)
	}
	_, err = l.ContentByID(l.ctx, l.id())
	l.refused(err, lethe.ErrContentGone)
}
