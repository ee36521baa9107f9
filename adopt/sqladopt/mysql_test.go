package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// expire removes what is due.
func (s *mysqlSite) expire() (out adopt.Settled) {
	s.t.Helper()
	claim, err := s.Claim(s.t.Context(), 100)
	if err == nil {
		out, err = s.Settle(s.t.Context(), claim, time.Second)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// mark condemns what is due after the grace.
func (s *mysqlSite) mark() adopt.Marked {
	s.t.Helper()
	s.Pass(adopt.DefaultGrace.Unreferenced)
	m, err := s.Mark(s.t.Context(), adopt.MarkRequest{Limit: 100, Late: adopt.DefaultGrace.Late})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// condemnedKeys returns the contents of marks, in order.
func condemnedKeys(m adopt.Marked) []string {
	keys := []string{}
	for _, c := range m.Contents {
		keys = append(keys, c.Content+"="+c.Object)
	}
	slices.Sort(keys)
	return keys
}

// TestMySQLVariants: for most collations names that differ in case, or in
// trailing spaces, are equal. References to a content use the collation,
// deletions use bytes.
func TestMySQLVariants(t *testing.T) {
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{loose: true})
	s.must("INSERT INTO content VALUES ('abc', 2), ('def', 1), ('ghi', 0)")
	past := "UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE"
	s.must("INSERT INTO pastes (code, hash, expires_at) VALUES ('one', 'ABC', " + past + "), ('two', 'abc ', " + past + "), ('three', 'Def', " + past + "), ('four', 'GHI', NULL)")
	if got := s.expire(); got.Gone != 3 || got.Unreferenced != 2 || len(got.Drifted) != 0 {
		t.Errorf("settled %+v", got)
	}
	for content, want := range map[string]int64{"abc": 0, "def": 0} {
		if n, _, err := s.Count(t.Context(), content); err != nil || n != want {
			t.Errorf("the count of %s is %d, want %d: %v", content, n, want, err)
		}
	}
	// One with a reference in another spelling is not condemned, whatever its
	// count.
	if _, _, err := s.Find(t.Context(), "", 10, 0); err != nil {
		t.Fatal(err)
	}
	m := s.mark()
	if got := condemnedKeys(m); !slices.Equal(got, []string{"abc=content/abc", "def=content/def"}) {
		t.Errorf("condemned %v", got)
	}
	// A condemned one cannot be referred to in another spelling.
	for _, text := range []string{
		"INSERT INTO pastes (code, hash) VALUES ('late', 'ABC')", "INSERT IGNORE INTO pastes (code, hash) VALUES ('late', 'aBc ')",
		"UPDATE pastes SET hash = 'DEF' WHERE code = 'four'", "UPDATE content SET ref_count = 1 WHERE hash = 'ABC'",
		"INSERT INTO content VALUES ('ABC', 1) ON DUPLICATE KEY UPDATE ref_count = ref_count + 1", "SELECT lethe_take_pastes('ABC')",
		"REPLACE INTO content VALUES ('abc', 1)",
	} {
		if err := s.do(t.Context(), func(tx *sql.Tx) error { _, err := tx.ExecContext(t.Context(), text); return err }); !errors.Is(err, adopttest.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", text, err)
		}
	}
	s.must("UPDATE content SET ref_count = -ref_count WHERE hash = 'ghi'") // counts may decrease
}

// TestMySQLRowVariants: a row that replaced a claimed one, with a name that is
// equal by the collation, is not in the claim.
func TestMySQLRowVariants(t *testing.T) {
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{})
	s.must("INSERT INTO content VALUES ('x', 1)")
	s.must("INSERT INTO pastes (code, hash, expires_at) VALUES ('one', 'x', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE)")
	claim, err := s.Claim(t.Context(), 10)
	if err != nil || len(claim.Rows) != 1 {
		t.Fatalf("%+v %v", claim, err)
	}
	s.must("UPDATE pastes SET code = 'ONE'")
	if got, err := s.Settle(t.Context(), claim, time.Second); err != nil || got.Gone != 0 || got.Lost != 1 {
		t.Errorf("settled %+v %v", got, err)
	}
}

// TestMySQLBinaryKeys: keys of bytes have the form of hexadecimal digits.
func TestMySQLBinaryKeys(t *testing.T) {
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{key: "VARBINARY(16)"})
	s.must(`INSERT INTO content VALUES (X'00FF275C', 1), (X'00', 3)`)
	s.must(`INSERT INTO pastes (code, hash, expires_at) VALUES ('one', X'00FF275C', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE), ('two', X'00', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE)`)
	if got := s.expire(); got.Gone != 2 || got.Unreferenced != 1 {
		t.Errorf("settled %+v", got)
	}
	m := s.mark()
	if got := condemnedKeys(m); !slices.Equal(got, []string{"00ff275c=content/00ff275c"}) {
		t.Fatalf("condemned %v", got)
	}
	c, err := s.Confirm(t.Context(), m.Fence, []adopt.Outcome{{Content: "00ff275c"}}, adopt.DefaultGrace)
	if err != nil || c.Gone != 1 || len(c.Broken) != 0 {
		t.Errorf("confirmed %+v %v", c, err)
	}
	drifts, _, err := s.Recount(t.Context(), "", 10, RepairAll)
	if err != nil || len(drifts) != 1 || drifts[0] != (Drift{"00", sql.NullInt64{Int64: 2, Valid: true}, 0}) {
		t.Errorf("drifts %+v %v", drifts, err)
	}
}

// TestMySQLTimes covers ends of every type, and invalid ones.
func TestMySQLTimes(t *testing.T) {
	database := servers.MariaDB(t)
	for i, c := range []struct{ kind, past, future, none, zone, unit string }{
		{"DATETIME NOT NULL", "UTC_TIMESTAMP() - INTERVAL 2 SECOND", "UTC_TIMESTAMP() + INTERVAL 1 HOUR", "'0000-00-00 00:00:00'", "UTC", ""},
		{"TIMESTAMP NOT NULL DEFAULT 0", "NOW() - INTERVAL 2 SECOND", "NOW() + INTERVAL 1 HOUR", "0", "", ""},
		{"DATETIME(3) NULL", "UTC_TIMESTAMP(3) + INTERVAL 2 HOUR - INTERVAL 2 SECOND", "UTC_TIMESTAMP(3) + INTERVAL 2 HOUR + INTERVAL 1 MINUTE", "NULL", "+02:00", ""},
		{"DATE NULL", "UTC_DATE()", "UTC_DATE() + INTERVAL 1 DAY", "'0000-00-00'", "UTC", ""},
		{"BIGINT UNSIGNED NULL", "UNIX_TIMESTAMP() - 2", "UNIX_TIMESTAMP() + 60", "NULL", "", "s"},
		{"DECIMAL(20,3) NULL", "UNIX_TIMESTAMP(NOW(6)) * 1000 - 2000", "UNIX_TIMESTAMP() * 1000 + 60000", "NULL", "", "ms"},
	} {
		s := &mysqlSite{t: t, pool: newMySQLPool(t, database), url: database}
		s.must(fmt.Sprintf("CREATE TABLE r%d (k INT UNSIGNED PRIMARY KEY, ends %s)", i, c.kind))
		if _, err := s.pool.ExecContext(t.Context(), fmt.Sprintf("SET STATEMENT sql_mode = '', time_zone = '+00:00' FOR INSERT INTO r%d VALUES (1, %s), (2, %s), (3, %s)", i, c.past, c.future, c.none)); err != nil {
			t.Fatal(err)
		}
		d := adopt.Collection{Mode: adopt.Reclaim, Rows: adopt.Rows{Table: fmt.Sprintf("r%d", i), Key: "k", End: "ends", Zone: c.zone, Unit: c.unit}}
		collection := s.collection(d)
		due, err := collection.Due(t.Context())
		if age := (time.Duration(s.clock()-int64(due.Oldest)) * time.Microsecond).Abs(); err != nil || due.Due != 1 || age > 24*time.Hour {
			t.Errorf("%s: %+v, %s old: %v", c.kind, due, age, err)
		}
		if out, err := collection.Take(t.Context(), 10, 0); err != nil || out.Gone != 1 {
			t.Errorf("%s: took %+v %v", c.kind, out, err)
		}
	}
}

// TestMySQLRefuses: an error about what cannot be adopted describes what to do.
func TestMySQLRefuses(t *testing.T) {
	server := servers.NewMariaDB(t, "--log-bin", "--binlog-format=MIXED")
	database := server.Database(t)
	s := &mysqlSite{t: t, pool: newMySQLPool(t, database), url: database}
	s.must("CREATE TABLE content (hash VARCHAR(64) PRIMARY KEY, n BIGINT NOT NULL)")
	s.must("CREATE TABLE other (hash VARCHAR(64) COLLATE utf8mb4_bin PRIMARY KEY, n BIGINT NOT NULL)")
	times := "initiated_at DATETIME NULL, status VARCHAR(20) NOT NULL"
	for _, c := range []struct{ table, contents, want string }{
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ") ENGINE = MyISAM", "content", "only tables of InnoDB"},
		{"CREATE VIEW %s AS SELECT hash AS code, hash, n AS expires_at, n AS initiated_at, hash AS status FROM content", "content", "name the table itself"},
		{"CREATE TABLE %s (code TEXT NOT NULL, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ", UNIQUE KEY (code(20)))", "content", "code of %s is of type text"},
		{"CREATE TABLE %s (code VARCHAR(80) NOT NULL, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ", UNIQUE KEY (code(20)))", "content", "is no key"},
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, " + times + ")", "content", "changes by itself"},
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at DATETIME NULL, initiated_at DATE NULL, status VARCHAR(9))", "content", "too coarse"},
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ", FOREIGN KEY (hash) REFERENCES content (hash) ON UPDATE CASCADE)", "content", "no trigger fires"},
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ")", "other", "not of the type"},
		{"CREATE TABLE %s (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at VARCHAR(20), " + times + ")", "content", "is no time"},
	} {
		name := fmt.Sprintf("t%d", len(s.tables()))
		s.must(fmt.Sprintf(c.table, name))
		d := mysqlKind{}.description()
		d.Rows.Table, d.Contents.Table, d.Contents.Count = name, c.contents, "n"
		want := strings.ReplaceAll(c.want, "%s", name)
		if _, err := s.database().Collection(t.Context(), "pastes", d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.table, err, want)
		}
	}
	d := mysqlKind{}.description()
	d.Rows.Zone = "Europe/Nowhere"
	s.must("CREATE TABLE pastes (code VARCHAR(9) PRIMARY KEY, hash VARCHAR(64), expires_at DATETIME NULL, " + times + ")")
	d.Contents.Count = "n"
	if _, err := s.database().Collection(t.Context(), "pastes", d); err == nil || !strings.Contains(err.Error(), "knows no time zone") {
		t.Errorf("an unknown time zone: %v", err)
	}
	for text, want := range map[string]string{
		"SET GLOBAL read_only = 1": "read-only", "SET GLOBAL read_only = 0, GLOBAL binlog_format = STATEMENT": "binlog_format",
	} {
		s.must(text)
		if _, err := Open(t.Context(), s.url, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		s.must("SET GLOBAL read_only = 0, GLOBAL binlog_format = MIXED")
	}
	db, err := Open(t.Context(), s.url, Options{Schema: "of lethe"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "letters, digits and _") {
		t.Errorf("a prefix that is no name: %v", err)
	}
}

// TestMySQLGuardAndSnapshots: a transaction with an old snapshot is refused as
// well, and an uncommitted reference prevents a content's mark.
func TestMySQLGuardAndSnapshots(t *testing.T) {
	for _, isolation := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted, sql.LevelSerializable} {
		t.Run(isolation.String(), func(t *testing.T) {
			s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{loose: true, isolation: isolation})
			s.must("INSERT INTO content VALUES ('a', 0), ('b', 0), ('c', 5)")
			begin := func() *sql.Tx {
				tx, err := s.pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = tx.Rollback() })
				if isolation != sql.LevelSerializable { // which would lock what it reads
					var n int
					if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM content, lethe_condemned").Scan(&n); err != nil {
						t.Fatal(err)
					}
				}
				return tx
			}
			refers := begin()
			if _, err := refers.ExecContext(t.Context(), "INSERT INTO pastes (code, hash) VALUES ('one', 'b')"); err != nil {
				t.Fatal(err)
			}
			old := begin()
			// A transaction that refers to something else does not delay it.
			unhindered, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if _, err := s.pool.ExecContext(unhindered, "INSERT INTO lethe_condemned (collection, content, object, state, due_at) VALUES ('pastes', 'a', 'content/a', 1, 0), ('pastes', 'bb', 'content/bb', 1, 1), ('pastes', 'aa', 'content/aa', 3, 1)"); err != nil {
				t.Fatalf("another content: %v", err)
			}
			m := s.mark()
			if got := condemnedKeys(m); !slices.Contains(got, "a=content/a") {
				t.Fatalf("condemned %v", got)
			}
			for _, text := range []string{"INSERT INTO pastes (code, hash) VALUES ('two', 'a')", "UPDATE content SET ref_count = 1 WHERE hash = 'a'"} {
				if _, err := old.ExecContext(t.Context(), text); refusedByMySQL(err) == nil {
					t.Errorf("%s in an old snapshot: %v", text, err)
				}
			}
			if err := refers.Commit(); err != nil {
				t.Error(err)
			}
			if _, _, err := s.Find(t.Context(), "", 10, 0); err != nil {
				t.Fatal(err)
			}
			if got := condemnedKeys(s.mark()); slices.Contains(got, "b=content/b") {
				t.Errorf("condemned %v, and a row refers to b", got)
			}
		})
	}
}

// TestMySQLGuard: the guard consists of all its triggers, is restored by
// itself, and stays while objects are being deleted.
func TestMySQLGuard(t *testing.T) {
	ctx := t.Context()
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{})
	if err := s.InstallGuard(ctx); err != nil {
		t.Errorf("once more: %v", err)
	}
	for _, trigger := range []string{"lethe_pastes_contents", "lethe_pastes_rows", "lethe_pastes_named", "lethe_pastes_counts"} {
		s.must("DROP TRIGGER " + trigger)
		if yes, err := s.Guarded(ctx); err != nil || yes {
			t.Errorf("guarded without %s: %v %v", trigger, yes, err)
		}
		s.must("CREATE TRIGGER " + trigger + " BEFORE INSERT ON pastes FOR EACH ROW SET NEW.code = NEW.code")
		if yes, err := s.Guarded(ctx); err != nil || yes {
			t.Errorf("guarded by a stranger named %s: %v %v", trigger, yes, err)
		}
		if err := s.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if yes, err := s.Guarded(ctx); err != nil || !yes {
		t.Fatalf("guarded: %v %v", yes, err)
	}
	var took, released, missing bool
	s.must("INSERT INTO content VALUES ('x', 0)")
	if err := s.pool.QueryRowContext(ctx, "SELECT lethe_take_pastes('x'), lethe_release_pastes('x'), lethe_take_pastes('y')").Scan(&took, &released, &missing); err != nil || !took || !released || missing {
		t.Errorf("took %v, released %v, missing %v: %v", took, released, missing, err)
	}
	s.must("INSERT INTO lethe_condemned (collection, content, object, state, due_at) VALUES ('pastes', 'x', 'content/x', 1, 0)")
	m := s.mark()
	if err := s.RemoveGuard(ctx); err == nil || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("removed although objects are being deleted: %v", err)
	}
	if yes, err := s.Guarded(ctx); err != nil || !yes {
		t.Errorf("guarded after a refusal: %v %v", yes, err)
	}
	if _, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "x"}}, adopt.DefaultGrace); err != nil {
		t.Fatal(err)
	}
	s.Pass(time.Hour)
	if err := s.RemoveGuard(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(ctx, adopt.MarkRequest{Limit: 1, Late: time.Hour}); err != nil && !errors.Is(err, adopt.ErrUnguarded) {
		t.Error(err)
	}
	s.must("INSERT INTO lethe_condemned (collection, content, object, state, due_at) VALUES ('pastes', 'z', 'content/z', 1, 0)")
	if _, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, adopt.ErrUnguarded) {
		t.Errorf("marked without a guard: %v", err)
	}
	var left int
	if err := s.pool.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()) + (SELECT count(*) FROM information_schema.routines WHERE routine_schema = DATABASE())").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d triggers and functions are left: %v", left, err)
	}
}

// TestMySQLInstall continues after a crash, and Remove leaves nothing.
func TestMySQLInstall(t *testing.T) {
	ctx := t.Context()
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{})
	s.must("DROP TABLE lethe_runs, lethe_guards, lethe_adoption")
	for range 2 {
		if err := s.db.Install(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if yes, err := s.Guarded(ctx); err != nil || yes {
		t.Errorf("guarded without its row: %v %v", yes, err)
	}
	tables, err := s.db.Tables(ctx)
	if err != nil || len(tables) != 3 || tables[1].Refers["hash"] != "content" || !slices.Equal(tables[0].Key, []string{"hash"}) {
		t.Errorf("tables %+v %v", tables, err)
	}
	if err := s.RemoveGuard(ctx); err != nil {
		t.Error(err)
	}
	if err := s.db.Remove(ctx); err != nil {
		t.Error(err)
	}
	if left := s.tables(); !slices.Equal(left, []string{"content", "pastes", "pins"}) {
		t.Errorf("tables that are left: %v", left)
	}
	s.must("INSERT INTO content VALUES ('free', 1)")
}

// TestMySQLCheck finds what is missing without running anything.
func TestMySQLCheck(t *testing.T) {
	ctx := t.Context()
	server := servers.NewMariaDB(t, "--log-bin", "--binlog-format=ROW")
	s := newMySQLSite(t, server.Database(t), mysqlKind{loose: true})
	found, err := s.Check(ctx)
	if err != nil || adopt.Problems(found) {
		t.Fatalf("%+v %v", found, err)
	}
	advice := ""
	for _, f := range found {
		advice += f.Do + ";"
	}
	want := "ALTER TABLE `pastes` ADD INDEX (`status`, `initiated_at`);ALTER TABLE `pastes` ADD INDEX (`status`, `expires_at`);" +
		"ALTER TABLE `pastes` ADD INDEX (`hash`);ALTER TABLE `content` ADD INDEX (`ref_count`, `hash`);"
	if advice != want {
		t.Errorf("advice %q, want %q", advice, want)
	}
	s.must(advice[:len(advice)-1])
	s.must("INSERT INTO content VALUES ('a', 0), ('b', 0)")
	if found, err := s.Check(ctx); err != nil || len(found) != 0 {
		t.Errorf("with the indexes: %+v %v", found, err)
	}

	s.must("CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'topsecret'")
	s.must("GRANT SELECT, LOCK TABLES, TRIGGER, CREATE ROUTINE ON *.* TO reader@'127.0.0.1'")
	s.must("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON *.* TO reader@'127.0.0.1'")
	s.must("REVOKE UPDATE ON *.* FROM reader@'127.0.0.1'")
	reader := &mysqlSite{t: t, pool: s.pool, url: strings.Replace(s.url, "lethe:lethetestsecret", "reader:topsecret", 1)}
	c, err := reader.database().Collection(ctx, "pastes", s.kind.description())
	if err != nil {
		t.Fatal(err)
	}
	found, err = c.Check(ctx)
	if text := fmt.Sprint(found); err != nil || !adopt.Problems(found) || !strings.Contains(text, "UPDATE command denied") {
		t.Errorf("without a privilege: %v %v", text, err)
	}
	if err := c.InstallGuard(ctx); err == nil || !strings.Contains(err.Error(), "log_bin_trust_function_creators") {
		t.Errorf("triggers with a binary log: %v", err)
	}
	soon, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := s.pool.ExecContext(soon, "INSERT INTO content VALUES ('c', 0)"); err != nil {
		t.Errorf("a table stays locked: %v", err)
	}
}

// tables returns the names of all tables.
func (s *mysqlSite) tables() (out []string) {
	s.t.Helper()
	rows, err := s.pool.QueryContext(s.t.Context(), "SHOW TABLES")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, name)
	}
	return out
}

// clock returns the server's time, in microseconds.
func (s *mysqlSite) clock() (us int64) {
	s.t.Helper()
	if err := s.pool.QueryRowContext(s.t.Context(), "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&us); err != nil {
		s.t.Fatal(err)
	}
	return us
}

// TestMySQLGuardOrder: transactions that insert a row and then count are
// serialised, and none is rolled back.
func TestMySQLGuardOrder(t *testing.T) {
	ctx := t.Context()
	s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{loose: true})
	s.must("INSERT INTO content VALUES ('x', 1)")
	const again = "INSERT INTO content VALUES ('x', 1) ON DUPLICATE KEY UPDATE ref_count = ref_count + 1"
	store := make(chan error, 1)
	first, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback()
	if _, err := first.ExecContext(ctx, "INSERT INTO pastes (code, hash) VALUES ('two', 'x')"); err != nil {
		t.Fatal(err)
	}
	go func() {
		store <- s.do(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO pastes (code, hash) VALUES ('three', 'x')")
			if err == nil {
				_, err = tx.ExecContext(ctx, again)
			}
			return err
		})
	}()
	s.awaitWaiting()
	if _, err := first.ExecContext(ctx, again); err != nil {
		t.Error(err)
	}
	if err := errors.Join(first.Commit(), <-store); err != nil {
		t.Error(err)
	}
}

// awaitWaiting waits until a transaction waits for a lock.
func (s *mysqlSite) awaitWaiting() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for n := 0; n == 0; {
		if err := s.pool.QueryRowContext(ctx, "SELECT count(*) FROM information_schema.innodb_trx x JOIN information_schema.processlist p ON p.id = x.trx_mysql_thread_id WHERE x.trx_state = 'LOCK WAIT' AND p.db = DATABASE()").Scan(&n); err != nil {
			s.t.Fatalf("nobody waits: %v", err)
		}
		// The table is a copy, which is renewed when it was not read for a
		// tenth of a second.
		_ = lethe.Sleep(ctx, 150*time.Millisecond)
	}
}

// On MySQL a check says that no test runs there.
func TestUntestedServers(t *testing.T) {
	if found := untested("10.11.14-MariaDB-0+deb12u2"); len(found) != 0 {
		t.Errorf("of MariaDB it says %v", found)
	}
	if found := untested("8.4.3"); len(found) != 1 || found[0].Problem || !strings.Contains(found[0].What, "MySQL 8.4.3") {
		t.Errorf("of MySQL it says %v", found)
	}
}
