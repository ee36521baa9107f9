package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/meta"
)

// byOperator is who set rules that were set here.
const byOperator = "operator"

// Lifecycle is the lifecycle rules of a bucket.
type Lifecycle struct {
	Bucket string `json:"bucket"`
	By     string `json:"by,omitempty"` // s3, operator or config
	Rules  []Rule `json:"rules"`
	// JSON is the document in the shape of the aws command line, XML as S3 has it;
	// both empty if there are no rules.
	JSON string `json:"json,omitempty"`
	XML  string `json:"xml,omitempty"`
	// Restamp is how far the objects carry the stamps of these rules; null: all do.
	Restamp *Progress `json:"restamp,omitempty"`
}

// Rule is a lifecycle rule in words.
type Rule struct {
	ID       string `json:"id"`
	Disabled bool   `json:"disabled,omitempty"`
	Text     string `json:"text"`
}

// LifecycleRequest names a bucket; to set or simulate, with the rules as XML or
// JSON. A simulation without rules takes those of the bucket.
type LifecycleRequest struct {
	Bucket string `json:"bucket"`
	Rules  string `json:"rules,omitempty"`
	Days   int    `json:"days,omitempty"` // of a simulation; default 30
}

func lifecycleOf(b meta.BucketRules) (Lifecycle, error) {
	out := Lifecycle{Bucket: b.Bucket, By: b.By, Rules: []Rule{}}
	for _, r := range b.Rules {
		out.Rules = append(out.Rules, Rule{r.ID, r.Disabled, r.String()})
	}
	if b.Restamp != nil {
		out.Restamp = &Progress{What: "restamp", Done: b.Restamp.Seen, Total: b.Objects, Counts: map[string]int64{"changed": b.Restamp.Changed}}
	}
	if len(b.Rules) == 0 {
		return out, nil
	}
	doc, err := b.Rules.JSON()
	out.JSON, out.XML = string(doc), string(b.Rules.XML())
	return out, err
}

// Lifecycles lists the buckets that have lifecycle rules, or stamps of rules that
// they had.
func (s *Service) Lifecycles(ctx context.Context, _ None) ([]Lifecycle, error) {
	list, err := s.o.Ledger.RuledBuckets(ctx)
	out := []Lifecycle{}
	for _, b := range list {
		one, lerr := lifecycleOf(b)
		err = errors.Join(err, lerr)
		out = append(out, one)
	}
	return out, err
}

// ShowLifecycle answers the rules of a bucket: ErrNoSuchBucket.
func (s *Service) ShowLifecycle(ctx context.Context, r LifecycleRequest) (Lifecycle, error) {
	b, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return Lifecycle{}, err
	}
	return lifecycleOf(b)
}

// SetLifecycle replaces the rules of a bucket, no rules remove them:
// ErrNoSuchBucket, ErrBadRequest. Objects are stamped by the next pass of
// lifecycle; what removed rules have stamped stays from now on.
func (s *Service) SetLifecycle(ctx context.Context, r LifecycleRequest) (Lifecycle, error) {
	return s.setLifecycle(ctx, r, "")
}

// setLifecycle replaces rules; seen, unless empty, is the digest of those that may
// be replaced: ErrPreconditionFailed.
func (s *Service) setLifecycle(ctx context.Context, r LifecycleRequest, seen string) (Lifecycle, error) {
	rules, err := parseRules(r.Rules)
	if err != nil {
		return Lifecycle{}, err
	}
	b, err := s.o.Ledger.SetRules(ctx, meta.RulesChange{Bucket: r.Bucket, Rules: rules, By: byOperator, Seen: seen})
	if errors.Is(err, meta.ErrRulesConfigured) {
		return Lifecycle{}, fmt.Errorf("%w: the rules of bucket %s stand in the configuration: change them there and send SIGHUP", ErrBadRequest, r.Bucket)
	}
	if err != nil {
		return Lifecycle{}, err
	}
	out, err := lifecycleOf(b)
	s.audit(ctx, "lifecycle_rules_set", "operator", slog.String("bucket", r.Bucket), slog.Any("rules", out.Rules))
	return out, err
}

func parseRules(text string) (lifecycle.Rules, error) {
	if text == "" {
		return nil, nil
	}
	rules, err := lifecycle.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return rules, nil
}

// Forecast is what a rule would end.
type Forecast struct {
	Rule
	Today    Amount    `json:"today"` // up to the next midnight in UTC
	Days     Amount    `json:"days"`  // within the days asked for, today included
	Uploads  int64     `json:"uploads,omitempty"`
	Examples []Example `json:"examples,omitempty"`
}

// Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Example is an object that a rule would end.
type Example struct {
	Key        string    `json:"key"`
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
	EndsAt     time.Time `json:"ends_at"`
}

// SimulateLifecycle says what rules would end, and changes nothing: the rules
// asked for, or those of the bucket. It reads the bucket's objects.
func (s *Service) SimulateLifecycle(ctx context.Context, r LifecycleRequest, each func(Event)) ([]Forecast, error) {
	rules, err := parseRules(r.Rules)
	if err != nil {
		return nil, err
	}
	b, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return nil, err
	}
	if rules == nil {
		rules = b.Rules
	}
	if r.Days <= 0 {
		r.Days = 30
	}
	f := lifecycle.NewForecaster(rules, s.o.Clock.Now(), r.Days)
	if err := s.forecastObjects(ctx, b, f, each); err != nil {
		return nil, err
	}
	if err := s.forecastUploads(ctx, b.Bucket, f); err != nil {
		return nil, err
	}
	return forecastsOf(f.Forecasts()), nil
}

func (s *Service) forecastObjects(ctx context.Context, b meta.BucketRules, f *lifecycle.Forecaster, each func(Event)) error {
	q, done := meta.ListQuery{Bucket: b.Bucket, Limit: 1000}, int64(0)
	for {
		page, err := s.o.Ledger.List(ctx, q)
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			f.Object(lifecycle.Facts{Key: o.Key, Tags: o.Tags, Size: o.Size, Modified: o.ModifiedAt}, o.TTLAt)
		}
		done += int64(len(page.Objects))
		each(Event{Progress: &Progress{What: "simulate", Done: done, Total: b.Objects}})
		if q.After = page.Next; !page.More {
			return nil
		}
	}
}

func (s *Service) forecastUploads(ctx context.Context, bucket string, f *lifecycle.Forecaster) error {
	q := meta.UploadQuery{Bucket: bucket, Limit: 1000}
	for {
		list, err := s.o.Ledger.Uploads(ctx, q)
		if err != nil {
			return err
		}
		for _, u := range list {
			f.Upload(u.Key, u.CreatedAt)
			q.AfterKey, q.AfterUpload = u.Key, u.ID
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}

func forecastsOf(list []lifecycle.Forecast) []Forecast {
	out := []Forecast{}
	for _, f := range list {
		one := Forecast{
			Rule:  Rule{f.Rule.ID, f.Rule.Disabled, f.Rule.String()},
			Today: Amount(f.Today), Days: Amount(f.Days), Uploads: f.Uploads,
		}
		for _, e := range f.Examples {
			one.Examples = append(one.Examples, Example{e.Facts.Key, e.Facts.Size, at(e.Facts.Modified), at(e.At)})
		}
		out = append(out, one)
	}
	return out
}
