package pairing

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// ClockLedger records that clocks are in doubt.
type ClockLedger interface {
	// DoubtClock records why the clock of a backend, or the ledger's own if none is
	// named, is in doubt, or that it is not. It returns what was recorded before.
	DoubtClock(ctx context.Context, backend, why string) (before string, err error)
	// LedgerTime returns the ledger's current time.
	LedgerTime(ctx context.Context) (lethe.Time, error)
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
		g.Events.EmitClockDoubted(id, why)
	}
	return err
}
