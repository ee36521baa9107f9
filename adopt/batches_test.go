package adopt_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// counted counts the transactions and remote calls of whole batches.
type counted struct {
	*memadopt.DB
	calls []string
}

func (c *counted) Settle(ctx context.Context, claim adopt.Claim, again time.Duration) (adopt.Settled, error) {
	c.calls = append(c.calls, fmt.Sprint("settle ", len(claim.Rows)))
	return c.DB.Settle(ctx, claim, again)
}

func (c *counted) Claim(ctx context.Context, limit int) (adopt.Claim, error) {
	claim, err := c.DB.Claim(ctx, limit)
	c.calls = append(c.calls, fmt.Sprint("claim ", len(claim.Rows)))
	return claim, err
}

func (c *counted) Mark(ctx context.Context, r adopt.MarkRequest) (adopt.Marked, error) {
	m, err := c.DB.Mark(ctx, r)
	c.calls = append(c.calls, fmt.Sprint("mark ", len(m.Contents)))
	return m, err
}

func (c *counted) Confirm(ctx context.Context, fence int64, o []adopt.Outcome, g adopt.Grace) (adopt.Confirmed, error) {
	c.calls = append(c.calls, fmt.Sprint("confirm ", len(o)))
	return c.DB.Confirm(ctx, fence, o, g)
}

func (c *counted) Drop(_ context.Context, keys []string) error {
	c.calls = append(c.calls, fmt.Sprint("drop ", len(keys)))
	return nil
}

func (c *counted) Delete(_ context.Context, keys []string) ([]blob.Result, error) {
	c.calls = append(c.calls, fmt.Sprint("delete ", len(keys)))
	out := make([]blob.Result, len(keys))
	for i, k := range keys {
		out[i].Key = k
	}
	return out, nil
}

// pass runs a routine until nothing is due, and returns its calls.
func (c *counted) pass(t *testing.T, step func(context.Context, func(string, int64)) (bool, error)) string {
	t.Helper()
	c.calls = nil
	for more, err := true, error(nil); more; {
		if more, err = step(t.Context(), func(string, int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(c.calls)
}

// A batch of rows is two transactions and one command to the cache, a batch of
// objects two transactions and one request.
func TestABatchIsOneRoundTrip(t *testing.T) {
	const batch = 1000
	clock := clocktest.New()
	c := &counted{DB: memadopt.New(memadopt.Options{
		Clock: clock, Grace: adopt.DefaultGrace, Copies: func(r memadopt.Row) []string { return []string{"paste:" + r.Key} },
	})}
	for i := range batch + 1 {
		key := fmt.Sprint(i)
		if err := c.Create(key, memadopt.Content{Key: key, Object: "content/" + key}, 1); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(time.Second)
	expire := &adopt.Expire{Records: c, Copies: c, Grace: adopt.DefaultGrace, Batch: batch}
	if got := c.pass(t, expire.Pass("")); got != "[claim 1000 drop 1000 settle 1000 claim 1 drop 1 settle 1]" {
		t.Errorf("rows went by %s", got)
	}
	clock.Advance(adopt.DefaultGrace.Unreferenced)
	clean := &adopt.Clean{Contents: c, Bucket: c, Grace: adopt.DefaultGrace, Batch: batch, Boot: clock}
	if got := c.pass(t, clean.Pass("")); got != "[mark 1000 delete 1000 confirm 1000 mark 1 delete 1 confirm 1]" {
		t.Errorf("objects went by %s", got)
	}
}
