package sqldb

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/servers"
)

// opened is a runner on a MariaDB, and how its transactions begin.
type opened struct {
	*Runner
	t     *testing.T
	begin string
}

// openMySQL opens the database of a URL, with a table "r".
func openMySQL(t *testing.T, address string, statement, lock time.Duration) *opened {
	t.Helper()
	pool, err := OpenMySQL(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxOpenConns(4)
	r := &Runner{Pool: pool, Dialect: MySQL(nil), AcquireTime: 10 * time.Second, Count: new(Counts)}
	o := &opened{Runner: r, t: t}
	o.begin, _ = MySQLBegin(statement, lock)
	if _, err := pool.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS r (k VARCHAR(50) COLLATE utf8mb4_general_ci PRIMARY KEY, n BIGINT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return o
}

// write runs one transaction.
func (o *opened) write(do func(ctx context.Context, s *Session) error) error {
	return o.Write(o.t.Context(), Transaction{Begin: o.begin, Longest: 20 * time.Second,
		Do: func(ctx context.Context, s *Session, _ []string) error { return do(ctx, s) }})
}

func put(ctx context.Context, s *Session, key string, n int64) error {
	_, err := s.Execute(ctx, "INSERT INTO r (n, k) VALUES (?2, ?1)", []any{key, n})
	return err
}

// rows returns the table's contents: "a=1 b=2".
func (o *opened) rows() (out string) {
	o.t.Helper()
	if err := o.Pool.QueryRowContext(o.t.Context(), "SELECT coalesce(group_concat(k, '=', n ORDER BY k SEPARATOR ' '), '') FROM r").Scan(&out); err != nil {
		o.t.Fatal(err)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMySQLStatements: parameters go to their numbers, lists and row sources hold their
// JSON, and no text is misread.
func TestMySQLStatements(t *testing.T) {
	o := openMySQL(t, servers.MariaDB(t), time.Minute, time.Second)
	odd := []string{"a", `b'"\`, "c`ä?1", `{"d"} \' -- `, "\n<>&"}
	must(t, o.write(func(ctx context.Context, s *Session) error {
		for i, k := range odd {
			if err := put(ctx, s, k, int64(i)); err != nil {
				return err
			}
		}
		return nil
	}))
	ask := func(text string, args ...any) (out []string) {
		must(t, o.write(func(ctx context.Context, s *Session) error {
			rows, err := s.Ask(ctx, text, args)
			if err != nil {
				return err
			}
			out, err = Collect(rows, One[string])
			return err
		}))
		return out
	}
	for _, k := range odd {
		if got := ask("SELECT k FROM r WHERE n >= ?2 AND k = ?1 AND n < ?3 AND k = ?1", k, 0, 100); !slices.Equal(got, []string{k}) {
			t.Errorf("%q reads %q", k, got)
		}
	}
	if got := ask("SELECT k FROM r WHERE k IN (SELECT id FROM {ids 1}) AND n >= ?2 ORDER BY n", JSON(odd), 2); !slices.Equal(got, odd[2:]) {
		t.Errorf("a list: %q", got)
	}
	if got := ask("SELECT k FROM r WHERE n IN (SELECT CAST(id AS SIGNED) FROM {ids 1}) ORDER BY n {exclusive}", `["1", "3"]`); !slices.Equal(got, []string{odd[1], odd[3]}) {
		t.Errorf("a list of numbers: %q", got)
	}
	for _, none := range []string{"[]", "null"} {
		if got := ask("SELECT k FROM r WHERE k IN (SELECT id FROM {ids 1})", none); len(got) != 0 {
			t.Errorf("an empty list: %q", got)
		}
	}
	if got := ask("SELECT t.id FROM {ids 1}", JSON(odd)); !slices.Equal(got, odd) {
		t.Errorf("a source of texts: %q", got)
	}
	if got := ask("SELECT concat(t.b, t.a) FROM "+Rows(1, "a text", "b bigint"), `[{"a": "x\\y", "b": 7}]`); !slices.Equal(got, []string{`7x\y`}) {
		t.Errorf("a source of rows: %q", got)
	}
	// By the column's own collation, which its index has.
	if got := ask("SELECT k FROM r WHERE k IN (SELECT id FROM {ids 1})", `["A"]`); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a list of another case: %q", got)
	}
}

// TestMySQLSettings: they hold whatever the server's are.
func TestMySQLSettings(t *testing.T) {
	s := servers.NewMariaDB(t, "--sql-mode=", "--default-time-zone=+05:00")
	o := openMySQL(t, s.Database(t), 1500*time.Millisecond, time.Second)
	var began []string
	must(t, o.Write(t.Context(), Transaction{Begin: o.begin, Longest: time.Minute, Do: func(ctx context.Context, s *Session, b []string) error {
		began = b
		var mode, zone string
		if err := s.AskOne(ctx, "SELECT @@sql_mode, @@time_zone", nil).Scan(&mode, &zone); err != nil {
			return err
		}
		if !strings.Contains(mode, "STRICT_ALL_TABLES") || !strings.Contains(mode, "NO_BACKSLASH_ESCAPES") || zone != "+00:00" {
			t.Errorf("mode %s, zone %s", mode, zone)
		}
		for want := range 2 { // READ COMMITTED
			var n int
			if err := s.AskOne(ctx, "SELECT count(*) FROM r", nil).Scan(&n); err != nil || n != want {
				t.Errorf("%d rows, want %d: %v", n, want, err)
			}
			if _, err := o.Pool.ExecContext(ctx, "INSERT INTO r VALUES (?, 1)", want); err != nil {
				return err
			}
		}
		return nil
	}}))
	us, err := strconv.ParseInt(began[0], 10, 64)
	if now := (lethe.SystemClock{}).Now(); err != nil || now.Sub(lethe.Time(us)).Abs() > time.Minute {
		t.Errorf("the time is %v, and here %v", began, now)
	}
	err = o.write(func(ctx context.Context, s *Session) error {
		_, err := s.Execute(ctx, "INSERT INTO r SELECT SLEEP(20), 1", nil)
		return err
	})
	if !errors.Is(err, lethe.ErrUnavailable) || !strings.Contains(err.Error(), "longer than it may") {
		t.Errorf("a slow statement: %v", err)
	}
	if err := o.write(func(ctx context.Context, s *Session) error { return put(ctx, s, strings.Repeat("x", 60), 1) }); !errors.Is(err, lethe.ErrInvalidKey) {
		t.Errorf("a value that does not fit: %v", err)
	}
}

// TestMySQLRaces: a deadlock is retried, and so is a wait, a few times.
func TestMySQLRaces(t *testing.T) {
	database := servers.MariaDB(t)
	o := openMySQL(t, database, time.Minute, time.Second)
	must(t, o.write(func(ctx context.Context, s *Session) error {
		return errors.Join(put(ctx, s, "a", 0), put(ctx, s, "b", 0))
	}))
	add := func(ctx context.Context, s *Session, key string) error {
		_, err := s.Execute(ctx, "UPDATE r SET n = n + 1 WHERE k = ?1", []any{key})
		return err
	}
	meet, done := make(chan struct{}, 2), make(chan error, 2)
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		go func() {
			first := true
			done <- o.write(func(ctx context.Context, s *Session) error {
				if err := add(ctx, s, order[0]); err != nil {
					return err
				}
				if first {
					first = false
					meet <- struct{}{}
					for len(meet) < 2 { // both hold one
						if err := lethe.Sleep(ctx, time.Millisecond); err != nil {
							return err
						}
					}
				}
				return add(ctx, s, order[1])
			})
		}()
	}
	must(t, errors.Join(<-done, <-done))
	if got := o.rows(); got != "a=2 b=2" || o.Count.Deadlocks.Load() == 0 {
		t.Errorf("%s after %d deadlocks", got, o.Count.Deadlocks.Load())
	}

	tx, err := o.Pool.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), "UPDATE r SET n = 7 WHERE k = 'a'")
	must(t, err)
	tries := 0
	err = o.write(func(ctx context.Context, s *Session) error {
		tries++
		return errors.Join(put(ctx, s, "c", 1), add(ctx, s, "a"))
	})
	if !errors.Is(err, lethe.ErrUnavailable) || tries != maxWaited {
		t.Errorf("a row that is held: %v after %d tries", err, tries)
	}
	must(t, tx.Commit())
	if got := o.rows(); got != "a=7 b=2" {
		t.Errorf("a transaction that failed left %s", got)
	}
}

// TestMySQLObjection: foreign keys and triggers that raise are distinguished from other
// errors.
func TestMySQLObjection(t *testing.T) {
	o := openMySQL(t, servers.MariaDB(t), time.Minute, time.Second)
	must(t, o.write(func(ctx context.Context, s *Session) error { return put(ctx, s, "a", 1) }))
	for _, text := range []string{
		"CREATE TABLE pin (k VARCHAR(50) COLLATE utf8mb4_general_ci, FOREIGN KEY (k) REFERENCES r (k))", "INSERT INTO pin VALUES ('a')",
		"CREATE TRIGGER no BEFORE UPDATE ON r FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'never'",
	} {
		_, err := o.Pool.ExecContext(t.Context(), text)
		must(t, err)
	}
	for text, want := range map[string]string{"DELETE FROM r": "foreign key", "UPDATE r SET n = 2": "never", "DELETE FROM nowhere": "", "INSERT INTO r VALUES ('a', 1)": ""} {
		err := o.write(func(ctx context.Context, s *Session) error { _, err := s.Execute(ctx, text, nil); return err })
		if said, ok := Objection(err); err == nil || ok != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s: %q %v of %v", text, said, ok, err)
		}
	}
}

// TestMySQLFailedStatement: nothing before or after a failed statement is committed, even if
// the error is ignored.
func TestMySQLFailedStatement(t *testing.T) {
	o := openMySQL(t, servers.MariaDB(t), time.Minute, time.Second)
	err := o.write(func(ctx context.Context, s *Session) error {
		must(t, put(ctx, s, "a", 1))
		if err := s.AskOne(ctx, "SELECT n FROM nowhere", nil).Scan(new(int)); err == nil {
			t.Error("there is a table nowhere")
		}
		return put(ctx, s, "b", 1)
	})
	if !errors.Is(err, lethe.ErrUnavailable) || o.rows() != "" {
		t.Errorf("committed %q: %v", o.rows(), err)
	}
}

// TestMySQLConnections: a transaction whose connection breaks before COMMIT is rolled back
// and retried. If the reply to COMMIT is lost the outcome is unknown.
func TestMySQLConnections(t *testing.T) {
	server := servers.NewMariaDB(t)
	database := server.Database(t)
	o := openMySQL(t, database, time.Minute, time.Second)
	killed := false
	must(t, o.write(func(ctx context.Context, s *Session) error {
		if err := put(ctx, s, "a", 1); err != nil || killed {
			return err
		}
		killed = true
		var id int64
		must(t, s.AskOne(ctx, "SELECT connection_id()", nil).Scan(&id))
		_, err := o.Pool.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatInt(id, 10))
		must(t, err)
		return put(ctx, s, "b", 1)
	}))
	if got := o.rows(); got != "a=1 b=1" && got != "a=1" || o.Count.Torn.Load() != 1 {
		t.Errorf("%s, torn %d", got, o.Count.Torn.Load())
	}

	// Every idle connection is broken after a restart.
	server.Kill()
	server.Restart()
	must(t, o.write(func(ctx context.Context, s *Session) error { return put(ctx, s, "c", 1) }))

	proxy := servers.Proxy(t, server.Addr)
	behind := openMySQL(t, proxy.Via(database), time.Minute, time.Second)
	err := behind.write(func(ctx context.Context, s *Session) error {
		if err := put(ctx, s, "d", 1); err != nil {
			return err
		}
		proxy.Silence(200 * time.Millisecond)
		return nil
	})
	proxy.Heal()
	if !errors.Is(err, lethe.ErrUnknownOutcome) || errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("a lost answer: %v", err)
	}
	if got := o.rows(); !strings.HasSuffix(got, "c=1 d=1") {
		t.Errorf("it holds %s", got)
	}
}

// TestMySQLAddresses: an error describes what to do, and never contains the password.
func TestMySQLAddresses(t *testing.T) {
	database := servers.MariaDB(t)
	for address, want := range map[string]string{
		"mysql://u:topsecret@h":                                "is not valid",
		"mysql://u:topsecret@h/":                               "is not valid",
		"mysql://u:topsecret@h:x/name":                         "is not valid",
		"mysql://u:topsecret@/name":                            "is not valid",
		"mysql://u:top%secret@h/name":                          "is not valid",
		"mysql://u:topsecret@h/name?charset=latin1":            "parameter charset",
		"mysql://u:topsecret@h/name?tls=maybe":                 "preferred, true, skip-verify or false",
		"mysql://u:topsecret@h/name?tls-ca=/nowhere":           "tls-ca",
		"mysql://u:topsecret@127.0.0.1:1/name":                 "cannot be reached",
		strings.Replace(database, "lethetest", "topsecret", 1): "refuses the user",
		strings.Replace(database, "/lethe_", "/nowhere_", 1):   "no such database",
		database + "?tls=true":                                 "TLS",
		strings.Replace(database, "mysql://", "mariadb://", 1): "",
		database + "?tls=false":                                "",
		database + "?socket=/nowhere/socket":                   "cannot be reached",
	} {
		err := func() error {
			pool, err := OpenMySQL(address)
			if err != nil {
				return err
			}
			defer pool.Close()
			r := &Runner{Pool: pool, Dialect: MySQL(nil), AcquireTime: 10 * time.Second, Count: new(Counts)}
			begin, _ := MySQLBegin(time.Second, time.Second)
			return r.Write(t.Context(), Transaction{Begin: begin, Longest: time.Minute,
				Do: func(context.Context, *Session, []string) error { return nil }})
		}()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "u:")) {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}
