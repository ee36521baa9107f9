package service_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
)

// A default end that would be longer than the longest is refused, whichever of both is changed.
func TestDefaultsAreWithinTheLongest(t *testing.T) {
	set := bucketSetter(t)
	long, short := "30d", "7d"
	for says, refused := range map[string][2]api.BucketChange{
		"default_ttl, 30d, would be longer than max_ttl, 7d":   {{MaxTTL: &short}, {DefaultTTL: &long}},
		"default_idle, 30d, would be longer than max_idle, 7d": {{DefaultIdle: &long}, {MaxIdle: &short}},
	} {
		if _, err := set(refused[0]); err != nil {
			t.Errorf("%s: alone: %v", says, err)
		}
		if _, err := set(refused[1]); !errors.Is(err, api.ErrBadRequest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
	b, err := set(api.BucketChange{DefaultTTL: &short, MaxTTL: &short, DefaultIdle: &short, MaxIdle: &long})
	if err != nil || b.DefaultTTL != "7d" || b.MaxTTL != "7d" || b.DefaultIdle != "7d" || b.MaxIdle != "30d" {
		t.Errorf("%+v, %v", b, err)
	}
}

// Of two changes of a bucket at the same time none undoes the other.
func TestChangesOfABucketMeet(t *testing.T) {
	undo, quota := "7d", int64(9)
	var other func() // another change, once this one has read the settings
	set := bucketSetter(t, func(of *object.Ledger) { of.Buckets = readFirst{of.Buckets, func() { other() }} })
	other = func() {
		other = func() {}
		if _, err := set(api.BucketChange{Undo: &undo}); err != nil {
			t.Error(err)
		}
	}
	if b, err := set(api.BucketChange{QuotaObjects: &quota}); err != nil || b.Undo != undo || b.QuotaObjects != quota {
		t.Errorf("%+v, %v; want both changes", b, err)
	}
}

// readFirst is a ledger of buckets where something happens after each read of a bucket.
type readFirst struct {
	object.BucketLedger
	then func()
}

func (r readFirst) Bucket(ctx context.Context, name string) (ledger.Bucket, error) {
	b, err := r.BucketLedger.Bucket(ctx, name)
	r.then()
	return b, err
}

// bucketSetter returns what changes settings of a bucket, over a ledger that the functions change.
func bucketSetter(t *testing.T, over ...func(*object.Ledger)) func(api.BucketChange) (api.Bucket, error) {
	t.Helper()
	c := newCounting(t)
	c.fill("small", "a/", 1, 0)
	of := ledgertest.ForObjects(c.db)
	for _, change := range over {
		change(&of)
	}
	objects, err := object.New(object.Options{Ledger: of, Backends: map[string]blob.Store{"main": memblob.New(memblob.Options{})}, StoreID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Options{Ledger: c.db, Objects: objects, Clock: c.clock, Audit: func(string, string, ...slog.Attr) {}})
	return func(b api.BucketChange) (api.Bucket, error) {
		b.Name = "small"
		return s.SetBucket(t.Context(), b)
	}
}

// Settings of eviction that cannot be are refused, with what to do, and change nothing.
func TestEvictionIsChecked(t *testing.T) {
	set := bucketSetter(t)
	evict, refuse, maybe, written, minus := "evict", "refuse", "maybe", "written", "-1h"
	quota, none, high, low, beyond := int64(1<<20), int64(0), 80, 70, 101
	refused := func(b api.BucketChange, says string) {
		t.Helper()
		if _, err := set(b); !errors.Is(err, api.ErrBadRequest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
	refused(api.BucketChange{WhenFull: &evict}, "without a quota is never full")
	refused(api.BucketChange{EvictHigh: &high}, "set when_full to evict as well")
	refused(api.BucketChange{WhenFull: &maybe}, "refuse or evict")
	b, err := set(api.BucketChange{WhenFull: &evict, QuotaBytes: &quota, EvictHigh: &high})
	if want := (api.Eviction{WhenFull: "evict", EvictOrder: "read", EvictHigh: 80, EvictLow: 80}); err != nil || b.Eviction != want {
		t.Errorf("%+v, %v, want %+v", b.Eviction, err, want)
	}
	refused(api.BucketChange{EvictLow: &beyond}, "not above the high one (80)")
	refused(api.BucketChange{EvictHigh: &beyond}, "at most 100")
	refused(api.BucketChange{EvictOrder: &maybe}, `not "maybe"`)
	refused(api.BucketChange{EvictMinAge: &minus}, "evict_min_age")
	refused(api.BucketChange{QuotaBytes: &none}, "without a quota is never full")
	refused(api.BucketChange{WhenFull: &refuse, EvictLow: &low}, "no order or marks")
	b, err = set(api.BucketChange{EvictOrder: &written, EvictLow: &low})
	if want := (api.Eviction{WhenFull: "evict", EvictOrder: "written", EvictHigh: 80, EvictLow: 70}); err != nil || b.Eviction != want {
		t.Errorf("%+v, %v, want %+v", b.Eviction, err, want)
	}
	if b, err = set(api.BucketChange{WhenFull: &refuse}); err != nil || b.Eviction != (api.Eviction{WhenFull: "refuse"}) {
		t.Errorf("%+v, %v", b.Eviction, err)
	}
}

// An explanation says how much was used before an object in a bucket that evicts.
func TestExplainTellsThePlaceOfEviction(t *testing.T) {
	c := newCounting(t)
	set := ledger.BucketSettings{QuotaObjects: 9, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 95, Low: 90}}
	c.fill("full", "a/", 4, 0)
	if _, err := c.db.ConfigureBucket(t.Context(), "full", set, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.ReapplyRules(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(time.Second)
	page, err := c.db.NextEvicted(t.Context(), ledger.EvictQuery{Bucket: "full"})
	if err != nil || len(page) != 3 {
		t.Fatalf("%d, %v", len(page), err)
	}
	for i, says := range []string{"and no object as of an earlier time", "and 1 object of ", "and 2 objects of "} {
		e, err := c.Explain(t.Context(), api.ObjectName{Bucket: "full", Key: page[i].Key})
		if err != nil || e.Object.EarlierObjects != int64(i) || !strings.Contains(e.Verdict, says) {
			t.Errorf("%+v, %q, %v; want it to say %q", e.Object, e.Verdict, err, says)
		}
	}
}

// What a bucket would evict after a change is what the ledger will.
func TestBeyondQuota(t *testing.T) {
	b := api.Bucket{Objects: 10, Bytes: 10 << 10, QuotaBytes: 20 << 10, Eviction: api.Eviction{WhenFull: "refuse"}}
	evict, refuse, quota, less, objects, high, low := "evict", "refuse", int64(8<<10), int64(12<<10), int64(5), 40, 10
	for name, c := range map[string]struct {
		change api.BucketChange
		want   api.Amount
	}{
		"it refuses":               {api.BucketChange{QuotaBytes: &quota}, api.Amount{}},
		"it has room":              {api.BucketChange{WhenFull: &evict}, api.Amount{}},
		"the default marks":        {api.BucketChange{WhenFull: &evict, QuotaBytes: &quota}, api.Amount{Bytes: 10<<10 - 7372}},
		"below the high mark":      {api.BucketChange{WhenFull: &evict, QuotaBytes: &less}, api.Amount{}},
		"a high mark below":        {api.BucketChange{WhenFull: &evict, EvictHigh: &high}, api.Amount{Bytes: 2 << 10}},
		"a low mark":               {api.BucketChange{WhenFull: &evict, EvictHigh: &high, EvictLow: &low}, api.Amount{Bytes: 8 << 10}},
		"objects":                  {api.BucketChange{WhenFull: &evict, QuotaObjects: &objects}, api.Amount{Objects: 6}},
		"that it refuses from now": {api.BucketChange{WhenFull: &refuse, QuotaObjects: &objects}, api.Amount{}},
	} {
		if got := b.BeyondQuota(c.change); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
