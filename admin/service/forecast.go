package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// Forecast returns what goes in the next days, by the rules in force. It counts the rows of
// small buckets; of others it reads the last count of the routine usage.
func (s *Service) Forecast(ctx context.Context, r api.ForecastRequest) (api.ForecastResult, error) {
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return api.ForecastResult{}, err
	}
	if r.Days <= 0 {
		r.Days = 30
	}
	if err := checkPrefix(r.Bucket, r.Prefix); r.Prefix != "" && err != nil {
		return api.ForecastResult{}, err
	}
	f := forecast{
		prefix: r.Prefix, service: s, budget: s.o.MaxCounted, now: now, days: map[lethe.Time]*forecastDay{}, buckets: map[string]ledger.Bucket{},
		until: lethe.FromTime(now.Time().Truncate(24 * time.Hour)).Add(time.Duration(min(r.Days, usage.Days)) * 24 * time.Hour),
		out:   api.ForecastResult{Now: toTime(now), UsageCount: api.UsageCount{Live: true}, Days: []api.ForecastDay{}},
	}
	if r.Bucket != "" {
		b, err := s.o.Ledger.Bucket(ctx, r.Bucket)
		if err == nil {
			err = f.bucket(ctx, b)
		}
		if err != nil {
			return f.out, err
		}
	} else if err := s.eachBucket(ctx, func(b ledger.Bucket) error {
		if err := f.bucket(ctx, b); !errors.Is(err, lethe.ErrNoSuchBucket) {
			return err
		}
		return nil // it was deleted meanwhile
	}); err != nil {
		return f.out, err
	}
	err = f.end(ctx)
	return f.out, err
}

// forecast adds up the calendars of buckets.
type forecast struct {
	service    *Service
	prefix     string // of the one bucket; empty: whole buckets
	budget     int
	now, until lethe.Time
	days       map[lethe.Time]*forecastDay
	buckets    map[string]ledger.Bucket
	out        api.ForecastResult
}

type forecastDay struct {
	api.ForecastDay
	at lethe.Time // 0: due already
}

// bucket adds a bucket.
func (f *forecast) bucket(ctx context.Context, b ledger.Bucket) error {
	sum, count, err := f.service.counted(ctx, b, f.prefix, &f.budget)
	switch {
	case err != nil:
		return err
	case f.prefix != "" && !count.Live:
		return fmt.Errorf("%w: s3://%s/%s has too many objects to count them now: forecast s3://%s, or a longer prefix", api.ErrBadRequest, b.Name, f.prefix, b.Name)
	}
	f.out.Partial = f.out.Partial || count.Partial
	if count.At.IsZero() {
		f.out.Uncounted = append(f.out.Uncounted, b.Name)
		return nil
	}
	if f.out.At.IsZero() || count.At.Before(f.out.At) {
		f.out.At = count.At
	}
	f.out.Live = f.out.Live && count.Live
	if !count.Live {
		rules, err := f.service.o.Ledger.Rules(ctx, b.Name)
		if err != nil {
			return err
		}
		if rules.Rules.Digest() != sum.Rules {
			f.out.Changed = append(f.out.Changed, b.Name)
		}
	}
	f.buckets[b.Name] = b
	addAmount(&f.out.Later, sum.Later)
	addAmount(&f.out.WithoutEnd, sum.WithoutEnd)
	today := lethe.FromTime(f.now.Time().Truncate(24 * time.Hour))
	for _, d := range sum.Due {
		switch {
		case d.Day >= f.until:
			addAmount(&f.out.Later, d.Amount)
		case d.Day == 0 || d.Day >= today: // a day that has passed since the count took its own
			f.add(b.Name, d)
		}
	}
	return nil
}

func (f *forecast) add(bucket string, d usage.Due) {
	day := f.days[d.Day]
	if day == nil {
		day = &forecastDay{at: d.Day, ForecastDay: api.ForecastDay{Day: toTime(d.Day)}}
		f.days[d.Day] = day
	}
	addAmount(&day.Amount, d.Amount)
	addAmount(&day.Held, d.Held)
	day.FreedBytes += d.Freed
	day.AtLeast = day.AtLeast || d.AtLeast
	day.By = append(day.By, api.ForecastCause{
		Bucket: bucket, By: string(d.By), Rule: d.Rule, Amount: api.Amount(d.Amount), FreedBytes: d.Freed, AtLeast: d.AtLeast, Held: api.Amount(d.Held),
	})
}

func addAmount(to *api.Amount, a usage.Amount) {
	to.Objects += a.Objects
	to.Bytes += a.Bytes
}

// end puts the days in order, and adds what limits would stop.
func (f *forecast) end(ctx context.Context) error {
	f.out.Live = f.out.Live && !f.out.At.IsZero()
	list, err := f.service.o.Ledger.LimitStates(ctx)
	if err != nil {
		return err
	}
	states := map[ledger.LimitKind]map[string]ledger.LimitState{}
	for _, g := range list {
		if states[g.Kind] == nil {
			states[g.Kind] = map[string]ledger.LimitState{}
		}
		states[g.Kind][g.Subject] = g
	}
	gone := map[string]int64{} // by bucket, on the days before
	for _, at := range slices.Sorted(maps.Keys(f.days)) {
		d := f.days[at]
		slices.SortStableFunc(d.By, func(x, y api.ForecastCause) int {
			return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Objects, x.Objects), strings.Compare(x.Bucket, y.Bucket))
		})
		if f.prefix == "" {
			d.Limits = f.limits(d, states, gone)
		}
		f.out.Days = append(f.out.Days, d.ForecastDay)
	}
	return nil
}

// limits returns the limits that would stop some of a day, by the code that enforces them,
// and adds what goes to gone.
func (f *forecast) limits(d *forecastDay, states map[ledger.LimitKind]map[string]ledger.LimitState, gone map[string]int64) (out []api.ForecastLimit) {
	type subject struct {
		kind   ledger.LimitKind
		bucket string
	}
	due := map[subject]int64{}
	var order []subject
	for _, c := range d.By {
		at, n := subject{ledger.Cause(c.By).Limit(), c.Bucket}, c.Objects
		if d.at != 0 {
			n += c.Held.Objects // a limit counts what is held until it has been set aside
		}
		switch {
		case at.kind == "" || n == 0:
			continue
		case at.kind == ledger.LimitPurge:
			at.bucket = ""
		}
		if due[at] == 0 {
			order = append(order, at)
		}
		due[at] += n
	}
	for _, at := range order {
		b := f.buckets[at.bucket]
		g, known := states[at.kind][string(b.ID)]
		if !known {
			g = ledger.LimitState{Kind: at.kind, Subject: string(b.ID)}
		}
		goes, why := g.Preview(max(d.at, f.now), f.service.o.Limits.Of(at.kind), b.Objects-gone[at.bucket], due[at])
		if why != "" {
			out = append(out, api.ForecastLimit{Kind: string(at.kind), Bucket: at.bucket, Due: due[at], Goes: goes, Why: why})
		}
	}
	for at, n := range due {
		if at.bucket != "" {
			gone[at.bucket] += n
		}
	}
	return out
}
