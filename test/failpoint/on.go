//go:build failpoints

package failpoint

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// BeatEvery is how often a run shows that it lives: short ones do, too.
const BeatEvery = 20 * time.Millisecond

var (
	armed  = os.Getenv("LETHE_FAILPOINT")
	passed atomic.Int64
)

// Clock returns c, or, where LETHE_CLOCK_AHEAD names a file, a clock that is ahead of c
// by the duration in it, as if somebody had set the machine's.
func Clock(c lethe.Clock) lethe.Clock {
	if file := os.Getenv("LETHE_CLOCK_AHEAD"); file != "" {
		return setForward{c, file}
	}
	return c
}

type setForward struct {
	lethe.Clock
	file string
}

// Now implements lethe.Clock.
func (s setForward) Now() lethe.Time {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return s.Clock.Now()
	}
	ahead, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	return s.Clock.Now().Add(ahead)
}

// isArmed says whether the point is the chosen one.
func isArmed(point string) bool {
	name, _, _ := strings.Cut(armed, ":")
	return name == point
}

// at kills the process if it is at the armed point for the chosen time, or has the
// goroutine stand still there.
func at(point string) {
	if !isArmed(point) {
		return
	}
	_, rest, _ := strings.Cut(armed, ":")
	times, stop := strings.CutSuffix(rest, ":stop")
	n, err := strconv.ParseInt(times, 10, 64)
	if err != nil {
		n = 1
	}
	if passed.Add(1) != n {
		return
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	fmt.Fprintf(os.Stderr, "failpoint %s reached\n", armed)
	if stop {
		<-woken
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// around runs an effect between its two points.
func around[T any](step string, effect func() (T, error)) (T, error) {
	at(step + "/before")
	out, err := effect()
	at(step + "/after")
	return out, err
}

// alone is around for effects without an answer.
func alone(step string, effect func() error) error {
	_, err := around(step, func() (struct{}, error) { return struct{}{}, effect() })
	return err
}

// Step runs a step of opening a data folder between its two points.
func Step(name string, effect func() error) error { return alone("open-"+name, effect) }

// Transactions is a sqlledger.Watch that has the points of the ledger's transitions.
func Transactions(ctx context.Context, name string) (context.Context, func(sqlledger.Transaction)) {
	step, ok := transitions[name]
	if !ok {
		return ctx, func(sqlledger.Transaction) {}
	}
	at(step + "/before")
	return ctx, func(sqlledger.Transaction) { at(step + "/after") }
}
