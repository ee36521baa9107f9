package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

func clustered(ctx context.Context, args []string) (err error) {
	var c bench.ClusterComparison
	var binary, workers string
	f := flags("cluster")
	f.StringVar(&binary, "versitygw", "versitygw", "the versitygw binary, the S3 server")
	f.IntVar(&c.Objects, "objects", 100_000, "objects that are due")
	f.IntVar(&c.Size, "size", 1024, "bytes of each")
	f.BoolVar(&c.Inline, "inline", false, "the bytes lie in the ledger")
	f.IntVar(&c.Shared, "shared", 0, "percent of the objects that share contents, ten each")
	f.IntVar(&c.Runs, "runs", 5, "interleaved runs")
	f.IntVar(&c.OneByOne, "one", 500, "objects for the run one at a time; 0: none")
	f.IntVar(&c.Engine.Batch, "batch", 1000, "objects per transaction and per call")
	f.StringVar(&workers, "workers", "2", "workers of each routine; several numbers are measured one after the other")
	f.BoolVar(&c.RowsOnly, "rows", false, "only the database, with a backend that answers at once")
	f.StringVar(&c.Servers.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if c.Servers.Dir, err = os.MkdirTemp(c.Servers.Dir, "lethe-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.Servers.Dir)) }()
	t := &starter{ctx: ctx}
	defer t.end()
	return t.run(func() error {
		pg := servers.NewPostgres(t)
		c.Servers.Postgres = pg.URL
		c.Servers.Redis = "redis://" + servers.NewRedis(t).Addr
		c.Servers.S3 = bench.Versitygw(binary, true)
		for n := range strings.SplitSeq(workers, ",") {
			if c.Engine.Workers, err = strconv.Atoi(n); err != nil {
				return err
			}
			if err := measureCluster(ctx, &c); err != nil {
				return err
			}
		}
		return nil
	})
}

func measureCluster(ctx context.Context, c *bench.ClusterComparison) error {
	c.Reclaim = onCluster(c.Engine)
	got, err := c.Run(ctx)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("PostgreSQL, versitygw and Redis: %d objects of %d bytes, %d %% sharing, %d workers of each, median of %d runs (smallest..largest)",
		c.Objects, c.Size, c.Shared, c.Engine.Workers, c.Runs)
	return got.Table(title).Write(os.Stdout)
}

// starter stands in for the test that starts servers.
type starter struct {
	testing.TB
	ctx  context.Context
	ends []func()
}

func (s *starter) Helper()                  {}
func (s *starter) Name() string             { return "bench" }
func (s *starter) Context() context.Context { return s.ctx }
func (s *starter) Cleanup(fn func())        { s.ends = append(s.ends, fn) }
func (s *starter) Logf(string, ...any)      {}

// stopped is what a failure is told by.
type stopped struct{ why string }

// Fatal gives up.
func (s *starter) Fatal(args ...any) { panic(stopped{fmt.Sprint(args...)}) }

// Fatalf gives up.
func (s *starter) Fatalf(format string, args ...any) { panic(stopped{fmt.Sprintf(format, args...)}) }

// Skipf gives up too: a server is not installed.
func (s *starter) Skipf(format string, args ...any) { s.Fatalf(format, args...) }

// Skip gives up too.
func (s *starter) Skip(args ...any) { s.Fatal(args...) }

// run is fn with failures as errors.
func (s *starter) run(fn func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = errors.New(p.why)
		default:
			panic(p)
		}
	}()
	return fn()
}

// end stops what was started.
func (s *starter) end() {
	for len(s.ends) > 0 {
		last := s.ends[len(s.ends)-1]
		s.ends = s.ends[:len(s.ends)-1]
		last()
	}
}
