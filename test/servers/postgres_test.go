package servers

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be dead
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func ask(t *testing.T, conn *pgx.Conn, question string) (answer string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), question).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return answer
}

func TestDatabasesAreFreshAndOrderedByBytes(t *testing.T) {
	one, two := connect(t, Postgres(t)), connect(t, Postgres(t))
	run(t, one, "CREATE TABLE only_here (id BIGINT)")
	if got := ask(t, two, "SELECT coalesce(to_regclass('only_here')::text, 'none')"); got != "none" {
		t.Errorf("the second database has the first one's table %s", got)
	}
	if got := ask(t, one, "SELECT datcollate || ' ' || pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"); got != "C UTF8" {
		t.Errorf("locale and encoding are %s, want C UTF8", got)
	}
}

func TestWhatWasCommittedOutlivesKill(t *testing.T) {
	s := NewPostgres(t, "work_mem=1MB")
	url := s.Database()
	first := connect(t, url)
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := ask(t, first, "SHOW "+setting); got != "on" {
			t.Errorf("%s is %s, want on", setting, got)
		}
	}
	if got := ask(t, first, "SHOW work_mem"); got != "1MB" {
		t.Errorf("work_mem is %s, want the 1MB that was asked for", got)
	}
	run(t, first, "CREATE TABLE kept (id BIGINT)")
	run(t, first, "INSERT INTO kept VALUES (7)")
	s.Kill()
	if err := first.Ping(t.Context()); err == nil {
		t.Error("a connection to a killed server answers")
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Error("a killed server accepts connections")
	}
	s.Restart()
	if got := ask(t, connect(t, url), "SELECT id::text FROM kept"); got != "7" {
		t.Errorf("the row reads %s after the restart, want 7", got)
	}
	s.Stop()
	s.Restart()
	connect(t, url)
}

func TestPoolerInTransactionMode(t *testing.T) {
	url := PgBouncer(t, Postgres(t))
	conn := connect(t, url)
	run(t, conn, "CREATE TABLE pooled (id BIGINT)")
	// Beyond what the server itself would take.
	for range 400 {
		run(t, connect(t, url), "INSERT INTO pooled VALUES (1)")
	}
	if got := ask(t, conn, "SELECT count(*)::text FROM pooled"); got != "400" {
		t.Errorf("%s rows, want 400", got)
	}
}
