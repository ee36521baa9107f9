package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PgBouncer puts a pooler in transaction mode before a database and answers the
// URL of the database through it. It ends with the test.
func PgBouncer(t testing.TB, database string) string {
	t.Helper()
	path := decide(t, need{names: []string{"pgbouncer"}, folders: []string{"/usr/sbin"}})
	to, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	as, err := ordinary()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFolder(as)
	if err != nil {
		t.Fatal(err)
	}
	p, addr, err := onFreePort(func(addr string) (*process, error) { return pooler(path, f, to, addr) })
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	return through(to, addr)
}

// through is the URL with another address.
func through(to *url.URL, addr string) string {
	u := *to
	u.Host = addr
	return u.String()
}

func pooler(path string, f *folder, to *url.URL, addr string) (*process, error) {
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 40
server_reset_query =
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`, to.Hostname(), to.Port(), to.User.Username(), portOf(addr))
	config := filepath.Join(f.path, "pgbouncer.ini")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	database := through(to, addr)
	return &process{launch: launch{
		args: []string{path, config}, folder: f, end: syscall.SIGINT, orphan: syscall.SIGKILL,
		answers: func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, database)
			if err != nil {
				return fmt.Errorf("servers: connect to pgbouncer: %w", err)
			}
			return conn.Close(ctx)
		},
	}}, nil
}
