package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// byOperator is the author of rules that were set here.
const byOperator = "operator"

func lifecycleOf(b ledger.BucketRules) (api.Lifecycle, error) {
	out := api.Lifecycle{Bucket: b.Bucket, By: b.By, Rules: []api.Rule{}}
	for _, r := range b.Rules {
		out.Rules = append(out.Rules, api.Rule{ID: r.ID, Disabled: r.Disabled, Text: r.String()})
	}
	if b.Reapplication != nil {
		out.Reapplication = &api.Progress{What: "reapply", Done: b.Reapplication.Seen, Total: b.Objects, Counts: map[string]int64{"changed": b.Reapplication.Changed}}
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
func (s *Service) Lifecycles(ctx context.Context, _ api.None) ([]api.Lifecycle, error) {
	list, err := s.o.Ledger.RuledBuckets(ctx)
	out := []api.Lifecycle{}
	for _, b := range list {
		one, lerr := lifecycleOf(b)
		err = errors.Join(err, lerr)
		out = append(out, one)
	}
	return out, err
}

// ShowLifecycle returns the rules of a bucket. It fails with ErrNoSuchBucket.
func (s *Service) ShowLifecycle(ctx context.Context, r api.LifecycleRequest) (api.Lifecycle, error) {
	b, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return api.Lifecycle{}, err
	}
	return lifecycleOf(b)
}

// SetLifecycle replaces the rules of a bucket, or changes one of them; no rules remove them. It
// fails with ErrNoSuchBucket, ErrNoRule or ErrBadRequest. The next pass of lifecycle reapplies
// the rules to objects; expiries by removed rules have no effect from now on.
func (s *Service) SetLifecycle(ctx context.Context, r api.LifecycleRequest) (api.Lifecycle, error) {
	b, rules, err := s.wantedRules(ctx, r)
	if err != nil {
		return api.Lifecycle{}, err
	}
	seen := ""
	if r.Change != "" {
		r.Rules, seen = rules, b.Rules.Digest()
	}
	return s.setLifecycle(ctx, r, seen)
}

// wantedRules returns the rules that a bucket has, and the document of those that a request
// sets.
func (s *Service) wantedRules(ctx context.Context, r api.LifecycleRequest) (b ledger.BucketRules, doc string, err error) {
	if b, err = s.o.Ledger.Rules(ctx, r.Bucket); err != nil || r.Change == "" && r.Rule == "" {
		return b, r.Rules, err
	}
	change := lifecycle.Change(r.Change)
	if r.Rules != "" || !slices.Contains([]lifecycle.Change{lifecycle.Enable, lifecycle.Disable, lifecycle.Remove}, change) {
		return b, "", fmt.Errorf("%w: change is enable, disable or remove, of one rule and without rules to set", api.ErrBadRequest)
	}
	wanted, found := b.Rules.Change(r.Rule, change)
	if !found {
		ids := []string{}
		for _, have := range b.Rules {
			ids = append(ids, have.ID)
		}
		return b, "", fmt.Errorf("%w: %q; bucket %s has %s", api.ErrNoRule, r.Rule, r.Bucket, cmp.Or(strings.Join(ids, ", "), "none"))
	}
	if len(wanted) == 0 {
		return b, "", nil
	}
	text, err := wanted.JSON()
	return b, string(text), err
}

// setLifecycle replaces rules; seen, unless empty, is the digest of those that
// may be replaced, else ErrPreconditionFailed.
func (s *Service) setLifecycle(ctx context.Context, r api.LifecycleRequest, seen string) (api.Lifecycle, error) {
	rules, err := parseRules(r.Rules)
	if err != nil {
		return api.Lifecycle{}, err
	}
	b, err := s.o.Ledger.SetRules(ctx, ledger.RulesChange{Bucket: r.Bucket, Rules: rules, By: byOperator, Seen: seen})
	if errors.Is(err, ledger.ErrRulesConfigured) {
		return api.Lifecycle{}, fmt.Errorf("%w: the rules of bucket %s stand in the configuration: change them there and send SIGHUP", api.ErrBadRequest, r.Bucket)
	}
	if err != nil {
		return api.Lifecycle{}, err
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
		return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	return rules, nil
}
