package reclaim

import (
	"context"
	"errors"
	"sync"
)

// rounds is how many batches per place in flight one step takes. A higher number
// hides that the places run empty at its end.
const rounds = 8

// overlap keeps n batches of a backend in flight: some are deleted while others are
// claimed and settled, so that neither backend nor ledger waits for the other. It
// returns when all that it claimed is settled.
func (k *Clean) overlap(ctx context.Context, q *queue, n int, c *Counts) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, err)
		}
	}
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0
	}
	places := make(chan struct{}, n)
	for i := 0; !q.empty && i < n*rounds && ctx.Err() == nil && !failed(); i++ {
		places <- struct{}{}
		b, err := k.next(ctx, q, c)
		if note(err); len(b.Blobs) == 0 {
			<-places
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			note(k.finish(ctx, q.request.Backend, b, c))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
