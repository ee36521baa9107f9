package adopt

import (
	"context"
	"errors"
	"testing"
	"time"
)

// failing has one row; one of its steps fails.
type failing struct {
	Records
	settle   error
	released int
}

func (f *failing) Claim(context.Context, int) (Claim, error) {
	return Claim{At: 1, Rows: []Row{{Key: "a", Copies: []string{"copy of a"}}}}, nil
}

func (f *failing) Settle(context.Context, Claim, time.Duration) (Settled, error) {
	return Settled{}, f.settle
}

func (f *failing) Release(ctx context.Context, c Claim) (int, error) {
	f.released += len(c.Rows)
	return len(c.Rows), ctx.Err()
}

type brokenCache struct{ err error }

func (c brokenCache) Drop(context.Context, []string) error { return c.err }

// Rows that could not be settled are due again at once, even if the run was
// cancelled.
func TestExpireReleases(t *testing.T) {
	down := errors.New("down")
	for what, c := range map[string]struct{ cache, database error }{"the cache": {cache: down}, "the database": {database: down}} {
		f := &failing{settle: c.database}
		e := &Expire{Collection: "pastes", Records: f, Copies: brokenCache{c.cache}, Batch: 1}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		more, err := e.step(ctx, 1, func(string, int64) {})
		if more || !errors.Is(err, down) || errors.Is(err, context.Canceled) || f.released != 1 {
			t.Errorf("%s is down: more %v, %v, %d rows released", what, more, err, f.released)
		}
	}
}
