package service

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// maxGauges bounds the buckets that have metrics of their own.
	maxGauges = 50
	// briefsFresh is how long the routine's counts are reused, which it makes a few times a
	// day.
	briefsFresh = 10 * time.Minute
)

// bucketGauges is the cache of BucketGauges.
type bucketGauges struct {
	mu           sync.Mutex
	at, briefsAt lethe.Time // by the stopwatch
	list         []api.BucketUsage
	briefs       map[string]earlier
}

// BucketGauges returns what the largest buckets store, and as the last one, without a name,
// what the others do. It reads the counters of buckets, at most once a minute, and the last
// counts of the routine usage; it counts nothing.
func (s *Service) BucketGauges(ctx context.Context) ([]api.BucketUsage, error) {
	g := &s.gauges
	g.mu.Lock()
	defer g.mu.Unlock()
	now := s.o.Stopwatch.Now()
	if g.at != 0 && now.Sub(g.at) < statusFresh {
		return g.list, nil
	}
	if g.briefsAt == 0 || now.Sub(g.briefsAt) >= briefsFresh {
		list, err := s.briefs(ctx, lethe.Forever)
		if err != nil {
			return nil, err
		}
		g.briefs, g.briefsAt = list, now
	}
	var all []api.BucketUsage
	if err := s.eachBucket(ctx, func(b ledger.Bucket) error {
		last := g.briefs[b.Name]
		one := api.BucketUsage{Bucket: b.Name, UsageTotals: totalsOf(last.Totals), Soon: api.Amount(last.Soon)}
		one.At, one.Amount = toTime(last.at), api.Amount{Objects: b.Objects, Bytes: b.Bytes}
		all = append(all, one)
		return nil
	}); err != nil {
		return nil, err
	}
	g.list, g.at = largest(all), now
	return g.list, nil
}

// largest returns the largest buckets, and one without a name for the others.
func largest(all []api.BucketUsage) []api.BucketUsage {
	slices.SortFunc(all, func(a, b api.BucketUsage) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Bucket, b.Bucket))
	})
	if len(all) <= maxGauges {
		return all
	}
	var rest api.BucketUsage
	for _, b := range all[maxGauges:] {
		sumAmount(&rest.Amount, b.Amount)
		sumAmount(&rest.WithoutEnd, b.WithoutEnd)
		sumAmount(&rest.Soon, b.Soon)
		rest.StoredBytes += b.StoredBytes
	}
	return append(all[:maxGauges:maxGauges], rest)
}

func sumAmount(to *api.Amount, a api.Amount) {
	to.Objects += a.Objects
	to.Bytes += a.Bytes
}
