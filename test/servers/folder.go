package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

// owner is the user that a server runs as.
type owner struct{ uid, gid int }

// self is the user that runs the tests.
func self() owner { return owner{os.Geteuid(), os.Getegid()} }

// ordinary is self, unless that is root: then a user that servers which refuse
// root run as.
func ordinary() (owner, error) {
	if os.Geteuid() != 0 {
		return self(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			continue
		}
		return owner{uid, gid}, nil
	}
	return owner{}, fmt.Errorf("servers: the server does not run as root, and there is neither a user postgres nor nobody")
}

// folder is where a server keeps its data.
type folder struct {
	path  string
	owner owner
}

// newFolder makes a folder below that of the process.
func newFolder(of owner) (*folder, error) { return below(baseFolder, of) }

// newDatabaseFolder makes one where LETHE_DATABASES says.
func newDatabaseFolder(of owner) (*folder, error) { return below(databaseFolder, of) }

func below(parent func() (string, error), of owner) (*folder, error) {
	base, err := parent()
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(base, "")
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	if err := os.Chown(path, of.uid, of.gid); err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	return &folder{path, of}, nil
}

func (f *folder) remove() { _ = os.RemoveAll(f.path) } // the janitor comes after

// baseFolder makes the folder that holds those of servers of this process, once.
// databaseFolder makes that of PostgreSQL and MariaDB.
var (
	baseFolder     = sync.OnceValues(func() (string, error) { return newBase("") })
	databaseFolder = sync.OnceValues(func() (string, error) { return newBase(os.Getenv("LETHE_DATABASES")) })
)

// newBase makes a folder in another one, "" for temporary files, and starts the janitor
// that removes it when the process is gone.
func newBase(in string) (string, error) {
	path, err := os.MkdirTemp(in, "lethe-servers-")
	if err != nil {
		return "", fmt.Errorf("servers: %w", err)
	}
	// Others than the owner have to pass.
	if err := os.Chmod(path, 0o755); err != nil {
		return "", fmt.Errorf("servers: %w", err)
	}
	return path, janitor(path)
}

// janitor starts a shell that waits for the end of this process, which closes
// the pipe that it reads, and then removes the folder; servers that are still
// ending may write to it for a moment.
func janitor(path string) error {
	const script = `cat >/dev/null; n=0; until rm -rf "$1" 2>/dev/null && [ ! -e "$1" ]; do n=$((n+1)); [ $n -gt 100 ] && exit 1; sleep 0.1; done`
	// A plain number, since a file would be closed once nobody refers to it.
	var ends [2]int
	syscall.ForkLock.RLock()
	err := syscall.Pipe(ends[:])
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	reading := os.NewFile(uintptr(ends[0]), "lifeline")
	defer reading.Close()
	cmd := exec.Command("/bin/sh", "-c", script, "sh", path)
	cmd.Dir, cmd.Stdin = "/", reading
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	return nil
}
