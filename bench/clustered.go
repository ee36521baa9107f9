package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Servers are the servers of a store on servers.
type Servers struct {
	Postgres func(database string) string // URL of a database on the cluster; "postgres" exists
	Reach    func(url string) string      // the same as a store reaches it; nil: directly
	Redis    string                       // URL; empty: none
	S3       Program                      // whose objects are plain files below "root"; without a binary: a folder is the backend
	Dir      string                       // of the S3 server
}

// ClusterComparison holds the engine on PostgreSQL, S3 and Redis against the S3
// server and the database alone, and against a program without batches.
type ClusterComparison struct {
	Dataset
	Engine   Engine
	Servers  Servers
	Runs     int
	OneByOne int  // objects for the program without batches; 0: none
	RowsOnly bool // only the database, with a backend that answers at once
	// Reclaim runs the engine; nil: in this process.
	Reclaim func(ctx context.Context, c Cluster) (Work, error)

	s3   *server
	next int
}

// Clustered is what was measured, run by run.
type Clustered struct {
	Work     []Work // with everything
	Rows     []Work // without bytes: the database's own rate
	One      []Work
	Deletes  Series // keys per second, of the S3 server alone
	Database []Spent
	Objects  int
	// Samples are of the runs with everything, or of those without bytes if there are
	// no others.
	Samples [][]Sample
}

// Spent is what the servers used up during a run.
type Spent struct {
	Active   time.Duration // of statements, added up over connections
	Postgres time.Duration // processor time
	S3       time.Duration
}

// Run measures, interleaved.
func (c *ClusterComparison) Run(ctx context.Context) (out Clustered, err error) {
	out.Objects = c.Objects
	if !c.RowsOnly {
		if c.s3, err = c.Servers.S3.start(ctx, c.Servers.Dir); err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, c.s3.stop()) }()
	}
	for range c.Runs {
		if err := errors.Join(c.whole(ctx, &out), c.keysOnly(ctx, &out), c.rowsOnly(ctx, &out), c.one(ctx, &out)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// on fills a fresh database and bucket, lets fn work on them, and removes them.
func (c *ClusterComparison) on(ctx context.Context, d Dataset, bytes bool, fn func(Cluster) error) (err error) {
	c.next++
	name := fmt.Sprintf("run%d", c.next)
	at := Cluster{Postgres: c.Servers.Postgres(name), Redis: c.Servers.Redis}
	if bytes {
		at.Endpoint, at.Bucket = c.s3.URL, name
	}
	root := filepath.Join(c.Servers.Dir, "root")
	if bytes {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Join(root, name))) }()
	}
	if err := c.admin(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)")) }()
	if err := d.FillCluster(ctx, at, root, lethe.SystemClock{}.Now()); err != nil {
		return err
	}
	return fn(at)
}

func (c *ClusterComparison) admin(ctx context.Context, query string) error {
	conn, err := connect(ctx, c.Servers.Postgres("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

func (c *ClusterComparison) reclaim(ctx context.Context, at Cluster) (Work, error) {
	if c.Reclaim != nil {
		return c.Reclaim(ctx, at)
	}
	return c.Engine.ReclaimCluster(ctx, at)
}

// observed is reclaim with the database watched.
func (c *ClusterComparison) observed(ctx context.Context, at Cluster, out *Clustered) (w Work, err error) {
	samples, err := observe(ctx, at.Postgres, func() (err error) {
		w, err = c.reclaim(ctx, at)
		return err
	})
	out.Samples = append(out.Samples, samples)
	return w, err
}

// whole is the engine with everything.
func (c *ClusterComparison) whole(ctx context.Context, out *Clustered) error {
	if c.RowsOnly {
		return nil
	}
	return c.on(ctx, c.Dataset, true, func(at Cluster) error {
		before, err := c.spent(ctx, at)
		if err != nil {
			return err
		}
		w, err := c.observed(ctx, at, out)
		if err != nil {
			return err
		}
		after, err := c.spent(ctx, at)
		out.Work = append(out.Work, w)
		out.Database = append(out.Database, Spent{after.Active - before.Active, after.Postgres - before.Postgres, after.S3 - before.S3})
		return errors.Join(err, at.Audit(ctx, int64(c.Living)))
	})
}

// spent reads what the servers have used up so far.
func (c *ClusterComparison) spent(ctx context.Context, at Cluster) (s Spent, err error) {
	conn, err := connect(ctx, at.Postgres)
	if err != nil {
		return s, err
	}
	var pid int
	var active float64
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid(), active_time FROM pg_stat_database WHERE datname = current_database()").Scan(&pid, &active)
	s.Active = time.Duration(active * float64(time.Millisecond))
	s.Postgres, s.S3 = familyCPU(parentOf(pid)), cpuOf(c.s3.cmd.Process.Pid)
	return s, errors.Join(err, conn.Close(ctx))
}

// family is a process with its children.
func family(parent int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && (n == parent || parentOf(n) == parent) {
			pids = append(pids, n)
		}
	}
	return pids
}

// familyCPU is the processor time of a process, its children, and those of them that have
// ended.
func familyCPU(parent int) (sum time.Duration) {
	for _, n := range family(parent) {
		sum += cpuOf(n)
	}
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", parent))
	_, rest, _ := strings.Cut(string(data), ") ")
	if f := strings.Fields(rest); len(f) > 14 {
		user, _ := strconv.ParseInt(f[13], 10, 64)
		system, _ := strconv.ParseInt(f[14], 10, 64)
		sum += time.Duration(user+system) * 10 * time.Millisecond
	}
	return sum
}

func parentOf(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// keysOnly is the S3 server alone: the same keys, by calls of a batch each.
func (c *ClusterComparison) keysOnly(ctx context.Context, out *Clustered) (err error) {
	if c.RowsOnly {
		return nil
	}
	c.next++
	at := Cluster{Endpoint: c.s3.URL, Bucket: fmt.Sprintf("run%d", c.next)}
	folder := filepath.Join(c.Servers.Dir, "root", at.Bucket)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	keys, err := c.Dataset.FillBytes(ctx, at, filepath.Dir(folder), lethe.SystemClock{}.Now())
	if err != nil {
		return err
	}
	took, err := at.DeleteRate(ctx, keys, c.Engine)
	out.Deletes = append(out.Deletes, float64(c.Objects)/took.Seconds())
	return err
}

// rowsOnly is the engine on the database alone.
func (c *ClusterComparison) rowsOnly(ctx context.Context, out *Clustered) error {
	return c.on(ctx, c.Dataset, false, func(at Cluster) error {
		measure := c.reclaim
		if c.RowsOnly {
			measure = func(ctx context.Context, at Cluster) (Work, error) { return c.observed(ctx, at, out) }
		}
		w, err := measure(ctx, at)
		out.Rows = append(out.Rows, w)
		return errors.Join(err, at.Audit(ctx, int64(c.Living)))
	})
}

func (c *ClusterComparison) one(ctx context.Context, out *Clustered) error {
	if c.OneByOne == 0 || c.RowsOnly {
		return nil
	}
	few := c.Dataset
	few.Objects, few.Living = c.OneByOne, max(0, min(c.Objects, 50_000)-c.OneByOne)
	return c.on(ctx, few, true, func(at Cluster) error {
		w, err := SinglyCluster(ctx, at, c.OneByOne)
		out.One = append(out.One, w)
		return err
	})
}
