// Command lethe is an object store that deletes correctly: "lethe serve" runs
// it, the other commands query and operate it. Flags, output and exit codes are
// here; the store itself is assembled in package app, adoption in package
// adoption.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules have time zones, for which machines may lack data

	"github.com/lethe-storage/lethe/internal/app/adoption"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the command's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitError ends the command with its own exit code.
type exitError struct {
	code int
	err  error // nil if everything was printed already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run is the command as a function. It returns the exit code.
func run(ctx context.Context, args []string, io streams) int {
	c := &cli{streams: io, clockWatch: new(adoption.ClockWatch)}
	cmd := c.root()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code, err := codeOf(err)
	if err != nil {
		printError(io.err, c.pasteable(err.Error()), err)
	}
	return code
}
