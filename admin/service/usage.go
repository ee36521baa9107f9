package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// defaultSince is how long ago growth is measured from.
const defaultSince = "7d"

// Usage returns what a bucket stores, or a prefix of it. It counts the rows if they are few;
// otherwise it reads the last count of the routine usage.
func (s *Service) Usage(ctx context.Context, r api.UsageRequest) (api.Usage, error) {
	if err := checkPrefix(r.Bucket, r.Prefix); err != nil {
		return api.Usage{}, err
	}
	b, err := s.o.Ledger.Bucket(ctx, r.Bucket)
	if err != nil {
		return api.Usage{}, err
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return api.Usage{}, err
	}
	since, err := sinceOf(r.Since, now)
	if err != nil {
		return api.Usage{}, err
	}
	out := api.Usage{Bucket: b.Name, Prefix: r.Prefix, Now: toTime(now)}
	if r.Prefix == "" {
		out.Gets = s.gets(b.Name)
	}
	budget := s.o.MaxCounted
	sum, count, err := s.counted(ctx, b, r.Prefix, &budget)
	if err != nil {
		return out, err
	}
	if count.At.IsZero() {
		if r.Prefix == "" {
			out.Amount = api.Amount{Objects: b.Objects, Bytes: b.Bytes}
		}
		return out, nil
	}
	then, err := s.before(ctx, b.Name, since)
	if err != nil {
		return out, err
	}
	out.UsageCount, out.First = count, toTime(then.at)
	fillUsage(&out, sum, then)
	return out, nil
}

// gets returns what this process has counted of a bucket's gets; nil if there were none.
func (s *Service) gets(bucket string) *api.Gets {
	if s.o.Gets == nil {
		return nil
	}
	found, missed := s.o.Gets(bucket)
	if found+missed == 0 {
		return nil
	}
	return &api.Gets{Since: toTime(s.started), Found: found, Missed: missed}
}

// sinceOf returns the instant from which growth is measured.
func sinceOf(text string, now lethe.Time) (lethe.Time, error) {
	d, err := lethe.ParseTTL(cmp.Or(text, defaultSince))
	if err != nil {
		return 0, fmt.Errorf("%w: since when: %w", api.ErrBadRequest, err)
	}
	return now.Add(-d), nil
}

// counted returns the count of a prefix: by its rows, if they are no more than the budget,
// which shrinks by them; otherwise that of the routine. Its At is zero if there is none.
func (s *Service) counted(ctx context.Context, b ledger.Bucket, prefix string, budget *int) (usage.Summary, api.UsageCount, error) {
	last, known, err := s.lastCount(ctx, b.Name)
	if err != nil {
		return last, api.UsageCount{}, err
	}
	stored := api.UsageCount{At: toTime(last.TakenAt)}
	of, found := last.Find(prefix)
	found = found && known
	if few(b, prefix, of, found, *budget) {
		w := s.usage().Walk(b.Name, prefix)
		whole, err := s.countUpTo(ctx, w, budget)
		if err != nil {
			return last, api.UsageCount{}, err
		}
		if whole || !found && prefix != "" {
			sum := w.Summary()
			return sum, api.UsageCount{At: toTime(sum.TakenAt), Live: true, Partial: !whole}, nil
		}
	}
	if !found {
		return last, api.UsageCount{}, nil
	}
	return last, stored, nil
}

// few reports whether a prefix may have so few rows that they can be counted. Of one that
// the last count does not have nothing is known.
func few(b ledger.Bucket, prefix string, of usage.Prefix, known bool, budget int) bool {
	switch {
	case budget < 0:
		return false
	case b.Objects <= int64(budget):
		return true
	case prefix == "":
		return false
	}
	return !known || of.Objects <= int64(budget)
}

// countUpTo counts, and reports whether it came to the end within the budget. A bucket
// without rows takes a little of it as well, since there may be many.
func (s *Service) countUpTo(ctx context.Context, w *usage.Walk, budget *int) (bool, error) {
	*budget -= s.o.MaxCounted / 1000
	for *budget >= 0 {
		rows, more, err := w.Step(ctx, min(page, *budget+1))
		if err != nil || !more {
			return !more, err
		}
		*budget -= rows
	}
	return false, nil
}

// usage returns the routine that counts what buckets store.
func (s *Service) usage() *routine.Usage {
	for _, r := range s.o.Loop.Routines {
		if u, is := r.Routine.(*routine.Usage); is {
			return u
		}
	}
	return &routine.Usage{Ledger: s.o.Ledger, Safety: s.o.Safety}
}

// lastCount returns the newest count of a bucket by the routine.
func (s *Service) lastCount(ctx context.Context, bucket string) (sum usage.Summary, known bool, err error) {
	list, err := s.o.Ledger.UsageRecords(ctx, ledger.UsageRecordQuery{Bucket: bucket, UpTo: lethe.Forever, Document: true})
	if err != nil || len(list) == 0 {
		return sum, false, err
	}
	return usage.Decode(list[0])
}

// earlier is a count to which another one is compared.
type earlier struct {
	at lethe.Time // 0: there is none
	usage.Brief
}

// leastGrowth is how long a time growth is shown of. A count is not compared to itself.
const leastGrowth = time.Second

// before returns the count of a bucket as of an instant, or the oldest one.
func (s *Service) before(ctx context.Context, bucket string, at lethe.Time) (earlier, error) {
	list, err := s.o.Ledger.UsageRecords(ctx, ledger.UsageRecordQuery{Bucket: bucket, UpTo: at})
	if err != nil || len(list) == 0 {
		return earlier{}, err
	}
	b, err := usage.DecodeBrief(list[0])
	return earlier{list[0].TakenAt, b}, err
}

// growth returns by how much a prefix has grown until a count at an instant, nil if that is
// not known.
func (e earlier) growth(prefix string, now usage.Amount, at lethe.Time) *api.Growth {
	by, least, known := e.Grown(prefix, now)
	if e.at == 0 || !known || e.at > at.Add(-leastGrowth) {
		return nil
	}
	return &api.Growth{Since: toTime(e.at), Objects: by.Objects, Bytes: by.Bytes, AtLeast: least}
}

func fillUsage(out *api.Usage, sum usage.Summary, then earlier) {
	of, _ := sum.Find(out.Prefix)
	out.UsageTotals, out.Below, out.Growth = totalsOf(of.Totals), of.Below, then.growth(out.Prefix, of.Amount, sum.TakenAt)
	if sum.Prefix == out.Prefix {
		out.Held, out.Trash, out.Uploads = api.Amount(sum.Held), api.Amount(sum.Trash), api.Amount(sum.Uploads)
		out.Sizes, out.Ages = classesOf(sum.Sizes), classesOf(sum.Ages)
	}
	for _, p := range sum.Prefixes {
		if p.Prefix != out.Prefix && strings.HasPrefix(p.Prefix, out.Prefix) {
			out.Prefixes = append(out.Prefixes, api.UsagePrefix{Prefix: p.Prefix, UsageTotals: totalsOf(p.Totals), Growth: then.growth(p.Prefix, p.Amount, sum.TakenAt)})
		}
	}
}

func totalsOf(t usage.Totals) api.UsageTotals {
	return api.UsageTotals{
		Amount: api.Amount(t.Amount), StoredBytes: t.Stored, WithoutEnd: api.Amount(t.WithoutEnd), Oldest: toTime(t.Oldest), Newest: toTime(t.Newest),
	}
}

func classesOf(list []usage.Class) (out []api.UsageClass) {
	for _, c := range list {
		out = append(out, api.UsageClass{Below: c.Below, Amount: api.Amount(c.Amount), WithoutEnd: api.Amount(c.WithoutEnd)})
	}
	return out
}

// BucketUsages returns what each bucket stores. Small buckets are counted, up to MaxCounted
// rows of all of them; of others it reads the last count of the routine usage, in short.
func (s *Service) BucketUsages(ctx context.Context, r api.BucketUsagesRequest) (api.BucketUsages, error) {
	out := api.BucketUsages{Buckets: []api.BucketUsage{}}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return out, err
	}
	since, err := sinceOf(r.Since, now)
	if err != nil {
		return out, err
	}
	last, err := s.briefs(ctx, lethe.Forever)
	if err != nil {
		return out, err
	}
	then, err := s.briefs(ctx, since)
	if err != nil {
		return out, err
	}
	budget := s.o.MaxCounted
	out.Now = toTime(now)
	err = s.eachBucket(ctx, func(b ledger.Bucket) error {
		one, err := s.bucketUsage(ctx, b, last[b.Name], &budget)
		if errors.Is(err, lethe.ErrNoSuchBucket) {
			return nil // it was deleted meanwhile
		}
		if !one.At.IsZero() {
			one.Growth = then[b.Name].growth("", usage.Amount(one.Amount), lethe.FromTime(one.At))
		}
		out.Buckets = append(out.Buckets, one)
		return err
	})
	return out, err
}

// bucketUsage returns what a bucket stores, in short.
func (s *Service) bucketUsage(ctx context.Context, b ledger.Bucket, last earlier, budget *int) (api.BucketUsage, error) {
	out := api.BucketUsage{Bucket: b.Name}
	if b.Objects <= int64(*budget) {
		w := s.usage().Walk(b.Name, "")
		whole, err := s.countUpTo(ctx, w, budget)
		if err != nil {
			return out, err
		}
		if whole {
			sum := w.Summary()
			last = earlier{sum.TakenAt, sum.Brief()}
			out.Live = true
		}
	}
	out.UsageTotals, out.Soon, out.At = totalsOf(last.Totals), api.Amount(last.Soon), toTime(last.at)
	out.Amount = api.Amount{Objects: b.Objects, Bytes: b.Bytes}
	return out, nil
}

// briefs returns the counts of all buckets as of an instant, by name.
func (s *Service) briefs(ctx context.Context, at lethe.Time) (map[string]earlier, error) {
	out, q := map[string]earlier{}, ledger.UsageRecordQuery{UpTo: at, Limit: page}
	for {
		list, err := s.o.Ledger.UsageRecords(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			b, err := usage.DecodeBrief(r)
			if err != nil {
				return nil, err
			}
			out[r.Name], q.After = earlier{r.TakenAt, b}, r.Name
		}
		if len(list) < q.Limit {
			return out, nil
		}
	}
}
