package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// ruleBook holds the lifecycle rules of the configuration, which a reload may
// replace.
type ruleBook struct {
	mu       sync.Mutex
	byBucket map[string]lifecycle.Rules
	missing  map[string]bool // buckets that were logged as missing
}

// lifecycle makes the routine that applies the rules to objects.
func (s *Store) lifecycle(c config.NamedRoutine, events *reclaim.Events) reclaim.Routine {
	return &routine.Lifecycle{
		Ledger: s.Ledger, Limit: c.Batch, Controller: s.watch.throttle, Events: events, Configure: s.configureRules,
	}
}

// readRules reads the rules of a configuration; configureRules sets them.
func (s *Store) readRules(c *config.Config) error {
	rules, err := c.LifecycleRules()
	if err != nil {
		return err
	}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	s.rules.byBucket, s.rules.missing = rules, map[string]bool{}
	return nil
}

// configureRules sets the rules of the configuration where buckets have others, and
// removes those that it set before. A bucket that does not exist yet gets them at a
// later pass.
func (s *Store) configureRules(ctx context.Context) error {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	list, err := s.Ledger.RuledBuckets(ctx)
	if err != nil {
		return fmt.Errorf("lifecycle rules of the configuration: %w", err)
	}
	have := map[string]ledger.BucketRules{}
	for _, b := range list {
		have[b.Bucket] = b
	}
	for _, bucket := range slices.Sorted(maps.Keys(s.rules.byBucket)) {
		want := s.rules.byBucket[bucket]
		if old := have[bucket]; old.By == ledger.ByConfig && want.Same(old.Rules) {
			continue
		}
		if err := s.setRules(ctx, bucket, want); err != nil {
			return err
		}
	}
	for _, b := range list {
		if _, named := s.rules.byBucket[b.Bucket]; b.By == ledger.ByConfig && !named {
			if err := s.setRules(ctx, b.Bucket, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) setRules(ctx context.Context, bucket string, rules lifecycle.Rules) error {
	_, err := s.Ledger.SetRules(ctx, ledger.RulesChange{Bucket: bucket, Rules: rules, By: ledger.ByConfig})
	switch {
	case errors.Is(err, lethe.ErrNoSuchBucket):
		if !s.rules.missing[bucket] {
			s.rules.missing[bucket] = true
			s.opt.Log.Warn("the configuration has lifecycle rules for a bucket that does not exist; they wait for it", "bucket", bucket)
		}
		return nil
	case err != nil:
		return fmt.Errorf("lifecycle rules of the configuration: %w", err)
	}
	delete(s.rules.missing, bucket)
	s.watch.audit("lifecycle_rules_set", "configuration", slog.String("bucket", bucket), slog.Int("rules", len(rules)))
	return nil
}

// applyRules sets the rules of the configuration, of the reloaded one if it is
// given. The next pass of lifecycle retries what fails.
func (a *App) applyRules(ctx context.Context, again *config.Config) {
	var err error
	if again != nil {
		used := *a.Config
		used.Lifecycle = again.Lifecycle
		err = errors.Join(a.readRules(again), a.agreement.set(&used))
	}
	if err == nil {
		err = a.configureRules(ctx)
	}
	if err != nil {
		a.opt.Log.Error("the lifecycle rules of the configuration could not be set; the next pass of lifecycle tries again", "error", err)
	}
}

// uploadRuled reports an upload that a rule aborted.
func (w *observer) uploadRuled(u ledger.Upload, rule string) {
	w.metrics.UploadAborted()
	w.audit("upload_aborted", "lifecycle", slog.String("rule", rule), slog.String("upload", string(u.ID)),
		slog.String("bucket", u.Bucket), slog.String("key", u.Key))
}

// reclaimed reports a batch that expire or purge removed, and how much of it lifecycle
// rules, last reads and idle times ended.
func (w *observer) reclaimed(reason lethe.Reason, r ledger.Reclaimed) {
	byRules := ledger.Reclaimed{}
	for _, l := range r.Rules {
		byRules.Objects += l.Objects
		byRules.Bytes += l.Bytes
	}
	w.metrics.Reclaimed(lethe.ReasonLifecycle, byRules)
	w.metrics.Reclaimed(lethe.ReasonRead, ledger.Reclaimed{Objects: r.ReadObjects, Bytes: r.ReadBytes})
	w.metrics.Reclaimed(lethe.ReasonIdle, ledger.Reclaimed{Objects: r.IdleObjects, Bytes: r.IdleBytes})
	w.metrics.Reclaimed(reason, ledger.Reclaimed{Objects: r.Objects - byRules.Objects - r.ReadObjects - r.IdleObjects, Bytes: r.Bytes - byRules.Bytes - r.ReadBytes - r.IdleBytes})
	attrs := []slog.Attr{slog.Int("objects", r.Objects), slog.Int64("bytes", r.Bytes),
		slog.Int("blobs_condemned", r.Blobs), slog.Int64("condemned_bytes", r.BlobBytes),
		slog.Int("inline", r.Inline), slog.Int64("inline_bytes", r.InlineBytes), w.ids("contents", r.Dropped)}
	if len(r.Rules) > 0 {
		attrs = append(attrs, slog.Any("rules", r.Rules))
	}
	w.audit("objects_removed", string(reason), attrs...)
}
