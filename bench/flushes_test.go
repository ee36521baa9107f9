package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
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
	os.Exit(m.Run())
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
		args := f.Command("dd", "if=/dev/zero", "of="+t.TempDir()+"/file", "bs=4096", "count=3", c.how)
		before, began := f.Count(), lethe.Monotonic{}.Now()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		switch {
		case strings.Contains(string(out), "watch flushes"):
			t.Skipf("the kernel does not ask about calls here: %s", out)
		case err != nil:
			t.Fatalf("%s: %v: %s", c.how, err, out)
		}
		took := lethe.Monotonic{}.Now().Sub(began)
		if n := f.Count() - before; n != c.want {
			t.Errorf("%s: %d flushes, want %d", c.how, n, c.want)
		}
		if least := time.Duration(c.want) * delay; took < least {
			t.Errorf("%s took %v, want at least %v", c.how, took, least)
		}
	}
}
