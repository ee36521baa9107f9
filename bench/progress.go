package bench

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
)

// Sample is what the database had done when so many blobs were gone. Processor
// time, blocks and write-ahead log do not depend on what else the machine is doing,
// as rates do.
type Sample struct {
	Gone   int64         // blobs
	At     time.Duration // since the first sample
	CPU    time.Duration // of all of PostgreSQL's processes
	Blocks int64         // read, from the cache or from the disk
	Log    int64         // bytes of write-ahead log
}

// sampleEvery is how often the database is asked; its statistics are that old.
const sampleEvery = time.Second

const sampled = `SELECT pg_backend_pid(), coalesce((SELECT sum(n) FROM lethe.blob_counters), 0)::bigint,
	(SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()),
	pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`

// observe samples the database while fn runs.
func observe(ctx context.Context, url string, fn func() error) (out []Sample, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	began := lethe.Monotonic{}.Now()
	full := int64(0)
	sample := func() error {
		s, left, err := look(ctx, conn)
		if err != nil {
			return err
		}
		if len(out) == 0 {
			full = left
		}
		s.Gone, s.At = full-left, lethe.Monotonic{}.Now().Sub(began)
		out = append(out, s)
		return nil
	}
	if err := sample(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- fn() }()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return out, errors.Join(err, sample())
		case <-tick.C:
			if err := sample(); err != nil {
				return out, errors.Join(err, <-done)
			}
		}
	}
}

// look reads what the database has done, and how many blobs there are.
func look(ctx context.Context, conn *pgx.Conn) (s Sample, blobs int64, err error) {
	var pid int
	err = conn.QueryRow(ctx, sampled).Scan(&pid, &blobs, &s.Blocks, &s.Log)
	s.CPU = familyCPU(parentOf(pid))
	return s, blobs, err
}

// perTenth is what each tenth of the blobs took, by blob.
func perTenth(samples []Sample, of func(Sample) float64) (out []float64) {
	if len(samples) == 0 {
		return nil
	}
	last, from := samples[len(samples)-1], samples[0]
	for _, s := range samples {
		if s.Gone > from.Gone && s.Gone*10 >= last.Gone*int64(len(out)+1) {
			out = append(out, (of(s)-of(from))/float64(s.Gone-from.Gone))
			from = s
		}
	}
	return out
}

// progress adds what each tenth took to the table.
func progress(t *Table, runs [][]Sample) {
	for _, samples := range runs {
		for _, m := range []struct {
			name string
			of   func(Sample) float64
		}{
			{"by tenths, database's CPU, us per blob", func(s Sample) float64 { return float64(s.CPU) / 1e3 }},
			{"by tenths, blocks per blob", func(s Sample) float64 { return float64(s.Blocks) }},
			{"by tenths, write-ahead log, bytes per blob", func(s Sample) float64 { return float64(s.Log) }},
		} {
			t.Add(m.name, tenths(perTenth(samples, m.of)))
		}
	}
}

// watched is what the database did while fn ran, which ends all its sessions; nothing
// without a database.
func watched(ctx context.Context, url string, fn func() error) (spent Sample, err error) {
	if url == "" {
		return spent, fn()
	}
	conn, err := connect(ctx, url)
	if err != nil {
		return spent, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	before, _, err := look(ctx, conn)
	if err != nil {
		return spent, err
	}
	if err := errors.Join(fn(), alone(ctx, conn)); err != nil {
		return spent, err
	}
	after, _, err := look(ctx, conn)
	return Sample{CPU: after.CPU - before.CPU, Blocks: after.Blocks - before.Blocks, Log: after.Log - before.Log}, err
}
