//go:build failpoints

package main

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/test/failpoint"
)

// hooked adds the hooks by which the process kills itself, and a clock for
// tests.
func hooked(o app.Options) app.Options {
	o.Clock, o.Boot = failpoint.Clock(lethe.SystemClock{}), lethe.Monotonic{}
	o.Hooks = app.Hooks{
		Step: failpoint.Step, Transactions: failpoint.Transactions, Backend: failpoint.WrapStore, Cache: failpoint.WrapCache,
		Put: failpoint.Putting, RunBeat: failpoint.BeatEvery,
	}
	return o
}
