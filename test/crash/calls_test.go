package crash_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/internal/instance"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestSystemCallsOfARealServer reads what a server asks the kernel for, and sees
// the same order there: row, bytes, name, folder, row, answer; and row, unlink,
// folder, row. Where strace may not trace it is skipped, or fails, as
// LETHE_SERVERS says.
func TestSystemCallsOfARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a server")
	}
	strace := servers.Strace(t)
	f, err := newFolder(rand.New(rand.NewPCG(1, 1)))
	must(t, err)
	defer func() { must(t, f.discard()) }()
	trace := filepath.Join(t.TempDir(), "trace")
	f.under = []string{
		strace, "-f", "-y", "-s", "24", "-o", trace,
		"-e", "trace=fsync,fdatasync,syncfs,unlinkat,linkat,renameat,renameat2,write,pwrite64",
	}
	must(t, f.traced(t.Context()))
	text, err := os.ReadFile(trace)
	must(t, err)
	answers := calls(string(text))
	for i, want := range []string{
		`WLR$`,            // bucket, after all that a start does
		`^WLFD*NDWLR$`,    // put, small: intent; file, name, folder; commit
		`^WLFD*NDWLR$`,    // put, large
		`^WLR$`,           // delete: the transaction that condemns
		`^(WL)+UD(WL)+R$`, // clean: claim; unlink, folder; settle
	} {
		if i >= len(answers) || !regexp.MustCompile(want).MatchString(answers[i]) {
			t.Errorf("answer %d: the calls are not %s, but: %v", i, want, answers)
		}
	}
}

// traced lets a server under strace store two objects, delete one and clean up.
func (f *folder) traced(ctx context.Context) error {
	s, err := f.start(ctx, "", "reclaim.grace.heartbeat=1h")
	if err != nil {
		return err
	}
	defer func() {
		if pid, err := f.holder(); !s.Dead() && err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // strace alone would leave it
		}
		s.Kill()
	}()
	if s.Dead() {
		return fmt.Errorf("no server under strace:\n%s", s.Tail())
	}
	if err := f.settled(ctx); err != nil {
		return err
	}
	c := f.client(s, "t")
	_, err = c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(plainBucket)})
	at := name{plainBucket, "t/one"}
	_, small := c.put(ctx, at, wish{})
	_, large := c.put(ctx, name{plainBucket, "t/two"}, wish{large: true})
	err = errors.Join(err, small, large, c.remove(ctx, at), c.reclaim(ctx, "clean"))
	pid, perr := f.holder()
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	// strace ends when the server has.
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	<-s.Died()
	return nil
}

// holder is the process that has the folder.
func (f *folder) holder() (int, error) {
	text, err := os.ReadFile(filepath.Join(f.dir, "lock"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// settled waits until the first server on the folder has written all the epochs
// of its start, one when it opens, one when it serves: until none has come for a while.
func (f *folder) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, instance.StartTime)
	defer cancel()
	const enough = 200 // looks
	last, same := "", 0
	for same < enough {
		epochs, err := filepath.Glob(filepath.Join(f.dir, "blobs", "*", "epoch", "*"))
		if err != nil {
			return err
		}
		if len(epochs) == 1 && epochs[0] == last {
			same++
		} else {
			last, same = strings.Join(epochs, ""), 0
		}
		wait(ctx, 5*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("epochs are %v, and go on changing", epochs)
		}
	}
	return nil
}

// The calls that matter, as letters. What is flushed counts once it is, anything
// else as soon as it was asked for.
var letters = []struct {
	call *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^pwrite64\(\d+<[^>]*/ledger\.db-wal>`), "W"},
	{regexp.MustCompile(`^f(data)?sync\(\d+<[^>]*/ledger\.db-wal>`), "L"},
	{regexp.MustCompile(`^fsync\(\d+<[^>]*/blobs/\.tmp/`), "F"},
	{regexp.MustCompile(`^(renameat2?|linkat)\(.*/blobs/`), "N"},
	{regexp.MustCompile(`^(fsync|syncfs)\(\d+<[^>]*/blobs[/>]`), "D"},
	{regexp.MustCompile(`^unlinkat\(\d+<[^>]*/blobs/`), "U"},
	{regexp.MustCompile(`^write\(\d+<[^>]*>, "HTTP/1\.1 2`), "R"},
}

var (
	line     = regexp.MustCompile(`^(\d+) +(.*)$`)
	returned = regexp.MustCompile(`^<\.\.\. \w+ resumed>`)
)

// calls translates a trace to letters, each but once in a row, and cuts it after
// each answer.
func calls(trace string) []string {
	var b strings.Builder
	asked := map[string]string{} // by thread: a flush that has not returned
	last := ""
	add := func(call string) {
		for _, l := range letters {
			if l.call.MatchString(call) {
				if l.name != last {
					b.WriteString(l.name)
				}
				last = l.name
				return
			}
		}
	}
	for text := range strings.Lines(trace) {
		m := line.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			continue
		}
		thread, call := m[1], m[2]
		switch {
		case returned.MatchString(call):
			add(asked[thread])
			delete(asked, thread)
		case strings.HasSuffix(call, "<unfinished ...>") && strings.Contains(call[:min(10, len(call))], "sync"):
			asked[thread] = call
		default:
			add(call)
		}
	}
	return strings.SplitAfter(b.String(), "R")
}
