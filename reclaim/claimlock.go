package reclaim

import "context"

// ClaimLock runs a claim while, if possible, no other claim of that name runs. It
// returns the claim's error, or that of a ctx that ended during the wait. Claims
// are disjoint without it: it only avoids contention. Nil runs each claim at once.
type ClaimLock func(ctx context.Context, name string, claim func(context.Context) error) error

// locked runs a claim under a lock.
func locked[Q, R any](l ClaimLock, name string, claim func(context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	if l == nil {
		return claim
	}
	return func(ctx context.Context, q Q) (r R, err error) {
		err = l(ctx, name, func(ctx context.Context) error {
			r, err = claim(ctx, q)
			return err
		})
		return r, err
	}
}
