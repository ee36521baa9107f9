//go:build failpoints

package failpoint

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

func (l ledger) Beat(ctx context.Context, blob lethe.ID, size int64) error {
	return alone("beat", func() error { return l.Ledger.Beat(ctx, blob, size) })
}

func (l ledger) PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error) {
	return around("purge-trash", func() (int, error) { return l.Ledger.PurgeTrash(ctx, entries) })
}

func (l ledger) CreateBucket(ctx context.Context, b meta.Bucket) (meta.Bucket, error) {
	return around("create-bucket", func() (meta.Bucket, error) { return l.Ledger.CreateBucket(ctx, b) })
}

func (l ledger) ConfigureBucket(ctx context.Context, name string, s meta.BucketSettings) (meta.Bucket, error) {
	return around("configure-bucket", func() (meta.Bucket, error) { return l.Ledger.ConfigureBucket(ctx, name, s) })
}

func (l ledger) DeleteBucket(ctx context.Context, name string) error {
	return alone("delete-bucket", func() error { return l.Ledger.DeleteBucket(ctx, name) })
}

func (l ledger) RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]meta.Recovered, error) {
	return around("recover", func() ([]meta.Recovered, error) { return l.Ledger.RecoverClaims(ctx, grace, limit) })
}

func (l ledger) Prune(ctx context.Context, limit int) (int, error) {
	return around("prune", func() (int, error) { return l.Ledger.Prune(ctx, limit) })
}

func (l ledger) AddBackend(ctx context.Context, b meta.Backend) (meta.Backend, error) {
	return around("add-backend", func() (meta.Backend, error) { return l.Ledger.AddBackend(ctx, b) })
}

func (l ledger) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	return alone("set-epoch", func() error { return l.Ledger.SetEpoch(ctx, backend, intended, epoch) })
}

func (l ledger) StartRun(ctx context.Context, r meta.Run) error {
	return alone("start-run", func() error { return l.Ledger.StartRun(ctx, r) })
}

func (l ledger) FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error {
	return alone("finish-run", func() error { return l.Ledger.FinishRun(ctx, id, outcome, counts) })
}

func (l ledger) InterruptRuns(ctx context.Context, worker string) (int, error) {
	return around("interrupt-runs", func() (int, error) { return l.Ledger.InterruptRuns(ctx, worker) })
}

func (l ledger) BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error {
	return alone("beat-run", func() error { return l.Ledger.BeatRun(ctx, id, counts) })
}

func (l ledger) BeginRun(ctx context.Context, s meta.Solo) (meta.Begun, error) {
	return around("begin-run", func() (meta.Begun, error) { return l.Ledger.BeginRun(ctx, s) })
}
