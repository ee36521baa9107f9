package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

func intents(ctx context.Context, args []string) error {
	var c bench.IntentCost
	f := flags("intent")
	f.IntVar(&c.Puts, "puts", 5000, "puts of a run")
	f.IntVar(&c.Size, "size", 4096, "bytes of each, at least 8")
	f.IntVar(&c.Clients, "clients", 16, "puts at once")
	f.IntVar(&c.Runs, "runs", 5, "interleaved runs")
	f.StringVar(&c.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	postgres := f.Bool("postgres", false, "the ledger in PostgreSQL, which is started for it")
	if err := f.Parse(args); err != nil {
		return err
	}
	t := &starter{ctx: ctx}
	defer t.end()
	return t.run(func() error {
		if *postgres {
			pg := servers.NewPostgres(t)
			c.Database = func(ctx context.Context, run int) (string, error) { return fresh(ctx, pg, fmt.Sprintf("run%d", run)) }
		}
		with, before, err := c.Run(ctx)
		if err != nil {
			return err
		}
		return c.Table(with, before).Write(os.Stdout)
	})
}

// fresh makes a database.
func fresh(ctx context.Context, pg *servers.PostgresServer, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, pg.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }() // it has done its work
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		return "", err
	}
	return pg.URL(name), nil
}
