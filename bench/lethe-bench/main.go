// Command lethe-bench measures Lethe on this machine and prints tables; see
// docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"

	"github.com/lethe-storage/lethe/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lethe-bench:", err)
		os.Exit(1)
	}
}

const usage = "usage: lethe-bench reclaim|cluster|serve|small|room|list|idle|disturb|intent|memory [flags]; -h after the command lists its flags"

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	switch args[0] {
	case "reclaim":
		return reclaiming(ctx, args[1:])
	case "serve":
		return serving(ctx, args[1:])
	case "small":
		return small(ctx, args[1:])
	case "room":
		return room(ctx, args[1:])
	case flushed:
		return bench.Flushed(args[1:])
	case "list":
		return listing(ctx, args[1:])
	case "idle":
		return idleGets(ctx, args[1:])
	case "engine":
		return engine(ctx, args[1:])
	case "cluster":
		return clustered(ctx, args[1:])
	case "disturb":
		return disturbing(ctx, args[1:])
	case "intent":
		return intents(ctx, args[1:])
	case "memory":
		return memory(ctx, args[1:])
	}
	return fmt.Errorf("no command %q\n%s", args[0], usage)
}

// profiled runs fn, with a CPU profile if a path is given.
func profiled(path string, fn func() error) error {
	if path == "" {
		return fn()
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

// flags makes the flags of a command.
func flags(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }
