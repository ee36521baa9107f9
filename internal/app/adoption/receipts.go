package adoption

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// chainID returns the id with which the seals of this adoption are hashed.
func (a *Adoption) chainID(ctx context.Context) (lethe.ID, error) {
	made, _, err := a.DB.MadeAt(ctx)
	return lethe.ID("adoption " + made.String()), err
}

// errNoReceipts is an error, not an empty success: removing the tables removes
// the chain.
var errNoReceipts = errors.New("there are no receipts, as Lethe's tables are not made yet or were removed: \"lethe adopt run\" makes them")

// HasReceipts fails if there is no chain of receipts.
func (a *Adoption) HasReceipts(ctx context.Context) error {
	installed, err := a.DB.Installed(ctx)
	if err == nil && !installed {
		err = errNoReceipts
	}
	return err
}

// VerifyReceipts recomputes the chain of receipts from its anchor to its head.
func (a *Adoption) VerifyReceipts(ctx context.Context, req api.ChainRequest) (api.Chain, error) {
	if err := a.HasReceipts(ctx); err != nil {
		return api.Chain{}, err
	}
	id, err := a.chainID(ctx)
	if err != nil {
		return api.Chain{}, err
	}
	return service.VerifyChain(ctx, a.DB, id, req)
}

// chainRoutine seals receipts and drops old ones, as a store does. Its chain is
// known once Lethe's tables exist.
type chainRoutine struct{ a *Adoption }

// Name implements reclaim.Routine.
func (chainRoutine) Name() string { return "receipts" }

// Plan implements reclaim.Routine.
func (chainRoutine) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass implements reclaim.Routine.
func (r chainRoutine) Pass(worker string) reclaim.Step {
	var step reclaim.Step
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if step == nil {
			id, err := r.a.chainID(ctx)
			if err != nil {
				return false, err
			}
			keep := cmp.Or(time.Duration(r.a.Description.Receipts), adopt.KeepReceipts)
			sealer := &routine.Receipts{Ledger: r.a.DB, Store: id, Keep: keep, Safety: reclaim.Safety{}.WithDefaults(), Events: &reclaim.Events{Sealed: r.a.sealed}}
			step = sealer.Pass(worker)
		}
		return step(ctx, add)
	}
}

func (a *Adoption) sealed(s receipt.Seal) {
	a.audit("receipts_sealed", "the chain of receipts goes on", slog.Int64("seal", s.Seq), slog.String("hash", s.Hash), slog.Int64("receipts", s.Count))
}
