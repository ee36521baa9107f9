package main

import (
	"context"
	"os"
	"strings"

	"github.com/lethe-storage/lethe/bench"
)

func idleGets(ctx context.Context, args []string) error {
	var g bench.IdleGets
	f := flags("idle")
	f.StringVar(&g.Binary, "lethe", "./lethe", "the lethe binary")
	f.IntVar(&g.Objects, "objects", 2000, "objects in each bucket")
	f.IntVar(&g.Gets, "gets", 12_000, "gets in each run")
	f.IntVar(&g.Runs, "runs", 11, "runs of each bucket, interleaved")
	idle := f.String("idle", "7d,1m", "idle times, each compared with none")
	f.StringVar(&g.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	g.Idle = strings.Split(*idle, ",")
	runs, err := g.Run(ctx)
	if err != nil {
		return err
	}
	return g.Table(runs).Write(os.Stdout)
}
