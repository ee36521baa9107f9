package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Room measures how large a ledger is beside the bytes that lie in it, what is left of
// that when objects have expired, and how fast they do, out of few rows and of many.
type Room struct {
	Rows    []int // objects, each number measured by itself
	Due     int   // of them, the oldest
	Size    int
	Puts    int    // objects that clients put, for the size of a ledger as it grows; 0: none
	Binary  string // of lethe, for these
	Engine  Engine
	Dir     string
	Servers *Servers // where the ledger lies; nil: in a file
	// Reclaim runs the engine on the store, see Comparison and ClusterComparison.
	Reclaim        func(ctx context.Context, dir string) (Work, error)
	ReclaimCluster func(ctx context.Context, c Cluster) (Work, error)
}

// Taken is what one number of rows took.
type Taken struct {
	Rows, Due int
	Fill      time.Duration
	Empty     int64         // bytes of the ledger before
	Full      int64         // with all rows
	Left      int64         // when what was due is gone, and unused room was given back
	Swept     time.Duration // what that took of the index by digest, on SQLite
	Again     int64         // when as many were written again
	Work      Work
}

// Run measures; filled are by number of rows, put is of what clients put.
func (r Room) Run(ctx context.Context) (filled []Taken, put *Taken, err error) {
	dir, err := os.MkdirTemp(r.Dir, "lethe-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, rows := range r.Rows {
		at := filepath.Join(dir, fmt.Sprint("rows", i))
		got, err := r.rows(ctx, at, rows)
		if err := errors.Join(err, os.RemoveAll(at)); err != nil {
			return filled, nil, err
		}
		filled = append(filled, got)
	}
	if r.Puts == 0 {
		return filled, nil, nil
	}
	got, err := r.puts(ctx, filepath.Join(dir, "puts"))
	return filled, &got, err
}

// roomDatabase is the database that is measured.
const roomDatabase = "room"

func (r Room) rows(ctx context.Context, dir string, rows int) (t Taken, err error) {
	t = Taken{Rows: rows, Due: min(r.Due, rows)}
	d := Dataset{Size: r.Size, Inline: true, Oldest: true}
	if t.Empty, err = r.emptied(ctx, dir, d); err != nil {
		return t, err
	}
	d.Objects, d.Living = t.Due, rows-t.Due
	t.Fill, err = timed(func() error {
		_, err := d.ground(ctx, filepath.Join(dir, "full"), roomDatabase, r.Servers)
		return err
	})
	if err != nil {
		return t, err
	}
	dir = filepath.Join(dir, "full")
	if t.Full, err = r.size(ctx, dir); err != nil {
		return t, err
	}
	if t.Due == 0 {
		t.Left = t.Full
		return t, nil
	}
	if r.Servers != nil {
		t.Work, err = r.ReclaimCluster(ctx, Cluster{Postgres: r.Servers.Postgres(roomDatabase)})
	} else {
		t.Work, err = r.Reclaim(ctx, dir)
	}
	if err == nil {
		t.Swept, err = r.giveBack(ctx, dir)
	}
	if err == nil {
		t.Left, err = r.size(ctx, dir)
	}
	if err != nil {
		return t, err
	}
	d.Objects, d.Living, d.Before = 0, t.Due, rows
	if _, err = d.ground(ctx, dir, roomDatabase, r.Servers); err == nil {
		t.Again, err = r.size(ctx, dir)
	}
	return t, err
}

// emptied is the size of a ledger without rows.
func (r Room) emptied(ctx context.Context, dir string, d Dataset) (int64, error) {
	for _, name := range []string{"empty", "full"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return 0, err
		}
	}
	if _, err := d.ground(ctx, filepath.Join(dir, "empty"), roomDatabase, r.Servers); err != nil {
		return 0, err
	}
	return r.size(ctx, filepath.Join(dir, "empty"))
}

// size is how many bytes the ledger takes, its write-ahead log left out.
func (r Room) size(ctx context.Context, dir string) (n int64, err error) {
	if r.Servers == nil {
		info, err := os.Stat(LedgerPath(dir))
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	conn, err := connect(ctx, r.Servers.Postgres(roomDatabase))
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	return n, errors.Join(err, conn.Close(ctx))
}

// giveBack does what a server does in time: the purge routine on a file, autovacuum on
// PostgreSQL.
func (r Room) giveBack(ctx context.Context, dir string) (swept time.Duration, err error) {
	if r.Servers != nil {
		conn, err := connect(ctx, r.Servers.Postgres(roomDatabase))
		if err != nil {
			return 0, err
		}
		_, err = conn.Exec(ctx, "VACUUM")
		return 0, errors.Join(err, conn.Close(ctx))
	}
	db, err := sqlledger.Open(ctx, LedgerPath(dir), ledger.Options{})
	if err != nil {
		return 0, err
	}
	swept, err = timed(func() (err error) {
		for at, more := "", true; more && err == nil; more = at != "" {
			at, _, err = db.SweepDigests(ctx, at, 1000)
		}
		return err
	})
	if err == nil {
		_, err = db.Vacuum(ctx, math.MaxInt32)
	}
	return swept, errors.Join(err, db.Close())
}

// puts has clients fill a ledger.
func (r Room) puts(ctx context.Context, dir string) (t Taken, err error) {
	t = Taken{Rows: r.Puts}
	d := Dataset{Size: r.Size, Inline: true}
	if t.Empty, err = r.emptied(ctx, dir, d); err != nil {
		return t, err
	}
	dir = filepath.Join(dir, "full")
	at, err := d.ground(ctx, dir, roomDatabase, r.Servers)
	if err != nil {
		return t, err
	}
	const clients = 16
	srv, err := Lethe(r.Binary, false, at.env...).Inline(r.Size).start(ctx, dir)
	if err != nil {
		return t, err
	}
	t.Fill, err = timed(func() error {
		if _, err := srv.Do(ctx, http.MethodPut, "/load", nil); err != nil {
			return err
		}
		_, err := Load{Clients: clients, Objects: r.Puts, Size: r.Size, Bucket: "load"}.Put(ctx, srv.Target)
		return err
	})
	if err := errors.Join(err, srv.stop()); err != nil {
		return t, err
	}
	t.Full, err = r.size(ctx, dir)
	t.Left = t.Full
	return t, err
}

// Table reports what was measured.
func (r Room) Table(filled []Taken, put *Taken) *Table {
	t := &Table{Title: fmt.Sprintf("A ledger with contents of %d bytes each", r.Size)}
	for _, f := range filled {
		f.rows(t, fmt.Sprintf("%d rows: ", f.Rows), r.Size)
		if f.Due == 0 {
			continue
		}
		name := fmt.Sprintf("%d rows, %d expired: ", f.Rows, f.Due)
		t.Add(name+"objects/s", short(f.Work.Rate()))
		t.Add(name+"transactions per 1,000", short(1000*float64(f.Work.Commits)/float64(f.Work.Objects)))
		t.Add(name+"pages written per object", short(float64(f.Work.Written)/pageBytes/float64(f.Work.Objects)))
		t.Add(name+"pages visited, rows read per object", fmt.Sprintf("%s, %s",
			short(float64(f.Work.Visited)/float64(f.Work.Objects)), short(float64(f.Work.Rows)/float64(f.Work.Objects))))
		t.Add(name+"peak memory, MiB", short(float64(f.Work.Peak)/(1<<20)))
		t.Add(name+"digests swept afterwards in", f.Swept.Round(100*time.Millisecond))
		t.Add(name+"MiB left", short(float64(f.Left)/(1<<20)))
		t.Add(name+"MiB when as many were written again", short(float64(f.Again)/(1<<20)))
		if given := float64(f.Full - f.Left); f.Full > f.Empty {
			t.Add(name+"share of its room given back", short(given/(float64(f.Full-f.Empty)*float64(f.Due)/float64(f.Rows))))
		}
	}
	if put != nil {
		put.rows(t, fmt.Sprintf("%d objects put by clients: ", put.Rows), r.Size)
	}
	return t
}

func (t Taken) rows(out *Table, name string, size int) {
	out.Add(name+"MiB", short(float64(t.Full)/(1<<20)))
	out.Add(name+"times the bytes in it", short(float64(t.Full-t.Empty)/float64(t.Rows*size)))
	out.Add(name+"written in", t.Fill.Round(100*time.Millisecond))
}
