package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// fault breaks something and mends it again.
type fault struct {
	name string
	run  func(ctx context.Context, w *world, n *node) error
}

// faults are one round; each comes at least once.
var faults = []fault{
	{"an instance is killed", func(ctx context.Context, w *world, n *node) error {
		n.kill()
		return w.mend(ctx, time.Second, n.start)
	}},
	{"an instance is stopped for longer than its claims", func(ctx context.Context, w *world, n *node) error {
		if err := n.freeze(); err != nil {
			return err
		}
		return w.mend(ctx, 9*time.Second, n.thaw)
	}},
	{"the database is killed", func(ctx context.Context, w *world, _ *node) error {
		w.postgres.Kill()
		return w.mend(ctx, 2*time.Second, func() error { w.postgres.Restart(); return nil })
	}},
	{"Redis is flushed", func(_ context.Context, w *world, _ *node) error {
		w.redis.FlushAll()
		return nil
	}},
	{"Redis is killed", func(ctx context.Context, w *world, _ *node) error {
		w.redis.Kill()
		return w.mend(ctx, 3*time.Second, func() error { w.redis.Restart(); return nil })
	}},
	{"Redis stops answering", func(ctx context.Context, w *world, _ *node) error {
		w.redis.Freeze()
		return w.mend(ctx, 3*time.Second, func() error { w.redis.Thaw(); return nil })
	}},
	{"an instance is killed, and what it asked of the S3 server arrives later", func(ctx context.Context, w *world, n *node) error {
		w.network.Delay(2500 * time.Millisecond)
		pause(ctx, time.Second)
		n.kill()
		return w.mend(ctx, 3*time.Second, func() error { return errors.Join(w.healStorage(), n.start()) })
	}},
	{"the S3 server answers 503", func(ctx context.Context, w *world, _ *node) error {
		w.answers.refuse.Store(100)
		return w.mend(ctx, 3*time.Second, w.healStorage)
	}},
	{"the S3 server answers 503 to every third request", func(ctx context.Context, w *world, _ *node) error {
		w.answers.refuse.Store(33)
		return w.mend(ctx, 4*time.Second, w.healStorage)
	}},
	{"the S3 server does the work and answers 503", func(ctx context.Context, w *world, _ *node) error {
		w.answers.forget.Store(50)
		return w.mend(ctx, 3*time.Second, w.healStorage)
	}},
	{"the S3 server does the work and goes silent", func(ctx context.Context, w *world, _ *node) error {
		// Nobody ends these connections but lethe, when its patience does.
		w.network.Silence(0)
		return w.mend(ctx, storageTime+3*time.Second, w.healStorage)
	}},
	{"connections to the S3 server are cut in the middle of answers", func(ctx context.Context, w *world, _ *node) error {
		w.network.CutAnswers(700)
		return w.mend(ctx, 3*time.Second, w.healStorage)
	}},
	{"connections to the S3 server are cut in the middle of requests", func(ctx context.Context, w *world, _ *node) error {
		w.network.CutRequests(3000)
		return w.mend(ctx, 3*time.Second, w.healStorage)
	}},
	{"the S3 server cannot be reached", func(ctx context.Context, w *world, _ *node) error {
		w.network.Down()
		return w.mend(ctx, 3*time.Second, func() error { w.network.Up(); return nil })
	}},
}

func (w *world) healStorage() error {
	w.answers.heal()
	w.network.Heal()
	return nil
}

// mend puts things right after a while, also when ctx has ended.
func (w *world) mend(ctx context.Context, after time.Duration, right func() error) error {
	pause(ctx, after)
	return right()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// breakThings goes through the faults in rounds, with some calm between them,
// until enough objects were put; the first round is always finished.
func (w *world) breakThings(ctx context.Context, random *rand.Rand) error {
	if *calm {
		return nil
	}
	for round := 0; ; round++ {
		for _, i := range random.Perm(len(faults)) {
			if ctx.Err() != nil || round > 0 && w.enough() {
				return ctx.Err()
			}
			pause(ctx, time.Duration(1+random.IntN(3))*time.Second)
			f := faults[i]
			from := w.counts.expiring.Load()
			if err := f.run(ctx, w, w.nodes[random.IntN(len(w.nodes))]); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			w.counts.faults = append(w.counts.faults, fmt.Sprintf("%s (%d)", f.name, w.counts.expiring.Load()-from))
		}
	}
}
