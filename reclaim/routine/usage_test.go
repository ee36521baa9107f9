package routine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// usageCalls is a ledger that fails on a bucket, and records which were counted.
type usageCalls struct {
	*memledger.DB
	fails string
	saved string
}

var errCut = errors.New("cut off")

func (c *usageCalls) UsageTrash(ctx context.Context, q ledger.UsageQuery) ([]ledger.TrashUse, error) {
	switch {
	case q.Bucket == c.fails:
		return nil, errCut
	case q.Bucket == "gone":
		if err := c.DeleteBucket(ctx, "gone", ""); err != nil {
			return nil, err
		}
	}
	return c.DB.UsageTrash(ctx, q)
}

func (c *usageCalls) SaveUsage(ctx context.Context, r ledger.UsageRecord, keep time.Duration) error {
	err := c.DB.SaveUsage(ctx, r, keep)
	list, _ := c.Buckets(ctx, ledger.BucketQuery{})
	for _, b := range list {
		if b.ID == r.Bucket {
			c.saved += b.Name + ";"
		}
	}
	return err
}

// A pass counts every bucket once; one that was deleted meanwhile is left out. After a pass
// that was cut off the next one begins with the bucket that it did not finish.
func TestUsagePasses(t *testing.T) {
	c := &usageCalls{DB: memledger.New(ledger.Options{})}
	for _, name := range []string{"a", "b", "c", "gone"} {
		if _, err := c.CreateBucket(t.Context(), ledger.Bucket{Name: name, Owner: "o"}); err != nil {
			t.Fatal(err)
		}
	}
	u := &routine.Usage{Ledger: c, Limit: 10}
	pass := func() (*reclaim.Counts, error) {
		c.saved = ""
		counts, step := &reclaim.Counts{}, u.Pass("w")
		for more := true; more; {
			var err error
			if more, err = step(t.Context(), counts.Add); err != nil {
				return counts, err
			}
		}
		return counts, nil
	}
	counts, err := pass()
	if err != nil || c.saved != "a;b;c;" || counts.Get("buckets") != 3 {
		t.Errorf("counted %s: %v, %v", c.saved, counts.Map(), err)
	}
	c.fails = "b"
	if _, err := pass(); !errors.Is(err, errCut) || c.saved != "a;" {
		t.Errorf("cut off after %s: %v", c.saved, err)
	}
	c.fails = ""
	for _, want := range []string{"b;c;a;", "a;b;c;"} {
		if _, err := pass(); err != nil || c.saved != want {
			t.Errorf("counted %s, want %s: %v", c.saved, want, err)
		}
	}
	list, err := c.UsageRecords(t.Context(), ledger.UsageRecordQuery{UpTo: lethe.Forever, Document: true})
	if err != nil || len(list) != 3 || len(list[0].Document) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
