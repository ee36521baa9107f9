package incidents_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/test/servers"
)

// GitLab #1237: the collector deleted on the object store within the transaction that
// held its rows locked, for up to ten seconds, and the database's users waited. Here
// no transaction is open while a backend is called: asked of PostgreSQL itself, at
// every call.
func TestGitLab1237_CallsInsideTransactions(t *testing.T) {
	url := servers.Postgres(t)
	w := setting{backends: 2, replicas: 2}.onPostgres(t, url)
	aside := sessionOn(t, url)
	calls := 0
	look := func(c blobtest.Call) blobtest.Fault {
		calls++
		var open int
		err := aside.QueryRow(w.ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND application_name = 'lethe'`).Scan(&open)
		w.must(err)
		if open > 0 {
			w.Errorf("%d transactions are open during a %s", open, c.Op)
		}
		return blobtest.Fault{}
	}
	w.fault, w.faults["second"] = look, look
	alive := map[string]string{"b/large": strings.Repeat("streamed ", small), "b/parts": "part 1part 2"}
	w.put("b/large", alive["b/large"])
	w.put("b/gone", "gone")
	m := w.multipart("b/parts")
	m.part(1, "part 1")
	m.part(2, "part 2")
	m.complete()
	w.must(w.engine())
	w.delete("b/gone")
	w.clock.Advance(w.safety.ReadGrace)
	w.must(w.engine())
	w.has("b/large", alive["b/large"])
	w.pass(w.verify(nil))
	if calls < 20 {
		w.Errorf("only %d calls were looked at", calls)
	}
	w.ends(alive)
	w.copied()

	harmed(t, func(inside bool) bool {
		locked, waited := false, false
		step := func(call func()) { // of the collector
			locked = true
			if inside {
				call()
			}
			locked = false
			if !inside {
				call()
			}
		}
		step(func() { waited = waited || locked }) // others want the rows while the object store takes its time
		return waited
	})
}

func sessionOn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// Harbor #15445 by its own means: PostgreSQL has no connection left, "remaining
// connection slots are reserved". Here whatever fails for that ends its pass, the
// client is told that nothing happened, and all goes on when there are some again.
func TestHarbor15445_NoConnectionIsLeft(t *testing.T) {
	url := servers.Postgres(t)
	aside := sessionOn(t, url)
	database := aside.Config().Database
	role := database + "_app"
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := aside.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE " + role + " LOGIN")
	run("GRANT CREATE ON DATABASE " + database + " TO " + role)
	w := setting{}.onPostgres(t, strings.Replace(url, aside.Config().User+"@", role+"@", 1))
	alive := w.fill("b2", 4)
	w.condemnSome(limit)

	run("ALTER ROLE " + role + " CONNECTION LIMIT 0")
	run("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = $1", role)
	equal(w, "the engine goes on unseen", w.engine() == nil, false)
	_, err := w.try(w.verify(nil))
	equal(w, "fsck goes on unseen", err == nil, false)
	w.wants(w.tryPut("b/refused", "refused"), lethe.ErrUnavailable)
	run("ALTER ROLE " + role + " CONNECTION LIMIT -1")
	w.ends(alive)

	n := newNaive()
	n.put("tag", "layer", "body")
	marked := map[string]bool{}
	if err := errors.New("remaining connection slots are reserved"); err == nil {
		marked["layer"] = true
	}
	sweep(n, marked)
	n.loses(t, "tag")
}
