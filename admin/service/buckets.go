package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// Buckets lists all buckets by name.
func (s *Service) Buckets(ctx context.Context, _ api.None) ([]api.Bucket, error) {
	out := []api.Bucket{}
	err := s.eachBucket(ctx, func(b ledger.Bucket) error {
		out = append(out, bucketOf(b))
		return nil
	})
	return out, err
}

func bucketOf(b ledger.Bucket) api.Bucket {
	return api.Bucket{
		Name: b.Name, Owner: b.Owner, CreatedAt: toTime(b.CreatedAt), Objects: b.Objects, Bytes: b.Bytes,
		DefaultTTL: ttlText(b.DefaultTTL), MaxTTL: ttlText(b.MaxTTL), Undo: ttlText(b.Undo),
		DefaultIdle: ttlText(b.DefaultIdle), MaxIdle: ttlText(b.MaxIdle),
		QuotaBytes: b.QuotaBytes, QuotaObjects: b.QuotaObjects, Eviction: evictionOf(b.Evict),
	}
}

func evictionOf(e ledger.Eviction) api.Eviction {
	if !e.On() {
		return api.Eviction{WhenFull: "refuse"}
	}
	return api.Eviction{WhenFull: "evict", EvictOrder: string(e.Order), EvictHigh: e.High, EvictLow: e.Low, EvictMinAge: ttlText(e.MinAge)}
}

// changeEviction applies a change to how a bucket evicts: ErrBadRequest.
func changeEviction(c api.BucketChange, to *ledger.Eviction) error {
	asked := c.EvictOrder != nil || c.EvictHigh != nil || c.EvictLow != nil || c.EvictMinAge != nil
	switch {
	case c.WhenFull == nil && asked && !to.On():
		return fmt.Errorf("%w: the bucket refuses what has no room: set when_full to evict as well", api.ErrBadRequest)
	case c.WhenFull == nil:
	case *c.WhenFull == "refuse" && asked:
		return fmt.Errorf("%w: a bucket that refuses what has no room has no order or marks of eviction", api.ErrBadRequest)
	case *c.WhenFull == "refuse":
		*to = ledger.Eviction{}
		return nil
	case *c.WhenFull != "evict":
		return fmt.Errorf("%w: when_full is refuse or evict, not %q", api.ErrBadRequest, *c.WhenFull)
	case !to.On():
		*to = ledger.Eviction{Order: ledger.EvictByRead, High: ledger.DefaultEvictHigh, Low: ledger.DefaultEvictLow}
	}
	if c.EvictOrder != nil {
		to.Order = ledger.EvictOrder(*c.EvictOrder)
		if !to.On() {
			return fmt.Errorf("%w: evict_order is read or written", api.ErrBadRequest)
		}
	}
	if c.EvictHigh != nil {
		to.High = *c.EvictHigh
		if c.EvictLow == nil {
			to.Low = min(to.Low, to.High)
		}
	}
	if c.EvictLow != nil {
		to.Low = *c.EvictLow
	}
	if err := parseDuration(c.EvictMinAge, &to.MinAge); err != nil {
		return fmt.Errorf("%w: evict_min_age: %w", api.ErrBadRequest, err)
	}
	return nil
}

func ttlText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return lethe.FormatTTL(d)
}

// SetBucket changes a bucket's settings. It fails with ErrNoSuchBucket.
// Existing objects keep their time to live. What others change meanwhile stays.
func (s *Service) SetBucket(ctx context.Context, c api.BucketChange) (api.Bucket, error) {
	const tries = 10
	for n := 1; ; n++ {
		b, err := s.o.Objects.Bucket(ctx, c.Name)
		if err != nil {
			return api.Bucket{}, err
		}
		set, err := changeSettings(c, b.BucketSettings)
		if err != nil {
			return api.Bucket{}, err
		}
		b, err = s.o.Objects.ConfigureBucket(ctx, c.Name, set, &b.BucketSettings)
		if n < tries && errors.Is(err, lethe.ErrPreconditionFailed) {
			continue
		}
		if err != nil {
			return api.Bucket{}, err
		}
		out := bucketOf(b)
		s.audit(ctx, "bucket_configured", "operator", slog.Any("bucket", out))
		return out, nil
	}
}

// changeSettings applies a change to the settings of a bucket: ErrBadRequest.
func changeSettings(c api.BucketChange, set ledger.BucketSettings) (ledger.BucketSettings, error) {
	for _, d := range []struct {
		name string
		text *string
		to   *time.Duration
	}{
		{"default_ttl", c.DefaultTTL, &set.DefaultTTL}, {"max_ttl", c.MaxTTL, &set.MaxTTL}, {"undo", c.Undo, &set.Undo},
		{"default_idle", c.DefaultIdle, &set.DefaultIdle}, {"max_idle", c.MaxIdle, &set.MaxIdle},
	} {
		if err := parseDuration(d.text, d.to); err != nil {
			return set, fmt.Errorf("%w: %s: %w", api.ErrBadRequest, d.name, err)
		}
	}
	if err := withinLongest(c, set); err != nil {
		return set, err
	}
	if c.QuotaBytes != nil {
		set.QuotaBytes = *c.QuotaBytes
	}
	if c.QuotaObjects != nil {
		set.QuotaObjects = *c.QuotaObjects
	}
	if err := set.Check(); errors.Is(err, lethe.ErrInvalidTTL) {
		return set, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	if set.QuotaBytes < 0 || set.QuotaObjects < 0 {
		return set, fmt.Errorf("%w: a quota must not be negative; 0 is none", api.ErrBadRequest)
	}
	if err := changeEviction(c, &set.Evict); err != nil {
		return set, err
	}
	if err := set.Check(); err != nil {
		return set, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	return set, nil
}

// withinLongest refuses a change after which the default of an end is longer than the longest:
// ErrBadRequest.
func withinLongest(c api.BucketChange, set ledger.BucketSettings) error {
	for _, d := range []struct {
		of                 string
		asked              bool
		byDefault, longest time.Duration
	}{
		{"ttl", c.DefaultTTL != nil || c.MaxTTL != nil, set.DefaultTTL, set.MaxTTL},
		{"idle", c.DefaultIdle != nil || c.MaxIdle != nil, set.DefaultIdle, set.MaxIdle},
	} {
		if d.asked && d.longest > 0 && d.byDefault > d.longest {
			return fmt.Errorf("%w: default_%[2]s, %[3]s, would be longer than max_%[2]s, %[4]s: change both", api.ErrBadRequest, d.of, ttlText(d.byDefault), ttlText(d.longest))
		}
	}
	return nil
}

func parseDuration(text *string, to *time.Duration) error {
	switch {
	case text == nil:
		return nil
	case *text == "none", *text == "0", *text == "":
		*to = 0
		return nil
	}
	d, err := lethe.ParseTTL(*text)
	if err == nil {
		*to = d
	}
	return err
}
