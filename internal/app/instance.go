package app

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

const (
	// instanceBeat is the interval of an instance's heartbeat.
	instanceBeat = 10 * time.Second
	// instanceLook is how often it reads the others' heartbeats, and logs
	// differences.
	instanceLook = 2 * time.Second
	// instanceAsk is how often it looks for a question of another instance's status.
	instanceAsk = 500 * time.Millisecond
	// instanceGone is how long an instance without a heartbeat still counts.
	instanceGone = 3 * instanceBeat
	// endAgain is how long the claims of such an instance are looked for after that.
	endAgain = time.Minute
	// goodbye bounds the time in which a stopping instance records that.
	goodbye = 5 * time.Second
)

// beat records this instance's heartbeat in the ledger until ctx ends, and then its
// stop. It returns an error if a newer instance has changed the ledger so that this
// one must not work on it any more.
func (a *App) beat(ctx context.Context) error {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return nil
	}
	host, _ := os.Hostname() // empty if there is none
	if err := a.agreement.set(a.Config); err != nil {
		a.opt.Log.Warn("this instance cannot compare its configuration with the others'", "error", err)
	}
	info := ledger.InstanceInfo{Host: host, PID: os.Getpid(), Version: a.opt.Version, Roles: a.Config.Roles, S3: a.urls.S3}
	tick := time.NewTicker(instanceAsk)
	defer tick.Stop()
	clock, told, looked := lethe.Monotonic{}, lethe.Time(0), lethe.Time(0)
	var ended map[string]lethe.Time
	for {
		self, now, asked := a.watch.throttle.Self(), clock.Now(), a.asked(ctx, info.Answered)
		look := looked == 0 || now.Sub(looked) >= instanceLook
		news := look && (int(self.Level) != info.BackoffLevel || self.Reclaiming && !info.Reclaiming)
		if news || asked != info.Answered || told == 0 || now.Sub(told) >= instanceBeat {
			info.Answered, info.Digests, info.Findings = asked, a.agreement.digests(), a.admin.Report(ctx)
			info.BackoffLevel, info.Reclaiming, told = int(self.Level), self.Reclaiming, now
			a.tell(ctx, info)
		}
		if look {
			looked = now
			ended = a.hear(ctx, ended)
			if err := a.understood(ctx); errors.Is(err, sqlledger.ErrOutdated) {
				return err
			}
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

// tell sends a heartbeat, and compares configurations. It gives up in time for the next one:
// without heartbeats the others end the claims of this instance.
func (a *App) tell(ctx context.Context, info ledger.InstanceInfo) {
	in, cancel := context.WithTimeout(ctx, instanceBeat)
	defer cancel()
	if err := a.Ledger.BeatInstance(in, a.worker, info); err != nil && ctx.Err() == nil {
		a.opt.Log.Debug("this instance could not send its heartbeat", "error", err)
	}
	a.compare(in)
}

// understood returns sqlledger.ErrOutdated if a newer instance has changed the ledger so that
// this one must not work on it.
func (a *App) understood(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, instanceBeat)
	defer cancel()
	return a.Ledger.Understood(ctx)
}

// asked returns the number of the last question to this instance; if it cannot be read,
// answered, that of the last answer.
func (a *App) asked(ctx context.Context, answered int64) int64 {
	if !a.shared() {
		return answered
	}
	ctx, cancel := context.WithTimeout(ctx, instanceLook)
	defer cancel()
	if n, err := a.Ledger.AskedOf(ctx, a.worker); err == nil {
		return n
	}
	return answered
}

// hear reads the heartbeats of the other instances, and ends the claims of those that are silent.
// It takes and returns the last heartbeats of those whose claims it has ended. If it fails, what was
// known stays in use.
func (a *App) hear(ctx context.Context, ended map[string]lethe.Time) map[string]lethe.Time {
	if !a.shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, instanceLook)
	defer cancel()
	// Claims of instances that are silent for longer than that end by their age.
	known, err := a.Ledger.Instances(ctx, instanceGone+a.safety.ClaimGrace)
	if err != nil {
		return ended
	}
	list, err := a.Ledger.Instances(ctx, instanceGone)
	if err != nil {
		return ended
	}
	a.setPeers(list)
	latest := lethe.Time(0)
	for _, i := range known {
		latest = max(latest, i.BeatAt)
	}
	silent := map[string]lethe.Time{}
	for _, i := range known {
		alive := i.ID == a.worker || slices.ContainsFunc(list, func(o ledger.Instance) bool { return o.ID == i.ID })
		// Its last session may have rows locked for a while, which are skipped.
		again := latest.Sub(i.BeatAt) < instanceGone+endAgain
		if !alive && (ended[i.ID] == i.BeatAt && !again || a.endClaims(ctx, i.ID, "no heartbeat") == nil) {
			silent[i.ID] = i.BeatAt
		}
	}
	return silent
}
