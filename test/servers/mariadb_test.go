package servers

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// openMariaDB connects to the database of a URL.
func openMariaDB(t *testing.T, text string) *sql.DB {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	config.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() }) // the server may be dead
	return db
}

func TestMariaDBIsFreshAndDurable(t *testing.T) {
	one, two := openMariaDB(t, MariaDB(t)), openMariaDB(t, MariaDB(t))
	if _, err := one.ExecContext(t.Context(), "CREATE TABLE only_here (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	var tables, flush int
	var charset string
	err := two.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM information_schema.tables WHERE table_schema = database()),
		@@innodb_flush_log_at_trx_commit, @@character_set_database`).Scan(&tables, &flush, &charset)
	if err != nil || tables != 0 || flush != 1 || charset != "utf8mb4" {
		t.Errorf("the second database has %d tables, flushes %d, and %s: %v; want 0, 1 and utf8mb4", tables, flush, charset, err)
	}
}

func TestMariaDBKeepsWhatWasCommitted(t *testing.T) {
	s := NewMariaDB(t, "--log-bin")
	url := s.Database(t)
	first := openMariaDB(t, url)
	for _, text := range []string{"CREATE TABLE kept (id BIGINT)", "INSERT INTO kept VALUES (7)"} {
		if _, err := first.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	if err := openMariaDB(t, url).PingContext(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	s.Restart()
	var id, binlog int
	if err := openMariaDB(t, url).QueryRowContext(t.Context(), "SELECT id, @@log_bin FROM kept").Scan(&id, &binlog); err != nil || id != 7 || binlog != 1 {
		t.Errorf("the row reads %d, log_bin %d, after the restart (%v), want 7 and 1", id, binlog, err)
	}
}
