package servers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestVictim is the process that TestNothingOutlivesTheTests kills: it starts
// servers, tells their processes and its folder, and waits.
func TestVictim(t *testing.T) {
	if os.Getenv("SERVERS_TEST_VICTIM") == "" {
		t.Skip("only run by TestNothingOutlivesTheTests")
	}
	NewRedis(t).Freeze()
	PgBouncer(t, Postgres(t))
	MariaDB(t)
	VersityGW(t)
	for _, base := range []func() (string, error){baseFolder, databaseFolder} {
		path, err := base()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("folder", path)
	}
	for _, child := range childrenOf(os.Getpid()) {
		fmt.Println("process", child)
		for _, grandchild := range childrenOf(child) {
			fmt.Println("process", grandchild)
		}
	}
	fmt.Println("end")
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

func TestNothingOutlivesTheTests(t *testing.T) {
	for _, n := range []need{postgresBinary, mariadbBinary, versitygw.need, {names: []string{"redis-server", "valkey-server"}}, {names: []string{"pgbouncer"}, folders: []string{"/usr/sbin"}}} {
		decide(t, n)
	}
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), "SERVERS_TEST_VICTIM=yes")
	hold, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	folders, pids := told(bufio.NewScanner(out))
	if err := victim.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = victim.Wait() // it was killed
	// The janitors, the servers, and the children of PostgreSQL.
	if len(pids) < 12 || len(folders) != 2 {
		t.Fatalf("the victim told of the processes %v and the folders %q", pids, folders)
	}
	eventually(t, func() string {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				return fmt.Sprintf("process %d still runs", pid)
			}
		}
		for _, folder := range folders {
			if _, err := os.Stat(folder); err == nil {
				return folder + " is still there"
			}
		}
		return ""
	})
}

// told reads what the victim prints.
func told(lines *bufio.Scanner) (folders []string, pids []int) {
	for lines.Scan() && lines.Text() != "end" {
		kind, value, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "folder":
			folders = append(folders, value)
		case "process":
			if pid, err := strconv.Atoi(value); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return folders, pids
}

// zombie says that a process has ended and only its parent has not yet asked.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z")
}

// eventually fails unless problem answers "" within half a minute.
func eventually(t *testing.T, problem func() string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if problem() == "" {
			return
		}
		<-tick.C
	}
	t.Error(problem())
}

func TestStoppedServersAreGone(t *testing.T) {
	var before []int
	t.Run("servers", func(t *testing.T) {
		NewRedis(t)
		s := NewPostgres(t, "fsync=off")
		before = append(childrenOf(s.process.cmd.Process.Pid), s.process.cmd.Process.Pid)
	})
	eventually(t, func() string {
		for _, pid := range before {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				return fmt.Sprintf("process %d still runs", pid)
			}
		}
		return ""
	})
}
