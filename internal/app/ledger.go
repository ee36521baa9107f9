package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
)

func (s *Store) openLedger(ctx context.Context) (err error) {
	s.safety = safetyOf(s.Config.Reclaim.Grace)
	s.worker = worker(s.opt.Clock.Now())
	s.watch = newObserver(s.opt)
	s.watch.headCounts = s.Config.Store.HeadCounts
	o := ledger.Options{
		Clock: s.opt.Clock, ReadGrace: s.safety.ReadGrace, MovedGrace: s.safety.MovedGrace,
		LateWindow: s.safety.LateWindow, OpsKept: s.safety.OpsKept,
		Replicas:   s.Config.Placement.Replicas,
		NoReceipts: s.Config.Receipts.Keep == 0, TrustWindow: s.Config.Store.TrustWindow.Std(),
		Boot: s.opt.Boot, ClockJump: s.safety.ClockJump,
	}
	if _, machine := s.opt.Boot.(lethe.Monotonic); machine {
		o.BootID = lethe.BootID()
	}
	if o.TrustWindow == 0 {
		o.TrustWindow = -1
	}
	var set []sqlledger.Setting
	if !s.Config.Store.Flush {
		set = append(set, sqlledger.NoSync())
	}
	if s.shared() {
		s.Ledger, err = s.openPostgres(ctx, o, set...)
	} else {
		s.Ledger, err = sqlledger.Open(ctx, LedgerPath(s.Config.DataDir), o, set...)
	}
	if err != nil {
		return err
	}
	s.closing(s.Ledger.Close)
	if err := s.useSealing(ctx); err != nil {
		return err
	}
	s.ledgerHealth = &healthCheck{log: s.opt.Log, check: func(ctx context.Context) error {
		_, err := s.Ledger.Identity(ctx)
		return err
	}}
	s.watch.ledgerHealth = s.ledgerHealth
	s.Identity, err = s.Ledger.Identity(ctx)
	s.watch.store = s.Identity.ID
	if why := s.Ledger.Relocated(); why != "" {
		s.watch.audit("ledger_relocated", why)
	}
	if !s.Config.Store.Flush {
		s.opt.Log.Warn("store.flush is false: a power loss loses acknowledged writes; for benchmarks only")
	}
	s.Ledger.OnMoves(s.moved)
	s.Ledger.OnTransactions(s.watch.transaction)
	if s.opt.Hooks.Transactions != nil {
		s.Ledger.OnTransactions(s.opt.Hooks.Transactions)
	}
	return err
}

// worker names this process in claims and runs; another process never has the same
// name.
func worker(now lethe.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "lethe"
	}
	id := lethe.RandomID(now)
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), id[len(id)-6:])
}

func safetyOf(g config.Grace) reclaim.Safety {
	return reclaim.Safety{
		MinAge: g.MinAge.Std(), LateWindow: g.LateWindow.Std(), ReadGrace: g.ReadGrace.Std(),
		MovedGrace: g.MovedGrace.Std(),
		ClaimGrace: g.ClaimGrace.Std(), MultipartStale: g.MultipartStale.Std(),
		BackoffMin: g.BackoffMin.Std(), BackoffMax: g.BackoffMax.Std(), Attempts: g.Attempts, OpsKept: g.OpsKept.Std(),
		OrphanGrace: g.OrphanGrace.Std(),
		PlanAge:     g.PlanAge.Std(), Beat: g.Heartbeat.Std(), ClockJump: g.ClockJump.Std(),
	}.WithDefaults()
}

// endEarlier ends the runs of a process that was killed, and its claims, whichever command finds
// them: as this process has the ledger to itself, none of them goes on. In a shared ledger the
// other instances end them: see hear.
func (s *Store) endEarlier(ctx context.Context) error {
	if s.shared() {
		return nil
	}
	return errors.Join(s.interruptRuns(ctx), s.endClaims(ctx, "", "its process is gone"))
}

// endClaims ends the claims of a process that is gone, of any if process is "": until their grace is
// over, nobody would delete, copy or send what it had claimed.
func (s *Store) endClaims(ctx context.Context, process, why string) error {
	ended, err := s.Ledger.EndClaims(ctx, process)
	if err != nil {
		return err // nothing ended
	}
	for _, r := range ended.Blobs {
		s.Loop.Events.EmitClaimsRecovered(r, why)
	}
	if ended.Placements+ended.Events > 0 {
		s.opt.Log.Info("what a process that is gone was to copy or to send is due now", "contents", ended.Placements, "events", ended.Events)
	}
	return nil
}

// interruptRuns ends runs in progress of other processes.
func (s *Store) interruptRuns(ctx context.Context) error {
	last, _, err := s.Ledger.LastRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range last {
		if r.FinishedAt != 0 || r.Worker == s.worker {
			continue
		}
		n, err := s.Ledger.InterruptRuns(ctx, r.Worker)
		if err != nil {
			return err
		}
		s.opt.Log.Info("runs of an earlier process were interrupted", "worker", r.Worker, "runs", n)
	}
	return nil
}
