package main

import (
	"context"
	"os"

	"github.com/lethe-storage/lethe/bench"
)

func listing(ctx context.Context, args []string) error {
	var l bench.Listing
	f := flags("list")
	f.StringVar(&l.Binary, "lethe", "./lethe", "the lethe binary")
	few := f.Int("few", 10_000, "objects in the small bucket")
	many := f.Int("many", 1_000_000, "objects in the large bucket")
	f.IntVar(&l.Pages, "pages", 300, "pages to ask for")
	f.IntVar(&l.Runs, "runs", 5, "interleaved runs")
	f.StringVar(&l.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	l.Objects = []int{*few, *many}
	runs, err := l.Run(ctx)
	if err != nil {
		return err
	}
	return l.Table(runs).Write(os.Stdout)
}
