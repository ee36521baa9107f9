// Command lethe stores objects and forgets them correctly: "lethe serve" runs
// the store, the other commands ask about it and operate it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules have time zones, machines may have no data for them
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

// exitError ends the command with a code of its own.
type exitError struct {
	code int
	err  error // nil: everything was said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run is the command as a function: it answers the exit code.
func run(ctx context.Context, args []string, io streams) int {
	c := &cli{streams: io}
	cmd := c.root()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := 1
	var exit *exitError
	if errors.As(err, &exit) {
		code, err = exit.code, exit.err
	}
	if err != nil {
		printError(io.err, c.pasteable(err.Error()), err)
	}
	return code
}
