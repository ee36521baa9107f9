package app

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

const (
	// instanceBeat is how often an instance says that it is there.
	instanceBeat = 10 * time.Second
	// instanceLook is how often it looks for the others, and tells news.
	instanceLook = 2 * time.Second
	// instanceGone is how long an instance may be silent to be reckoned with.
	instanceGone = 3 * instanceBeat
	// goodbye bounds the time in which one that stops says so.
	goodbye = 5 * time.Second
)

// beat says in the ledger that this instance is there, until ctx ends; then that
// it is not. It ends with an error if a newer instance has changed the ledger so
// that this one must not work on it any more.
func (a *App) beat(ctx context.Context) error {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return nil
	}
	host, _ := os.Hostname() // empty where there is none
	if err := a.agreement.set(a.Config); err != nil {
		a.opt.Log.Warn("this instance cannot compare its configuration with the others'", "error", err)
	}
	info := ledger.InstanceInfo{Host: host, PID: os.Getpid(), Version: a.opt.Version, Roles: a.Config.Roles, S3: a.urls.S3}
	tick := time.NewTicker(instanceLook)
	defer tick.Stop()
	clock, told := lethe.Monotonic{}, lethe.Time(0)
	for {
		self := a.watch.throttle.Self()
		news := int(self.Level) != info.BackoffLevel || self.Reclaiming && !info.Reclaiming
		if now := clock.Now(); news || told == 0 || now.Sub(told) >= instanceBeat {
			info.Digests = a.agreement.digests()
			info.BackoffLevel, info.Reclaiming, told = int(self.Level), self.Reclaiming, now
			if err := a.Ledger.BeatInstance(ctx, a.worker, info); err != nil && ctx.Err() == nil {
				a.opt.Log.Debug("this instance could not send its heartbeat", "error", err)
			}
			a.compare(ctx)
		}
		a.hear(ctx)
		if err := a.Ledger.Understood(ctx); errors.Is(err, sqlledger.ErrOutdated) {
			return err
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
			defer cancel()
			if err := a.Ledger.RemoveInstance(last, a.worker); err != nil {
				a.opt.Log.Debug("this instance could not announce its stop", "error", err)
			}
			return nil
		case <-tick.C:
		}
	}
}

// hear looks what the other instances tell. One that cannot ask goes on with what
// it knew.
func (a *App) hear(ctx context.Context) {
	if !a.shared() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, instanceLook)
	defer cancel()
	if list, err := a.Ledger.Instances(ctx, instanceGone); err == nil {
		a.setPeers(list)
	}
}
