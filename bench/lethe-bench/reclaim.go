package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/lethe-storage/lethe/bench"
)

// memoryLimit is that of "lethe serve" with its default cache.
const memoryLimit = 176 << 20

// onCluster is apart for a store on servers.
func onCluster(e bench.Engine) func(ctx context.Context, c bench.Cluster) (bench.Work, error) {
	return func(ctx context.Context, c bench.Cluster) (bench.Work, error) {
		where, err := json.Marshal(c)
		if err != nil {
			return bench.Work{}, err
		}
		return apart(e)(ctx, string(where))
	}
}

// apart runs the engine in a process of its own, so that its memory can be told
// from ours.
func apart(e bench.Engine) func(ctx context.Context, dir string) (bench.Work, error) {
	return func(ctx context.Context, dir string) (w bench.Work, err error) {
		self, err := os.Executable()
		if err != nil {
			return w, err
		}
		how, err := json.Marshal(e)
		if err != nil {
			return w, err
		}
		cmd := exec.CommandContext(ctx, self, "engine", string(how), dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return w, fmt.Errorf("engine: %w", err)
		}
		return w, json.Unmarshal(out, &w)
	}
}

// engine is that process.
func engine(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("engine is called by reclaim")
	}
	var e bench.Engine
	if err := json.Unmarshal([]byte(args[0]), &e); err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryLimit)
	var c bench.Cluster
	var w bench.Work
	var err error
	if json.Unmarshal([]byte(args[1]), &c) == nil {
		w, err = e.ReclaimCluster(ctx, c)
	} else {
		w, err = e.Reclaim(ctx, args[1])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(w)
}

func reclaiming(ctx context.Context, args []string) error {
	var c bench.Comparison
	var profile string
	f := flags("reclaim")
	f.IntVar(&c.Objects, "objects", 100_000, "objects that are due")
	f.IntVar(&c.Living, "living", 0, "objects beside them that are not")
	f.IntVar(&c.Size, "size", 1024, "bytes of each")
	f.BoolVar(&c.Inline, "inline", false, "the bytes lie in the ledger")
	f.IntVar(&c.Shared, "shared", 0, "percent of the objects that share contents, ten each")
	f.BoolVar(&c.Shuffled, "shuffled", false, "keys in random order instead of the order of writing")
	f.IntVar(&c.Runs, "runs", 5, "interleaved runs")
	f.IntVar(&c.OneByOne, "one", 2000, "objects for the run one at a time; 0: none")
	f.IntVar(&c.Engine.Batch, "batch", 1000, "objects per transaction and per call")
	f.IntVar(&c.Engine.Workers, "workers", 2, "workers of each routine")
	f.DurationVar(&c.Engine.ReadGrace, "grace", 0, "read_grace; the clock is set forward by it")
	f.StringVar(&c.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	f.StringVar(&profile, "cpuprofile", "", "write a CPU profile to this file")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.Reclaim = apart(c.Engine)
	if profile != "" {
		c.Reclaim = nil
	}
	return profiled(profile, func() error {
		got, err := c.Run(ctx)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("Reclaiming %d objects of %d bytes, %d %% sharing, read_grace %v, median of %d runs (smallest..largest)",
			c.Objects, c.Size, c.Shared, c.Engine.ReadGrace, c.Runs)
		return got.Table(title).Write(os.Stdout)
	})
}
