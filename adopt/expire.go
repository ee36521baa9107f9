package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
)

// Expire removes expired rows: claim, drop the copies, settle.
type Expire struct {
	Collection string
	Records    Records
	Holds      RowHolder
	Copies     Copies // nil without a cache
	Grace      Grace
	Batch      int // rows per claim
	Events     *Events
	// Clean deletes the objects of contents whose last rows go, by Ender. If
	// nil, contents wait to be marked.
	Clean *Clean
	Ender Ender
}

// Name returns the routine's name in runs and metrics.
func (e *Expire) Name() string { return "expire " + e.Collection }

// Pass runs until nothing is due; each step is one batch. If the database refuses
// to stamp a row, claims shrink until that row is alone, and is held.
func (e *Expire) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	size, again := e.Batch, repetition{}
	return func(ctx context.Context, add func(string, int64)) (more bool, err error) {
		claim, settled, err := e.step(ctx, size, add)
		var refused *Refusal
		switch {
		case !errors.As(err, &refused):
			more = err == nil && len(claim.Rows) == size
			size = min(2*size, e.Batch)
			return more, cmp.Or(err, again.of(claim.Rows, settled))
		case len(refused.Rows) > 1:
			size = len(refused.Rows) / 2
			return true, nil
		}
		settled = Settled{Refused: 1}
		settled.report(add, e.Events, e.Collection)
		return true, cmp.Or(refused.rest(ctx, e.Holds, e.Events, e.Collection), again.of(refused.Rows, settled))
	}
}

// Plan counts what is due.
func (e *Expire) Plan(ctx context.Context) (Backlog, error) { return e.Records.Due(ctx) }

// step claims up to size rows, and settles them. It fails with the *Refusal of a claim.
func (e *Expire) step(ctx context.Context, size int, add func(string, int64)) (claim Claim, settled Settled, err error) {
	claim, err = e.Records.Claim(ctx, size)
	if err != nil || len(claim.Rows) == 0 {
		return Claim{}, settled, err
	}
	var began lethe.Time
	if e.Clean != nil {
		began = e.Clean.Boot.Now() // before the mark, as a pass of Clean
	}
	settled, marked, err := e.settle(ctx, claim)
	settled.report(add, e.Events, e.Collection)
	if err != nil {
		// Without this they would wait for the watchdog. Rows that went
		// although the response was lost no longer carry the claim.
		_, released := e.Records.Release(context.WithoutCancel(ctx), claim)
		return claim, settled, errors.Join(err, released)
	}
	if len(marked.Contents) > 0 {
		_, err = e.Clean.remove(ctx, began, marked, add)
	}
	return claim, settled, err
}

// settle removes rows, but none whose copies may still be read.
func (e *Expire) settle(ctx context.Context, claim Claim) (settled Settled, marked Marked, err error) {
	if err := e.drop(ctx, claim); err != nil {
		return settled, marked, fmt.Errorf("drop copies of %s of %s: %w", words.Plural(int64(len(claim.Rows)), "row", "rows"), e.Collection, err)
	}
	if e.Clean != nil {
		settled, marked, err = e.Ender.End(ctx, claim, EndRequest{Again: e.Grace.CacheAgain, Late: e.Grace.Late})
	} else {
		settled, err = e.Records.Settle(ctx, claim, e.Grace.CacheAgain)
	}
	var refused *Refusal
	if errors.As(err, &refused) {
		settled, err = e.apart(ctx, claim)
	}
	if err != nil {
		return settled, Marked{}, fmt.Errorf("settle %s of %s: %w", words.Plural(int64(len(claim.Rows)), "row", "rows"), e.Collection, err)
	}
	return settled, marked, nil
}

func (e *Expire) drop(ctx context.Context, claim Claim) error {
	var keys []string
	for _, r := range claim.Rows {
		keys = append(keys, r.Copies...)
	}
	if e.Copies == nil || len(keys) == 0 {
		return nil
	}
	return e.Copies.Drop(ctx, keys)
}
