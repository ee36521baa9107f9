package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
)

// TestMain becomes the program whose flushes are counted, where it is started for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "flushed" {
		fmt.Fprintln(os.Stderr, bench.Flushed(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == "flush-at-once" {
		flushAtOnce(os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// flushers are threads that flush at once.
const flushers = 8

// flushAtOnce flushes one file on each of several threads, and says how long all took.
func flushAtOnce(dir string) {
	began := lethe.Monotonic{}.Now()
	var wg sync.WaitGroup
	for i := range flushers {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
			if err == nil {
				err = f.Sync()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	wg.Wait()
	fmt.Print(lethe.Monotonic{}.Now().Sub(began))
}

// TestThreadsFlushSideBySide: a flush that takes long stops no other thread.
func TestThreadsFlushSideBySide(t *testing.T) {
	const delay = 200 * time.Millisecond
	f, err := bench.ListenFlushes(delay, os.Args[0], "flushed")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := run(t, f.Command(os.Args[0], "flush-at-once", t.TempDir()))
	took, err := time.ParseDuration(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.Count(); n != flushers || took < delay || took > flushers*delay/2 {
		t.Errorf("%d flushes took %v, want %d in some %v", n, took, flushers, delay)
	}
}

// run runs a command and returns what it prints.
func run(t *testing.T, args []string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	switch {
	case strings.Contains(failed.String(), "watch flushes"):
		t.Skipf("the kernel does not ask about calls here: %s", &failed)
	case err != nil:
		t.Fatalf("%v: %v: %s", args, err, &failed)
	}
	return string(out)
}

// TestFlushesAreCountedAndTakeTheirTime: of a program that flushes, opens for synchronous
// writing, or does neither.
func TestFlushesAreCountedAndTakeTheirTime(t *testing.T) {
	const delay = 50 * time.Millisecond
	f, err := bench.ListenFlushes(delay, os.Args[0], "flushed")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		how  string
		want int64
	}{{"conv=fsync", 1}, {"conv=fdatasync", 1}, {"oflag=dsync", 1}, {"conv=notrunc", 0}} {
		before, began := f.Count(), lethe.Monotonic{}.Now()
		run(t, f.Command("dd", "if=/dev/zero", "of="+t.TempDir()+"/file", "bs=4096", "count=3", c.how))
		took := lethe.Monotonic{}.Now().Sub(began)
		if n := f.Count() - before; n != c.want {
			t.Errorf("%s: %d flushes, want %d", c.how, n, c.want)
		}
		if least := time.Duration(c.want) * delay; took < least {
			t.Errorf("%s took %v, want at least %v", c.how, took, least)
		}
	}
}
