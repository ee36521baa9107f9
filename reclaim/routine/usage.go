package routine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// UsageLedger is what usage counts, and where it keeps the summaries.
type UsageLedger interface {
	usage.Reader
	// Buckets lists buckets by name.
	Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error)
	// SaveUsage records a count of a bucket as its newest, and thins the others:
	// ErrNoSuchBucket.
	SaveUsage(ctx context.Context, r ledger.UsageRecord, keep time.Duration) error
}

// usageKept is how long the briefs of summaries are kept, to show growth.
const usageKept = 35 * 24 * time.Hour

// Usage keeps a summary of what each bucket stores, by prefix, size, age and end, so that
// nobody has to read all its objects for a glance. It reads rows, a page in each step, and
// deletes nothing.
type Usage struct {
	Ledger     UsageLedger
	Limit      int // rows per step
	Safety     reclaim.Safety
	StaleOn    map[string]time.Duration // as of Uploads
	Controller *throttle.Controller     // decides how many rows a step reads

	mu sync.Mutex
	// left is where a pass that was cut off came to. The next one begins there.
	left usagePass
}

// usagePass is a pass over all buckets in order of name, from one to the one before it.
type usagePass struct {
	from    string // the pass began after this name
	after   string // the last bucket counted
	wrapped bool   // it has come to the last bucket, and went on with the first
	walk    *usage.Walk
	bucket  ledger.Bucket // of the walk
}

// Name returns "usage".
func (*Usage) Name() string { return "usage" }

// Plan returns nothing: there is no backlog.
func (*Usage) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass counts every bucket once, beginning with the one that the last pass did not finish.
func (u *Usage) Pass(string) reclaim.Step {
	u.mu.Lock()
	p := usagePass{from: u.left.after, after: u.left.after}
	u.mu.Unlock()
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		more, err := u.step(ctx, &p, add)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.left = p
		if err == nil && !more {
			u.left = usagePass{}
		}
		return more, err
	}
}

// step reads a page of a bucket, or finds the next bucket.
func (u *Usage) step(ctx context.Context, p *usagePass, add reclaim.Add) (bool, error) {
	if p.walk == nil {
		return u.next(ctx, p)
	}
	rows, more, err := p.walk.Step(ctx, u.Controller.Size(u.Limit))
	add(reclaim.Items, int64(rows))
	add("rows", int64(rows))
	if err == nil && !more {
		if err = u.save(ctx, p.bucket.ID, p.walk); err == nil {
			add("buckets", 1)
		}
	}
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		more, err = false, nil // it was deleted meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("reclaim: count what bucket %s stores: %w", p.bucket.Name, err)
	}
	if !more {
		p.after, p.walk = p.bucket.Name, nil
	}
	return true, nil
}

// next finds the next bucket, and reports whether there is one.
func (u *Usage) next(ctx context.Context, p *usagePass) (bool, error) {
	list, err := u.Ledger.Buckets(ctx, ledger.BucketQuery{After: p.after, Limit: 1})
	if err == nil && len(list) == 0 && !p.wrapped {
		p.after, p.wrapped = "", true
		return p.from != "", nil
	}
	if err != nil || len(list) == 0 || p.wrapped && list[0].Name > p.from {
		return false, err
	}
	p.bucket, p.walk = list[0], u.Walk(list[0].Name, "")
	return true, nil
}

// Walk returns a walk over what a bucket stores below a prefix.
func (u *Usage) Walk(bucket, prefix string) *usage.Walk {
	return &usage.Walk{Ledger: u.Ledger, Bucket: bucket, Prefix: prefix, Stale: ledger.Stale{Age: u.Safety.MultipartStale, On: u.StaleOn}}
}

func (u *Usage) save(ctx context.Context, bucket lethe.ID, w *usage.Walk) error {
	r, err := w.Summary().Record(bucket)
	if err != nil {
		return err
	}
	return u.Ledger.SaveUsage(ctx, r, usageKept)
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Usage) WhySafe() string { return "it counts, and deletes nothing" }
