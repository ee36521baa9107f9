package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

func disturbing(ctx context.Context, args []string) error {
	var d bench.Interference
	f := flags("disturb")
	f.StringVar(&d.Binary, "lethe", "./lethe", "the lethe binary")
	f.IntVar(&d.Objects, "objects", 60_000, "objects of one wave")
	f.IntVar(&d.Waves, "waves", 5, "waves of objects that expire, beside each value of reclaim.yield")
	f.DurationVar(&d.Every, "every", 35*time.Second, "from wave to wave")
	f.DurationVar(&d.Start, "start", 20*time.Second, "until the first wave: objects are given their due times meanwhile, some 30,000 a second")
	f.IntVar(&d.Size, "size", 1024, "bytes of each")
	f.IntVar(&d.Clients, "clients", 16, "clients: half of them put, half of them get")
	f.DurationVar(&d.Time, "time", 6*time.Second, "of load, at rest and in each wave")
	f.Float64Var(&d.Rate, "rate", 0, "requests per second, half of them puts; 0: as many as the clients can")
	f.BoolVar(&d.Inline, "inline", false, "the bytes lie in the ledger")
	yields := f.String("yields", "0,1.2", "values of reclaim.yield that take turns")
	postgres := f.Bool("postgres", false, "the ledger in PostgreSQL, the bytes in a folder or in the ledger")
	binary := f.String("versitygw", "", "the versitygw binary: measure on PostgreSQL, it as the S3 server, and Redis; empty: on SQLite and files")
	f.StringVar(&d.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	for y := range strings.SplitSeq(*yields, ",") {
		n, err := strconv.ParseFloat(y, 64)
		if err != nil {
			return fmt.Errorf("-yields: %w", err)
		}
		d.Yields = append(d.Yields, n)
	}
	t := &starter{ctx: ctx}
	defer t.end()
	return t.run(func() error {
		if *postgres {
			d.Servers = &bench.Servers{Postgres: servers.NewPostgres(t).URL}
		}
		if *binary != "" {
			d.Servers = &bench.Servers{
				Postgres: servers.NewPostgres(t).URL, Redis: "redis://" + servers.NewRedis(t).Addr, S3: bench.Versitygw(*binary, true),
			}
		}
		runs, err := d.Run(ctx)
		if len(runs) > 0 {
			err = errors.Join(err, d.Table(runs).Write(os.Stdout))
		}
		return err
	})
}
