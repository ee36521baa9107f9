package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

// flushed is the command that becomes a program whose flushes are counted.
const flushed = "flushed"

// smallFlags are what small is told beside what it measures.
type smallFlags struct {
	programs
	warp, only, do string
	warpTime       time.Duration
	warpKeys       int
	flush, network time.Duration
	count, plain   bool
}

func small(ctx context.Context, args []string) (err error) {
	var s bench.Small
	var o smallFlags
	f := flags("small")
	o.programs.flags(f)
	f.StringVar(&o.warp, "warp", "", "the warp binary, for the steps that need it")
	f.StringVar(&o.only, "only", "", "names of those to measure, of "+strings.Join(smallNames, ", ")+"; empty: all")
	f.StringVar(&o.do, "do", "put,get,delete,reclaim", "steps to measure, of "+strings.Join(bench.SmallSteps, ", "))
	f.DurationVar(&o.warpTime, "warp-time", 8*time.Second, "of warp's puts, and of its gets")
	f.IntVar(&o.warpKeys, "warp-keys", 20_000, "keys that warp deletes")
	f.DurationVar(&o.flush, "flush", 0, "how much longer each flush takes, of the server and of its database")
	f.DurationVar(&o.network, "network", 0, "how much longer each answer of the database takes, in whole milliseconds")
	f.BoolVar(&o.count, "count", false, "count calls of the system and round trips as well; then no time means anything")
	f.BoolVar(&o.plain, "plain", false, "do not watch flushes, to see what that costs")
	f.IntVar(&s.Clients, "clients", 16, "clients side by side")
	f.IntVar(&s.Size, "size", 4096, "bytes of each object, at least 16")
	f.IntVar(&s.Objects, "objects", 4000, "objects to put, to get and to delete")
	f.IntVar(&s.Due, "due", 30_000, "objects that expire")
	f.IntVar(&s.Batch, "batch", 100, "keys of a DeleteObjects")
	f.IntVar(&s.Runs, "runs", 3, "interleaved runs")
	f.StringVar(&s.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	s.Steps = strings.Split(o.do, ",")
	for _, name := range s.Steps {
		if !slices.Contains(bench.SmallSteps, name) {
			return fmt.Errorf("-do: there is no step %q", name)
		}
	}
	s.Warp = &bench.Warp{Binary: o.warp, Time: o.warpTime, Keys: o.warpKeys}
	t := &starter{ctx: ctx}
	defer t.end()
	return t.run(func() error { return o.measure(ctx, t, s) })
}

// measure starts what is needed, measures and prints.
func (o smallFlags) measure(ctx context.Context, t *starter, s bench.Small) (err error) {
	if o.count {
		if s.Strace, err = exec.LookPath("strace"); err != nil {
			return err
		}
	}
	own, err := o.flushes(t)
	if err != nil {
		return err
	}
	var db *bench.Servers
	if o.wants("postgres") || o.wants("postgres-inline") {
		if db, s.Database, err = o.database(ctx, t); err != nil {
			return err
		}
	}
	s.Peers = o.peers(s.Size, own, db)
	fmt.Printf("each flush %v longer, the database %v away\n\n", o.flush, o.network)
	runs, err := s.Run(ctx)
	if len(runs) > 0 {
		err = errors.Join(err, s.Write(os.Stdout, runs))
	}
	return err
}

// flushes begins to count, and ends with t; nil if nothing is to be watched.
func (o smallFlags) flushes(t *starter) (*bench.Flushes, error) {
	if o.plain {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := bench.ListenFlushes(o.flush, self, flushed)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = f.Close() }) // a folder of its own is left at worst
	return f, nil
}

// database starts PostgreSQL.
func (o smallFlags) database(ctx context.Context, t *starter) (*bench.Servers, bench.DatabaseAt, error) {
	f, err := o.flushes(t)
	if err != nil {
		return nil, bench.DatabaseAt{}, err
	}
	pg := servers.NewPostgresUnder(t, f.Command)
	db := &bench.Servers{Postgres: pg.URL}
	at := bench.DatabaseAt{Flushes: f}
	if at.PID, err = bench.PostgresPID(ctx, pg.URL("postgres")); err != nil {
		return nil, at, err
	}
	switch {
	case o.network > 0:
		faults := servers.Proxy(t, pg.Addr)
		faults.Latency(o.network, 0)
		db.Reach = faults.Via
	case o.count:
		if at.Trips, err = bench.CountTrips(pg.Addr); err != nil {
			return nil, at, err
		}
		t.Cleanup(func() { _ = at.Trips.Close() }) // it has served
		db.Reach = func(url string) string { return strings.Replace(url, pg.Addr, at.Trips.Addr(), 1) }
	}
	return db, at, nil
}

// smallNames are those of what can be measured. By default versitygw ends each connection after
// one request; the name alone is with its option to keep them.
var smallNames = []string{"files", "inline", "postgres", "postgres-inline", "versitygw", "versitygw-default", "minio", "rclone"}

func (o smallFlags) wants(name string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), name)
}

// peers are the servers that take turns.
func (o smallFlags) peers(size int, own *bench.Flushes, db *bench.Servers) (out []bench.Peer) {
	files := bench.Lethe(o.lethe, true)
	postgres := bench.Lethe(o.lethe, true)
	files.Name, postgres.Name = "lethe, SQLite", "lethe, PostgreSQL"
	for i, p := range []bench.Peer{
		{Program: files, Store: true},
		{Program: files.Inline(size), Store: true, Inline: true},
		{Program: postgres, Store: true, Servers: db},
		{Program: postgres.Inline(size), Store: true, Inline: true, Servers: db},
		{Program: bench.Versitygw(o.versitygw, true)},
		{Program: bench.Versitygw(o.versitygw, false)},
		{Program: bench.Minio(o.minio)},
		{Program: bench.Rclone(o.rclone)},
	} {
		if o.wants(smallNames[i]) && p.Binary != "" {
			p.Flushes = own
			out = append(out, p)
		}
	}
	return out
}
