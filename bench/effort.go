package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
)

// Used is what processes did. But for the processor time it does not depend on how busy
// the machine is.
type Used struct {
	CPU     time.Duration
	Flushes int64 // of files and file systems, see Flushes
	Written int64 // bytes, to files and connections
	Calls   int64 // of the system, all of them; 0 unless they are traced
}

func (u Used) minus(v Used) Used {
	return Used{u.CPU - v.CPU, u.Flushes - v.Flushes, u.Written - v.Written, u.Calls - v.Calls}
}

// Effort is what a server did, and the database that it uses.
type Effort struct {
	Server, Database Used
	Transactions     int64 // of Lethe's ledger, and looks into it
	Trips            int64 // round trips to the database; 0 unless they are counted
	Disk             int64 // bytes that the disks got meanwhile, from whatever runs
}

func (e Effort) minus(v Effort) Effort {
	return Effort{e.Server.minus(v.Server), e.Database.minus(v.Database), e.Transactions - v.Transactions, e.Trips - v.Trips, e.Disk - v.Disk}
}

// DatabaseAt is the database whose effort is looked at.
type DatabaseAt struct {
	PID     int // of its first process; 0: there is none
	Flushes *Flushes
	Trips   *Trips
}

// usedBy is what the processes did so far, and those of them that have ended.
func usedBy(f *Flushes, pids ...int) (u Used) {
	for _, p := range pids {
		io := keyed("/proc/" + strconv.Itoa(p) + "/io")
		u.CPU += cpuOf(p)
		u.Written += io["wchar"]
	}
	u.Flushes = f.Count()
	return u
}

// effort is what the server and its database did so far.
func (s *server) effort(ctx context.Context, db DatabaseAt) (e Effort, err error) {
	counts, err := s.counted(ctx)
	if err != nil {
		return e, err
	}
	e.Server = usedBy(s.flushes, s.cmd.Process.Pid)
	e.Transactions, e.Trips = counts.Ledger, db.Trips.Count()
	if db.PID != 0 {
		e.Database = usedBy(db.Flushes, family(db.PID)...)
		e.Database.CPU = familyCPU(db.PID)
	}
	return e, nil
}

// during is the effort that fn takes; with a path to strace all calls of the system are
// counted, which slows everything down.
func (s *server) during(ctx context.Context, db DatabaseAt, strace string, fn func() error) (e Effort, err error) {
	ends := []func() (int64, error){none, none}
	if strace != "" {
		if ends[0], err = traced(strace, s.cmd.Process.Pid); err != nil {
			return e, err
		}
		if db.PID != 0 {
			if ends[1], err = traced(strace, family(db.PID)...); err != nil {
				return e, err
			}
		}
	}
	disk := s.toDisk()
	before, err := s.effort(ctx, db)
	if err == nil {
		err = fn()
	}
	if err == nil {
		e, err = s.effort(ctx, db)
		e = e.minus(before)
		e.Disk = s.toDisk() - disk
	}
	var failed [2]error
	e.Server.Calls, failed[0] = ends[0]()
	e.Database.Calls, failed[1] = ends[1]()
	return e, errors.Join(err, failed[0], failed[1])
}

// toDisk flushes all files and returns how many bytes the disks of the server's folder and of
// temporary files, where databases lie, have got so far; 0 where the system does not say. The
// write_bytes of a process would not do: a page that becomes dirty counts with all that the
// page cache keeps as one piece with it, up to some MiB.
func (s *server) toDisk() (n int64) {
	unix.Sync()
	disks := map[uint64]bool{}
	for _, path := range []string{s.log, os.TempDir()} {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			disks[uint64(st.Dev)] = true
		}
	}
	for d := range disks {
		data, _ := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(d), unix.Minor(d)))
		if f := strings.Fields(string(data)); len(f) > 6 {
			sectors, _ := strconv.ParseInt(f[6], 10, 64)
			n += 512 * sectors
		}
	}
	return n
}

func none() (int64, error) { return 0, nil }

// traceStarts is how long strace may take from saying that it has attached to following.
const traceStarts = 300 * time.Millisecond

// traced counts the system's calls of processes, of their threads and of what they start,
// until it is ended.
func traced(strace string, pids ...int) (end func() (int64, error), err error) {
	out, err := os.CreateTemp("", "lethe-bench-")
	if err != nil {
		return nil, err
	}
	args := []string{"-f", "-c", "-o", out.Name()}
	for _, p := range pids {
		args = append(args, "-p", strconv.Itoa(p))
	}
	cmd := exec.Command(strace, args...)
	said, err := cmd.StderrPipe()
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() (int64, error) {
		err := cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait() // it says that a signal ended it
		text, failed := os.ReadFile(out.Name())
		if err := errors.Join(err, failed, os.Remove(out.Name())); err != nil {
			return 0, err
		}
		return totalCalls(string(text))
	}
	lines := bufio.NewScanner(said)
	for n := 0; n < len(pids) && lines.Scan(); {
		if strings.Contains(lines.Text(), "attached") {
			n++
		}
	}
	time.Sleep(traceStarts)
	// What it says of new threads has to go somewhere, until it ends.
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return end, nil
}

// totalCalls reads strace's summary.
func totalCalls(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 5 && f[len(f)-1] == "total" {
			return strconv.ParseInt(f[3], 10, 64)
		}
	}
	return 0, fmt.Errorf("bench: no total in %q", text)
}

// timed is how long fn takes.
func timed(fn func() error) (time.Duration, error) {
	began := lethe.Monotonic{}.Now()
	err := fn()
	return lethe.Monotonic{}.Now().Sub(began), err
}

// PostgresPID is the first process of the server that a URL leads to.
func PostgresPID(ctx context.Context, url string) (pid int, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return parentOf(pid), errors.Join(err, conn.Close(ctx))
}
