package main

import (
	"context"
	"flag"
	"os"

	"github.com/lethe-storage/lethe/bench"
)

// programs are the binaries that a comparison starts.
type programs struct{ lethe, versitygw, minio, rclone string }

func (p *programs) flags(f *flag.FlagSet) {
	f.StringVar(&p.lethe, "lethe", "./lethe", "the lethe binary")
	f.StringVar(&p.versitygw, "versitygw", "", "the versitygw binary; empty: leave it out")
	f.StringVar(&p.minio, "minio", "", "the minio binary; empty: leave it out")
	f.StringVar(&p.rclone, "rclone", "", "the rclone binary; empty: leave it out")
}

func serving(ctx context.Context, args []string) error {
	var s bench.Serving
	var p programs
	f := flags("serve")
	p.flags(f)
	f.IntVar(&s.Clients, "clients", 16, "clients side by side")
	f.IntVar(&s.Size, "size", 4096, "bytes of each object")
	f.IntVar(&s.Piece, "piece", 0, "bytes of each get, by range, from all over the object; 0: all of it")
	f.IntVar(&s.Objects, "objects", 4000, "objects to put and to get")
	f.IntVar(&s.Gets, "gets", 0, "gets of them, round and round; 0: each once")
	f.IntVar(&s.Warm, "warm", 0, "objects to put before anything is measured")
	f.IntVar(&s.Runs, "runs", 5, "interleaved runs")
	f.StringVar(&s.Dir, "dir", "", "folder on the disk to measure (default: the system's for temporary files)")
	inline := f.Bool("inline", false, "measure lethe with the bodies in its ledger as well")
	durable := f.Bool("durable", true, "measure lethe with its flushes as well")
	if err := f.Parse(args); err != nil {
		return err
	}
	s.Programs = append(s.Programs, bench.Lethe(p.lethe, false))
	if p.versitygw != "" {
		s.Programs = append(s.Programs, bench.Versitygw(p.versitygw, false), bench.Versitygw(p.versitygw, true))
	}
	if p.minio != "" {
		s.Programs = append(s.Programs, bench.Minio(p.minio))
	}
	if p.rclone != "" {
		s.Programs = append(s.Programs, bench.Rclone(p.rclone))
	}
	if *durable {
		s.Programs = append(s.Programs, bench.Lethe(p.lethe, true))
	}
	if *inline {
		s.Programs = append(s.Programs, bench.Lethe(p.lethe, true).Inline(max(s.Size, 1)))
	}
	runs, err := s.Run(ctx)
	if err != nil {
		return err
	}
	return s.Table(runs).Write(os.Stdout)
}

func memory(ctx context.Context, args []string) error {
	var l bench.Large
	var p programs
	f := flags("memory")
	p.flags(f)
	gib := f.Float64("gib", 5, "size of the object in GiB")
	f.StringVar(&l.Dir, "dir", "", "folder with room for the object (default: the system's for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	l.Program, l.Size = bench.Lethe(p.lethe, true), int64(*gib*(1<<30))
	got, err := l.Run(ctx)
	if err != nil {
		return err
	}
	return l.Table(got).Write(os.Stdout)
}
