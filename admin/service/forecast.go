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
	"github.com/lethe-storage/lethe/reclaim/predict"
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
	f.out.Doubt = predict.Doubt(s.o.Ledger)
	if r.Bucket != "" {
		if f.only, err = s.o.Ledger.Bucket(ctx, r.Bucket); err == nil {
			err = f.bucket(ctx, f.only)
		}
	} else if err = s.eachBucket(ctx, func(b ledger.Bucket) error {
		if err := f.bucket(ctx, b); !errors.Is(err, lethe.ErrNoSuchBucket) {
			return err
		}
		return nil // it was deleted meanwhile
	}); err == nil {
		err = f.deleted(ctx)
	}
	if err == nil {
		err = f.end(ctx)
	}
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
	only       ledger.Bucket // zero: all of them
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
	f.sum(b.Name, sum)
	return nil
}

// deleted adds the trash of buckets that were deleted.
func (f *forecast) deleted(ctx context.Context) error {
	names, err := f.service.o.Ledger.TrashOfDeleted(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		w := usage.OfDeleted(f.service.o.Ledger, name, f.now)
		whole, err := f.service.countUpTo(ctx, w, &f.budget)
		if err != nil {
			return err
		}
		if !whole {
			f.out.Uncounted = append(f.out.Uncounted, name)
			continue
		}
		if f.out.At.IsZero() {
			f.out.At = toTime(f.now)
		}
		f.sum(name, w.Summary())
	}
	return nil
}

// sum adds what a bucket holds.
func (f *forecast) sum(bucket string, sum usage.Summary) {
	addAmount(&f.out.Later, sum.Later)
	addAmount(&f.out.WithoutEnd, sum.WithoutEnd)
	today := lethe.FromTime(f.now.Time().Truncate(24 * time.Hour))
	for _, d := range sum.Due {
		switch {
		case d.Day >= f.until:
			addAmount(&f.out.Later, d.Amount)
		case d.Day == 0 || d.Day >= today: // a day that has passed since the count took its own
			f.add(bucket, d)
		}
	}
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

// leaveKept leaves out of what is freed what limits keep. Of a cause of which a limit lets some
// go, it is not known what that frees.
func (d *forecastDay) leaveKept() {
	d.FreedBytes, d.AtLeast = 0, false
	for _, c := range d.By {
		kind := string(ledger.Cause(c.By).Limit())
		i := slices.IndexFunc(d.Limits, func(l api.ForecastLimit) bool {
			return l.Kind == kind && l.Goes < l.Due && (l.Bucket == "" || l.Bucket == c.Bucket)
		})
		if i < 0 {
			d.FreedBytes += c.FreedBytes
			d.AtLeast = d.AtLeast || c.AtLeast
		} else {
			d.AtLeast = d.AtLeast || d.Limits[i].Goes > 0
		}
	}
}

func addAmount(to *api.Amount, a usage.Amount) {
	to.Objects += a.Objects
	to.Bytes += a.Bytes
}

// end puts the days in order, and adds what limits would stop.
func (f *forecast) end(ctx context.Context) error {
	f.out.Live = f.out.Live && !f.out.At.IsZero()
	limits, err := f.limits(ctx)
	if err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(f.days)) {
		d := f.days[at]
		slices.SortStableFunc(d.By, func(x, y api.ForecastCause) int {
			return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Objects, x.Objects), strings.Compare(x.Bucket, y.Bucket))
		})
		if f.prefix == "" {
			d.Limits = limits.of(d)
			d.leaveKept()
		}
		f.out.Days = append(f.out.Days, d.ForecastDay)
	}
	return nil
}
