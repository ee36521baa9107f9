package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// byOperator is the author of rules that were set here.
const byOperator = "operator"

// Lifecycle is the lifecycle rules of a bucket.
type Lifecycle struct {
	Bucket string `json:"bucket"`
	By     string `json:"by,omitempty"` // s3, operator or config
	Rules  []Rule `json:"rules"`
	// JSON is the document in the form of the aws command line, XML in S3's;
	// both empty if there are no rules.
	JSON string `json:"json,omitempty"`
	XML  string `json:"xml,omitempty"`
	// Restamp is the progress of reapplying these rules to objects; null if it
	// is complete.
	Restamp *Progress `json:"restamp,omitempty"`
}

// Rule is a description of a lifecycle rule.
type Rule struct {
	ID       string `json:"id"`
	Disabled bool   `json:"disabled,omitempty"`
	Text     string `json:"text"`
}

// LifecycleRequest names a bucket, and the rules to set or simulate, as XML or
// JSON. A simulation without rules uses the bucket's.
type LifecycleRequest struct {
	Bucket string `json:"bucket"`
	Rules  string `json:"rules,omitempty"`
	Days   int    `json:"days,omitempty"` // of a simulation; default 30
}

func lifecycleOf(b ledger.BucketRules) (Lifecycle, error) {
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

// Lifecycles lists the buckets that have lifecycle rules, or objects with
// expiries by former rules.
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

// ShowLifecycle returns the rules of a bucket. It fails with ErrNoSuchBucket.
func (s *Service) ShowLifecycle(ctx context.Context, r LifecycleRequest) (Lifecycle, error) {
	b, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return Lifecycle{}, err
	}
	return lifecycleOf(b)
}

// SetLifecycle replaces the rules of a bucket; no rules remove them. It fails
// with ErrNoSuchBucket or ErrBadRequest. The next pass of lifecycle reapplies
// the rules to objects; expiries by removed rules have no effect from now on.
func (s *Service) SetLifecycle(ctx context.Context, r LifecycleRequest) (Lifecycle, error) {
	return s.setLifecycle(ctx, r, "")
}

// setLifecycle replaces rules; seen, unless empty, is the digest of those that
// may be replaced, else ErrPreconditionFailed.
func (s *Service) setLifecycle(ctx context.Context, r LifecycleRequest, seen string) (Lifecycle, error) {
	rules, err := parseRules(r.Rules)
	if err != nil {
		return Lifecycle{}, err
	}
	b, err := s.o.Ledger.SetRules(ctx, ledger.RulesChange{Bucket: r.Bucket, Rules: rules, By: byOperator, Seen: seen})
	if errors.Is(err, ledger.ErrRulesConfigured) {
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
