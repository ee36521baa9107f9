package reclaim

import "context"

// ClaimLock runs a claim, and as far as it can no other claim of that name at the same
// time. It returns the claim's error, or that of a ctx that ended while it waited. Claims
// are disjoint without it: it spares contention. Nil runs each claim at once.
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
