package bench

import (
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Flushes counts the flushes of programs, and makes each take longer: fsync, fdatasync,
// msync, sync, syncfs, and files opened to be written synchronously (one flush for each
// opening). The kernel asks before it runs them, and no other call waits: neither those
// of the program's other threads nor other calls of the same one.
type Flushes struct {
	Delay time.Duration // before each

	n        atomic.Int64
	socket   *net.UnixListener
	dir      string
	launcher []string
}

// ListenFlushes begins. The launcher is a command that passes its arguments to Flushed.
func ListenFlushes(delay time.Duration, launcher ...string) (*Flushes, error) {
	dir, err := os.MkdirTemp("", "lethe-bench-")
	if err != nil {
		return nil, err
	}
	f := &Flushes{Delay: delay, dir: dir, launcher: launcher}
	path := filepath.Join(dir, "flushes")
	// PostgreSQL runs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if f.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, err
	}
	go f.accept()
	return f, nil
}

// Command is what starts a program under count; of nil it is the program itself.
func (f *Flushes) Command(program ...string) []string {
	if f == nil {
		return program
	}
	return append(append(append([]string(nil), f.launcher...), f.socket.Addr().String()), program...)
}

// Count is how many there were; 0 of nil.
func (f *Flushes) Count() int64 {
	if f == nil {
		return 0
	}
	return f.n.Load()
}

// Close ends it. Programs that still run are to be ended before.
func (f *Flushes) Close() error {
	_ = f.socket.Close() // it is only listened to
	return os.RemoveAll(f.dir)
}

func (f *Flushes) accept() {
	for {
		conn, err := f.socket.AcceptUnix()
		if err != nil {
			return
		}
		go f.answer(conn)
	}
}
