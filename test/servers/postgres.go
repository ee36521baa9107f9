package servers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// superuser owns the clusters; connections from 127.0.0.1 are trusted.
const superuser = "lethe"

var postgresBinary = need{names: []string{"postgres"}, folders: []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}}

// PostgresServer is a cluster of its own.
type PostgresServer struct {
	Addr string // host:port

	t       testing.TB
	process *process
}

// Postgres answers the URL of a fresh, empty database on a cluster that the
// tests of this process share: locale C, UTF-8. It does not flush to the disk, which
// nobody can tell who does not pull the plug. The database is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	path := decide(t, postgresBinary)
	shared.once.Do(func() {
		shared.process, shared.addr, shared.err = startPostgres([]string{path}, []string{"fsync=off", "full_page_writes=off"}, nil)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return freshDatabase(t, shared.addr)
}

var shared struct {
	once    sync.Once
	process *process
	addr    string
	err     error
}

// NewPostgres starts a cluster that the test may kill and restart. Settings are
// those of postgresql.conf, "fsync=off" for one.
func NewPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	return launchPostgres(t, settings, nil)
}

// NewPostgresUnder is NewPostgres, started by a command that becomes the program which it
// is given with its arguments.
func NewPostgresUnder(t testing.TB, command func(program ...string) []string, settings ...string) *PostgresServer {
	t.Helper()
	return startedPostgres(t, command(decide(t, postgresBinary)), settings, nil)
}

// launchPostgres starts a cluster for the test alone.
func launchPostgres(t testing.TB, settings, env []string) *PostgresServer {
	t.Helper()
	return startedPostgres(t, []string{decide(t, postgresBinary)}, settings, env)
}

func startedPostgres(t testing.TB, program, settings, env []string) *PostgresServer {
	t.Helper()
	p, addr, err := startPostgres(program, settings, env)
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	return &PostgresServer{Addr: addr, t: t, process: p}
}

// Database answers the URL of a fresh, empty database of the cluster.
func (s *PostgresServer) Database() string {
	s.t.Helper()
	return freshDatabase(s.t, s.Addr)
}

// URL of the database with the name on the cluster; "postgres" always exists.
func (s *PostgresServer) URL(database string) string { return postgresURL(s.Addr, database) }

// Kill ends every process of the cluster as kill -9 does.
func (s *PostgresServer) Kill() { s.process.kill() }

// Stop shuts the cluster down, breaking connections.
func (s *PostgresServer) Stop() { s.process.stop() }

// Freeze makes the cluster stop answering while connections stay open, until
// Thaw.
func (s *PostgresServer) Freeze() { s.process.freeze() }

// Thaw ends Freeze.
func (s *PostgresServer) Thaw() { s.process.thaw() }

// Restart starts the cluster again at its address, after Kill or Stop, and
// waits until it answers. What a killed cluster leaves may hold its memory for a
// moment longer: then it tries again.
func (s *PostgresServer) Restart() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		err := s.process.start()
		switch {
		case err == nil:
			return
		case !strings.Contains(err.Error(), "pre-existing shared memory block"), ctx.Err() != nil:
			s.t.Fatal(err)
		}
	}
}

func postgresURL(addr, database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", superuser, addr, database)
}

// startPostgres starts the program, the last of what may be a command with its arguments.
func startPostgres(program, settings, env []string) (*process, string, error) {
	as, err := ordinary()
	if err != nil {
		return nil, "", err
	}
	f, err := newDatabaseFolder(as)
	if err != nil {
		return nil, "", err
	}
	last := len(program) - 1
	path, err := filepath.EvalSymlinks(program[last])
	if err != nil {
		return nil, "", fmt.Errorf("servers: %w", err)
	}
	initdb := exec.Command(filepath.Join(filepath.Dir(path), "initdb"), "-D", dataOf(f), "-U", superuser,
		"-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
	if err := f.run(initdb); err != nil {
		return nil, "", err
	}
	return servePostgres(append(slices.Clone(program[:last]), path), f, settings, env)
}

// dataOf is the folder of a cluster in that of its server.
func dataOf(f *folder) string { return filepath.Join(f.path, "data") }

// servePostgres starts the cluster that lies in a folder.
func servePostgres(program []string, f *folder, settings, env []string) (*process, string, error) {
	return onFreePort(func(addr string) (*process, error) {
		args := append(slices.Clone(program), "-D", dataOf(f))
		for _, s := range append([]string{
			"listen_addresses=127.0.0.1", "port=" + portOf(addr), "unix_socket_directories=",
			"max_connections=300", "shared_buffers=64MB", "max_wal_size=256MB",
		}, settings...) {
			args = append(args, "-c", s)
		}
		// SIGINT is a fast shutdown, SIGQUIT one that takes the children along at once.
		return &process{launch: launch{
			args: args, env: env, folder: f, end: syscall.SIGINT, orphan: syscall.SIGQUIT,
			answers: func(ctx context.Context) error { return execute(ctx, addr, "SELECT 1") },
		}}, nil
	})
}

// run runs a program in the folder, as its owner, to its end.
func (f *folder) run(cmd *exec.Cmd) error {
	log := new(limited)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = f.path, environment(), attributes(f.owner, syscall.SIGKILL)
	cmd.Stdout, cmd.Stderr = log, log
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("servers: %s: %w", filepath.Base(cmd.Path), err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("servers: %s: %w\n%s", filepath.Base(cmd.Path), err, log.text)
	}
	return nil
}

// limited keeps the beginning of what a program prints.
type limited struct{ text []byte }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	l.text = append(l.text, p[:min(len(p), 4096-min(4096, len(l.text)))]...)
	return len(p), nil
}

var databases atomic.Int64

func freshDatabase(t testing.TB, addr string) string {
	t.Helper()
	return newDatabase(t, addr, "")
}

// newDatabase makes a database, as the copy of another one unless template is empty.
func newDatabase(t testing.TB, addr, template string) string {
	t.Helper()
	name := fmt.Sprintf("lethe_%d", databases.Add(1))
	statement := "CREATE DATABASE " + name + " STRATEGY FILE_COPY"
	if template != "" {
		statement += " TEMPLATE " + template
	}
	if err := execute(context.Background(), addr, statement); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(context.Background(), addr, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Logf("%v", err) // the test may have left its cluster dead
		}
	})
	return postgresURL(addr, name)
}

// execute runs a statement in the database "postgres".
func execute(ctx context.Context, addr, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, postgresURL(addr, "postgres"))
	if err != nil {
		return fmt.Errorf("servers: connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("servers: %s: %w", statement, err)
	}
	return nil
}
