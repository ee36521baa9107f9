package app

import (
	"context"
	"os"
	"time"

	"github.com/lethe-storage/lethe/meta"
)

const (
	// instanceBeat is how often an instance says that it is there.
	instanceBeat = 10 * time.Second
	// goodbye bounds the time in which one that stops says so.
	goodbye = 5 * time.Second
)

// beat says in the ledger that this instance is there, until ctx ends; then that
// it is not.
func (a *App) beat(ctx context.Context) {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return
	}
	host, _ := os.Hostname() // empty where there is none
	if err := a.agreement.set(a.Config); err != nil {
		a.opt.Log.Warn("this instance cannot compare its configuration with the others'", "error", err)
	}
	info := meta.InstanceInfo{Host: host, PID: os.Getpid(), Version: a.opt.Version, Roles: a.Config.Roles, S3: a.urls.S3}
	tick := time.NewTicker(instanceBeat)
	defer tick.Stop()
	for {
		info.Digests = a.agreement.digests()
		if err := a.Ledger.BeatInstance(ctx, a.worker, info); err != nil && ctx.Err() == nil {
			a.opt.Log.Debug("this instance could not say that it is there", "error", err)
		}
		a.compare(ctx)
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
			defer cancel()
			if err := a.Ledger.RemoveInstance(last, a.worker); err != nil {
				a.opt.Log.Debug("this instance could not say that it stops", "error", err)
			}
			return
		case <-tick.C:
		}
	}
}
