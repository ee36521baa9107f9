package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

func room(ctx context.Context, args []string) error {
	var r bench.Room
	f := flags("room")
	f.StringVar(&r.Binary, "lethe", "./lethe", "the lethe binary")
	rows := f.String("rows", "100000,1000000", "objects in the ledger, each number measured by itself")
	f.IntVar(&r.Due, "due", 100_000, "of them expire, the oldest")
	f.IntVar(&r.Size, "size", 4096, "bytes of each")
	f.IntVar(&r.Puts, "puts", 50_000, "objects that clients put into another ledger; 0: none")
	f.IntVar(&r.Engine.Workers, "workers", 2, "workers of each routine")
	postgres := f.Bool("postgres", false, "the ledger in PostgreSQL, which is started for it")
	f.StringVar(&r.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*rows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
		r.Rows = append(r.Rows, n)
	}
	// Clean finds nothing, and would look for it again and again.
	r.Engine.Apart = true
	r.Reclaim, r.ReclaimCluster = apart(r.Engine), onCluster(r.Engine)
	t := &starter{ctx: ctx}
	defer t.end()
	return t.run(func() error {
		if *postgres {
			r.Servers = &bench.Servers{Postgres: servers.NewPostgres(t).URL}
		}
		filled, put, err := r.Run(ctx)
		if len(filled) > 0 {
			err = errors.Join(err, r.Table(filled, put).Write(os.Stdout))
		}
		return err
	})
}
