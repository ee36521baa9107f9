package object_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// evicts makes the bucket evict beyond so many objects, down to half of them.
func (w *world) evicts(objects int64, change func(*ledger.BucketSettings)) {
	w.t.Helper()
	s := ledger.BucketSettings{QuotaObjects: objects, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 50}}
	if change != nil {
		change(&s)
	}
	_, err := w.db.ConfigureBucket(w.ctx, bucket, s, nil)
	w.must(err)
}

// keys lists what is there.
func (w *world) keys() string {
	w.t.Helper()
	list, err := w.List(w.ctx, ledger.ListQuery{Bucket: bucket, Limit: 100})
	w.must(err)
	var out []string
	for _, o := range list.Objects {
		out = append(out, o.Key)
	}
	return strings.Join(out, " ")
}

// fill stores objects a minute apart.
func (w *world) fill(keys ...string) {
	w.t.Helper()
	for _, k := range keys {
		w.put(k, "body of "+k)
		w.clock.Advance(2 * time.Minute)
	}
}

// A write into a full bucket takes the place of what was used longest ago. What was read just
// before, by the same process, stays, though its read was not noted yet.
func TestAWriteEvicts(t *testing.T) {
	var evicted int
	w := newWorld(t, func(o *object.Options) { o.Events.Evicted = func(r ledger.Reclaimed) { evicted += r.Objects } })
	w.evicts(4, nil)
	w.fill("a", "b", "c", "d")
	w.has("a", "body of a")
	w.put("e", "new")
	if got := w.keys(); got != "a d e" || evicted != 2 {
		t.Errorf("%d were evicted, and %s are left", evicted, got)
	}
}

// What a write replaces is not evicted for it, and a condition on it holds.
func TestAWriteSparesWhatItReplaces(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(9, func(s *ledger.BucketSettings) { s.QuotaBytes, s.Evict.Low = 40, 90 })
	w.fill("a", "b", "c", "d")
	o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "a"})
	w.must(err)
	longer := strings.Repeat("x", 20)
	_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "a", Body: strings.NewReader(longer), Size: 20, If: ledger.Precondition{IfMatch: o.ETag}})
	w.must(err)
	if got := w.keys(); got != "a d" && got != "a c d" {
		t.Errorf("left: %s", got)
	}
	w.has("a", longer)
}

// A write that no eviction makes room for is refused as in any full bucket, and says why.
func TestNothingCanBeEvicted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ledger.BucketSettings)
		size   int
		why    string
	}{
		"too young": {func(s *ledger.BucketSettings) { s.Evict.MinAge = time.Hour }, 1, "used too lately"},
		"too large": {func(s *ledger.BucketSettings) { s.QuotaObjects, s.QuotaBytes = 9, 40 }, 41, "may have 40 bytes"},
	} {
		w := newWorld(t, nil)
		w.evicts(2, c.change)
		w.fill("a", "b")
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "c", Body: strings.NewReader(strings.Repeat("x", c.size)), Size: int64(c.size)})
		if !errors.Is(err, lethe.ErrQuotaExceeded) || !strings.Contains(fmt.Sprint(err), c.why) || w.keys() != "a b" {
			t.Errorf("%s: %v; left: %s", name, err, w.keys())
		}
	}
}

// What a hold keeps is passed over, and the refusal names it.
func TestAWriteEvictsNothingHeld(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, nil)
	w.fill("a", "b")
	_, err := w.db.AddHold(w.ctx, ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: "a", Reason: "case 7"})
	w.must(err)
	w.put("c", "new")
	if got := w.keys(); got != "a c" {
		t.Errorf("left: %s", got)
	}
	_, err = w.db.AddHold(w.ctx, ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: "c", Reason: "case 8"})
	w.must(err)
	w.clock.Advance(time.Minute)
	_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "d", Body: strings.NewReader("x"), Size: 1})
	if !errors.Is(err, lethe.ErrQuotaExceeded) || !strings.Contains(fmt.Sprint(err), "holds keep 2 objects") {
		t.Error(err)
	}
}

// A write goes on until there is room, batch by batch, and gives up in time.
func TestAWriteEvictsInSteps(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Patience = time.Minute })
	w.evicts(450, func(s *ledger.BucketSettings) { s.QuotaBytes = 450 })
	for i := range 450 {
		w.put(fmt.Sprint("k", i), "1")
	}
	w.clock.Advance(time.Second)
	before := w.ledger.count("Evict")
	w.put("large", strings.Repeat("x", 440))
	if steps := w.ledger.count("Evict") - before; steps != 5 {
		t.Errorf("room for it took %d batches", steps)
	}
	w.clock.Advance(time.Second)
	w.ledger.fails("Evict", lostDone)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "again", Body: strings.NewReader(strings.Repeat("x", 440)), Size: 440})
	w.must(err) // an eviction whose outcome is unknown is tried again
}

// An object that replaces a smaller one and is larger than the quota never fits: nothing goes for it.
func TestNothingGoesForWhatNeverFits(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(9, func(s *ledger.BucketSettings) { s.QuotaBytes = 40 })
	w.fill("a", "b", "c")
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "a", Body: strings.NewReader(strings.Repeat("x", 41)), Size: 41})
	if !errors.Is(err, lethe.ErrQuotaExceeded) || w.keys() != "a b c" {
		t.Errorf("%v; left: %s", err, w.keys())
	}
}

// What a copy is made of is not evicted for it.
func TestACopySparesItsSource(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(3, func(s *ledger.BucketSettings) { s.Evict.Order, s.Evict.Low = ledger.EvictByWrite, 70 })
	w.fill("a", "b", "c")
	_, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "a", Bucket: bucket, Key: "d"})
	w.must(err)
	if got := w.keys(); got != "a c d" {
		t.Errorf("left: %s", got)
	}
	w.has("d", "body of a")
}

// Where holds keep too much, nothing goes for a write that is refused then.
func TestNothingGoesWhereHoldsKeepTooMuch(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(9, func(s *ledger.BucketSettings) { s.QuotaBytes = 40 })
	w.fill("a", "b", "c", "d")
	_, err := w.db.AddHold(w.ctx, ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: "d", Reason: "case 7"})
	w.must(err)
	_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "e", Body: strings.NewReader(strings.Repeat("x", 35)), Size: 35})
	if !errors.Is(err, lethe.ErrQuotaExceeded) || !strings.Contains(fmt.Sprint(err), "a hold keeps one object") || w.keys() != "a b c d" {
		t.Errorf("%v; left: %s", err, w.keys())
	}
}

// While the clock is in doubt, a write evicts nothing by a least age: it is refused, and says why.
func TestAWriteEvictsNothingByADoubtfulClock(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, func(s *ledger.BucketSettings) { s.Evict.MinAge = time.Hour })
	w.fill("a", "b")
	w.clock.Advance(5 * time.Hour)
	w.keys() // the ledger sees that time
	w.clock.Advance(-10 * time.Minute)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "c", Body: strings.NewReader("x"), Size: 1})
	if !errors.Is(err, lethe.ErrQuotaExceeded) || !strings.Contains(fmt.Sprint(err), "least age cannot be told") || w.keys() != "a b" {
		t.Errorf("%v; left: %s", err, w.keys())
	}
}

// A write waits a little longer each time while others are changing all that may go.
func TestAWriteWaitsForWhatIsInUse(t *testing.T) {
	var waits []time.Duration
	w := newWorld(t, func(o *object.Options) {
		sleep := o.Sleep
		o.Sleep = func(ctx context.Context, d time.Duration) error {
			waits = append(waits, d)
			return sleep(ctx, d)
		}
	})
	w.evicts(2, nil)
	w.fill("a", "b")
	w.ledger.busy = 3
	w.put("c", "new")
	if got := fmt.Sprint(waits); got != "[10ms 20ms 40ms]" || w.keys() != "b c" && w.keys() != "c" {
		t.Errorf("waited %s; left: %s", got, w.keys())
	}
	waits, w.ledger.busy = nil, 50
	w.clock.Advance(time.Minute)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "d", Body: strings.NewReader(strings.Repeat("x", 9)), Size: 9})
	if w.keys() == "b c" && (!errors.Is(err, lethe.ErrQuotaExceeded) || len(waits) > 9) {
		t.Errorf("%v after %d waits", err, len(waits))
	}
}

// Restoring into a full bucket makes room, as a write does.
func TestRestoringEvicts(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, func(s *ledger.BucketSettings) { s.Undo = time.Hour })
	w.fill("a")
	_, err := w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "a"}}})
	w.must(err)
	w.fill("b", "c")
	trash, err := w.Trash(w.ctx, ledger.TrashQuery{Bucket: bucket})
	w.must(err)
	_, err = w.Restore(w.ctx, trash[0].ID, false)
	w.must(err)
	if got := w.keys(); got != "a" && got != "a c" {
		t.Errorf("left: %s", got)
	}
	w.has("a", "body of a")
}
