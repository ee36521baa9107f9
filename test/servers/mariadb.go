package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var mariadbBinary = need{names: []string{"mariadbd"}, folders: []string{"/usr/sbin"}}

// mariadbPassword is that of the superuser.
const mariadbPassword = "lethetestsecret"

// mariadbSQL are folders of the texts that make the server's own tables.
var mariadbSQL = []string{"/usr/share/mysql", "/usr/share/mariadb"}

// MariaDBServer is a server of its own.
type MariaDBServer struct {
	Addr string // host:port

	t       testing.TB
	process *process
}

// MariaDB answers the URL of a fresh, empty database on a server that the tests of
// this process share: utf8mb4, the collation that Debian chooses, durable settings.
// It is dropped when the test ends.
func MariaDB(t testing.TB) string {
	t.Helper()
	path := decide(t, mariadbBinary)
	sharedMariaDB.once.Do(func() { sharedMariaDB.process, sharedMariaDB.addr, sharedMariaDB.err = startMariaDB(path, nil) })
	if sharedMariaDB.err != nil {
		t.Fatal(sharedMariaDB.err)
	}
	return freshMariaDB(t, sharedMariaDB.addr)
}

var sharedMariaDB struct {
	once    sync.Once
	process *process
	addr    string
	err     error
}

// NewMariaDB starts a server that the test may kill, freeze and restart. Settings are
// options of its command line, "--log-bin" for one.
func NewMariaDB(t testing.TB, settings ...string) *MariaDBServer {
	t.Helper()
	p, addr, err := startMariaDB(decide(t, mariadbBinary), settings)
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	return &MariaDBServer{Addr: addr, t: t, process: p}
}

// Database answers the URL of a fresh, empty database of the server, which is dropped when
// the test ends: many that stay make looks into the catalog slow.
func (s *MariaDBServer) Database(t testing.TB) string {
	t.Helper()
	return freshMariaDB(t, s.Addr)
}

// Kill ends the server as kill -9 does.
func (s *MariaDBServer) Kill() { s.process.kill() }

// Freeze makes the server stop answering while connections stay open, until Thaw.
func (s *MariaDBServer) Freeze() { s.process.freeze() }

// Thaw ends Freeze.
func (s *MariaDBServer) Thaw() { s.process.thaw() }

// Restart starts the server again at its address, and waits until it answers.
func (s *MariaDBServer) Restart() {
	s.t.Helper()
	if err := s.process.start(); err != nil {
		s.t.Fatal(err)
	}
}

func startMariaDB(path string, settings []string) (*process, string, error) {
	as, err := ordinary()
	if err != nil {
		return nil, "", err
	}
	f, err := newDatabaseFolder(as)
	if err != nil {
		return nil, "", err
	}
	common := []string{"--no-defaults", "--datadir=" + dataOf(f), "--tmpdir=" + f.path,
		"--innodb-log-file-size=16M", "--character-set-server=utf8mb4", "--skip-name-resolve"}
	if err := bootstrapMariaDB(path, f, common); err != nil {
		return nil, "", err
	}
	return onFreePort(func(addr string) (*process, error) {
		args := append([]string{path}, common...)
		args = append(args, "--bind-address=127.0.0.1", "--port="+portOf(addr), "--socket="+filepath.Join(f.path, "socket"),
			"--innodb-buffer-pool-size=32M", "--key-buffer-size=1M", "--aria-pagecache-buffer-size=1M", "--max-connections=300")
		return &process{launch: launch{
			args: append(args, settings...), folder: f, end: syscall.SIGTERM, orphan: syscall.SIGKILL,
			answers: func(ctx context.Context) error { return executeMariaDB(ctx, addr, "DO 1") },
		}}, nil
	})
}

// bootstrapMariaDB makes the server's own tables, and the superuser.
func bootstrapMariaDB(path string, f *folder, args []string) error {
	if err := os.Mkdir(dataOf(f), 0o700); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	if err := os.Chown(dataOf(f), f.owner.uid, f.owner.gid); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	// It ends a statement at the end of a line.
	texts := []io.Reader{strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\nSET @skip_auth_anonymous = 1;\n")}
	for _, name := range []string{"system_tables.sql", "performance_tables.sql", "system_tables_data.sql"} {
		file, err := openFirst(name)
		if err != nil {
			return err
		}
		defer file.Close()
		texts = append(texts, file)
	}
	user := superuser + "@'127.0.0.1'"
	texts = append(texts, strings.NewReader(fmt.Sprintf("FLUSH PRIVILEGES;\nCREATE USER %s IDENTIFIED BY '%s';\n"+
		"GRANT ALL ON *.* TO %s WITH GRANT OPTION;\n", user, mariadbPassword, user)))
	cmd := exec.Command(path, append(args, "--bootstrap", "--innodb-buffer-pool-size=8M")...)
	cmd.Stdin = io.MultiReader(texts...)
	return f.run(cmd)
}

// openFirst opens the text of the name, which carries the name of MySQL in some
// versions.
func openFirst(name string) (*os.File, error) {
	var errs error
	for _, folder := range mariadbSQL {
		for _, prefix := range []string{"mysql_", "mariadb_"} {
			file, err := os.Open(filepath.Join(folder, prefix+name))
			if err == nil {
				return file, nil
			}
			errs = errors.Join(errs, err)
		}
	}
	return nil, fmt.Errorf("servers: %w", errs)
}

func freshMariaDB(t testing.TB, addr string) string {
	t.Helper()
	name := fmt.Sprintf("lethe_%d", databases.Add(1))
	if err := executeMariaDB(t.Context(), addr, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := executeMariaDB(context.Background(), addr, "DROP DATABASE IF EXISTS "+name); err != nil {
			t.Logf("%v", err) // the test may have left its server dead
		}
	})
	return fmt.Sprintf("mysql://%s:%s@%s/%s", superuser, mariadbPassword, addr, name)
}

// executeMariaDB runs a statement outside of every database.
func executeMariaDB(ctx context.Context, addr, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.Logger = superuser, mariadbPassword, "tcp", addr, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return fmt.Errorf("servers: connect to MariaDB: %w", err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("servers: %s: %w", statement, err)
	}
	return nil
}
