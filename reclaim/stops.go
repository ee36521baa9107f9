package reclaim

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// unpark requeues what a hold or a limit deferred, once that is over.
func (e *Expire) unpark(ctx context.Context, c *Counts) (bool, error) {
	u, err := e.Ledger.Unpark(ctx, e.Controller.Size(e.Batch.Limit))
	if err != nil {
		return false, fmt.Errorf("reclaim: requeue what was deferred: %w", err)
	}
	c.Add("let_go", int64(u.Returned))
	return u.More, nil
}

// foresee stops what is due beyond its limit before the first of it is removed.
func (e *Expire) foresee(ctx context.Context, c *Counts) (bool, error) {
	if l := e.Batch.Limits; !l.Rules.On() && !l.TTL.On() {
		return false, nil
	}
	stopped, err := e.Ledger.Foresee(ctx, e.Batch.Limits)
	if err != nil {
		return false, fmt.Errorf("reclaim: check the deletion limits ahead: %w", err)
	}
	e.Events.stopped(stopped)
	c.Add("stopped", int64(len(stopped)))
	return false, nil
}

func (e *Events) stopped(list []ledger.Guard) {
	if e == nil || e.Stopped == nil {
		return
	}
	for _, g := range list {
		e.Stopped(g)
	}
}

func (e *Events) clockDoubted(backend, why string) {
	if e != nil && e.ClockDoubted != nil {
		e.ClockDoubted(backend, why)
	}
}

// ClockSkew is how far the clocks of ledger and backend may differ before they are
// in doubt: as much as S3 services tolerate of their clients.
const ClockSkew = 15 * time.Minute

// modTimeSlack is the resolution of backends' times.
const modTimeSlack = 2 * time.Second

// compareClocks records how far the backend's clock differs from the ledger's. It
// compares the time that the backend gave to an epoch object with the ledger's time
// before and after the write.
func (g *Pairing) compareClocks(ctx context.Context, id, key string, before lethe.Time) error {
	after, err := g.Ledger.LedgerTime(ctx)
	if err != nil {
		return err
	}
	info, err := g.Stores[id].Stat(ctx, key)
	if err != nil || info.ModTime == 0 {
		return err
	}
	why := ""
	ahead := before.Sub(info.ModTime) - modTimeSlack // of the backend's clock
	behind := info.ModTime.Sub(after) - modTimeSlack
	switch {
	case ahead > ClockSkew:
		why = fmt.Sprintf("the ledger's clock is more than %s ahead of that of backend %s: one of them is wrong", ClockSkew, id)
	case behind > ClockSkew:
		why = fmt.Sprintf("the ledger's clock is more than %s behind that of backend %s: one of them is wrong", ClockSkew, id)
	}
	was, err := g.Ledger.DoubtClock(ctx, id, why)
	if err == nil && was != why {
		g.Events.clockDoubted(id, why)
	}
	return err
}
