package reclaim

import (
	"context"
	"errors"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// rounds is how many batches of each place in flight one step takes: the more, the
// less it matters that the places run empty at its end.
const rounds = 8

// overlap keeps n batches of a backend under way: while some are deleted, others
// are claimed and settled, so that neither backend nor ledger waits for the other.
// It returns when all that it claimed is settled.
func (k *Clean) overlap(ctx context.Context, r meta.ClaimRequest, n int, c *Counts) (more bool, last lethe.Time, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0
	}
	places := make(chan struct{}, n)
	more = true
	for batch := 0; more && batch < n*rounds && ctx.Err() == nil && !failed(); batch++ {
		places <- struct{}{}
		claimed, err := k.claim(ctx, r, c)
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
		if more = len(claimed.Blobs) >= r.Limit; len(claimed.Blobs) == 0 {
			more = false
			break
		}
		r.After = claimed.LastDue
		wg.Go(func() {
			defer func() { <-places }()
			if err := k.finish(ctx, r.Backend, claimed, c); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return more, r.After, errors.Join(errs...)
}
