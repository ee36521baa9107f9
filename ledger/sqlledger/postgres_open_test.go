package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// sqlOn runs a statement beside the ledger.
func sqlOn(t testing.TB, url, text string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), text); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationsRace: instances that start at once on an empty database find one
// store.
func TestMigrationsRace(t *testing.T) {
	for name, url := range map[string]string{
		"direct": servers.Postgres(t),
		"pooler": servers.PgBouncer(t, servers.Postgres(t)),
	} {
		t.Run(name, func(t *testing.T) {
			const instances = 6
			var ids [instances]ledger.Store
			var wg sync.WaitGroup
			for i := range instances {
				wg.Go(func() {
					db, err := OpenPostgres(t.Context(), url, ledger.Options{}, Postgres(PostgresOptions{Requests: 2, Routines: 1}))
					if err != nil {
						t.Error(err)
						return
					}
					ids[i], err = db.Identity(t.Context())
					if err := errors.Join(err, db.Close()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for _, id := range ids {
				if id.ID == "" || id != ids[0] {
					t.Errorf("the instances found different stores: %v", ids)
				}
			}
		})
	}
}

// TestNewerSchema: an older lethe works on a newer ledger, unless that forbids it.
func TestNewerSchema(t *testing.T) {
	url := servers.Postgres(t)
	setUp(t, openServerAt(t, url, ledger.Options{}))
	steps, err := migrations.ReadDir("migrations/postgres")
	if err != nil {
		t.Fatal(err)
	}
	next := len(steps) + 1
	sqlOn(t, url, fmt.Sprintf(`INSERT INTO lethe.migrations VALUES (%d, 'adds something', 0, 1)`, next))
	older := openServerAt(t, url, ledger.Options{})
	mustPut(t, older, "k", "digest")
	if err := older.Understood(t.Context()); err != nil {
		t.Error(err)
	}
	sqlOn(t, url, fmt.Sprintf(`INSERT INTO lethe.migrations VALUES (%d, 'changes something', 0, %d)`, next+1, next+1))
	if _, err := OpenPostgres(t.Context(), url, ledger.Options{}); err == nil || !strings.Contains(err.Error(), "use a newer lethe") {
		t.Errorf("a ledger that an older lethe does not understand was opened: %v", err)
	}
	if err := older.Understood(t.Context()); !errors.Is(err, ErrOutdated) {
		t.Errorf("one that had it open is told %v, want %v", err, ErrOutdated)
	}
}

func TestOpenPostgresSaysWhatIsWrong(t *testing.T) {
	url := servers.Postgres(t)
	sqlOn(t, url, `CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
	t.Cleanup(func() { sqlOn(t, url, `DROP DATABASE latin WITH (FORCE)`) })
	base := url[:strings.LastIndex(url, "/")]
	for u, want := range map[string]string{
		base + "/latin?sslmode=disable":             "ENCODING 'UTF8'",
		base + "/nowhere?sslmode=disable":           "no such database",
		"postgres://u:secret@127.0.0.1:1/db":        "cannot be reached: failed to connect to `user=u database=db`: 127.0.0.1:1 (127.0.0.1): dial error",
		"postgres://u:secret@127.0.0.1:bad/db?x=%z": "",
	} {
		_, err := OpenPostgres(t.Context(), u, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q and no password", u, err, want)
		}
	}
}

// TestLostCommit: a COMMIT whose reply is lost leaves the outcome unknown, and the
// operation's record shows it. One that was never sent is repeated.
func TestLostCommit(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	for name, c := range map[string]struct {
		lose    func(ctx context.Context, s *sqldb.Session) error // before, with COMMIT not sent
		happens bool
	}{
		"sent":   {nil, true},
		"undone": {func(_ context.Context, s *sqldb.Session) error { s.Undo(); return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			blob := lethe.RandomID(1)
			if _, err := db.Begin(t.Context(), ledger.Intent{ID: blob, Backend: "disk", Size: 100}); err != nil {
				t.Fatal(err)
			}
			runner := db.engine.Server.Runners[engine.Request]
			runner.Commit = func(ctx context.Context, s *sqldb.Session) error {
				runner.Commit = nil
				if c.lose != nil {
					return errors.Join(errors.New("the answer is lost"), c.lose(ctx, s))
				}
				return errors.Join(errors.New("the answer is lost"), s.Commit(ctx))
			}
			commit := ledger.Commit{
				Op: lethe.RandomID(2), What: "put", Object: ledger.Object{Bucket: "b", Key: name, Size: 100, ETag: "e"},
				Content: ledger.ContentKey{Kind: lethe.Whole, Digest: name, Size: 100},
				Blobs:   []ledger.Uploaded{{Blob: blob, Size: 100, Digest: name}},
			}
			if _, err := db.Commit(t.Context(), commit); !errors.Is(err, lethe.ErrUnknownOutcome) || errors.Is(err, lethe.ErrUnavailable) {
				t.Fatalf("error %v", err)
			}
			if _, found, err := db.Outcome(t.Context(), commit.Op); err != nil || found != c.happens {
				t.Errorf("found %v, want %v: %v", found, c.happens, err)
			}
			out, err := db.Commit(t.Context(), commit)
			if err != nil || out.Object.ID != commit.Op {
				t.Errorf("asked again: %+v %v", out, err)
			}
			sound(t, db)
		})
	}
}

// TestOutcomeWaits: Outcome waits for a transaction whose caller lost its connection,
// instead of reporting that nothing happened.
func TestOutcomeWaits(t *testing.T) {
	db := openServer(t, ledger.Options{})
	recorded, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.write(t.Context(), "slow", func(t *tx) error {
			_, err := t.Exec(recordOp, "op", "put", "object", t.Now)
			close(recorded)
			<-end
			return err
		})
	}()
	<-recorded
	asked := make(chan bool, 1)
	go func() {
		_, found, err := db.Outcome(t.Context(), "op")
		asked <- found && err == nil
	}()
	awaitLock(t, db)
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !<-asked {
		t.Error("the operation was told to have done nothing")
	}
	if _, found, err := db.Outcome(t.Context(), "other"); found || err != nil {
		t.Errorf("an operation that nobody ran: %v %v", found, err)
	}
}

// awaitLock waits until some transaction waits for another.
func awaitLock(t testing.TB, db *DB) {
	t.Helper()
	for waiting := false; !waiting; {
		err := db.engine.Server.Runners[engine.Batch].Pool.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestServerClock: the time is the server's, and it does not run back behind what
// was used before the ledger was opened.
func TestServerClock(t *testing.T) {
	url := servers.Postgres(t)
	db := openServerAt(t, url, ledger.Options{})
	if d := db.ClockBehind(); d != 0 {
		t.Errorf("the clock is %s behind", d)
	}
	setUp(t, db)
	ahead := lethe.SystemClock{}.Now().Add(time.Hour)
	sqlOn(t, url, fmt.Sprintf(`UPDATE lethe.store SET clock_high = %d`, ahead))
	other := openServerAt(t, url, ledger.Options{})
	if d := other.ClockBehind(); d < 59*time.Minute || d > time.Hour {
		t.Errorf("the clock is %s behind, want an hour", d)
	}
	if c := mustPut(t, other, "k", "digest"); c.Object.ModifiedAt < ahead {
		t.Errorf("the clock ran back to %s", c.Object.ModifiedAt)
	}
	mustPut(t, db, "l", "digest")
	if d := db.ClockBehind(); d < 59*time.Minute {
		t.Errorf("the instance that was open is only %s behind", d)
	}
}

// TestAcceptPostgres: a restored ledger has a new identity, and holds deletes.
func TestAcceptPostgres(t *testing.T) {
	url := servers.Postgres(t)
	if _, err := AcceptPostgres(t.Context(), url, ledger.Options{}); err == nil || !strings.Contains(err.Error(), "has no ledger") {
		t.Fatalf("an empty database was accepted: %v", err)
	}
	db := openServerAt(t, url, ledger.Options{})
	setUp(t, db)
	before, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := AcceptPostgres(t.Context(), url, ledger.Options{})
	if err != nil || after.ID != before.ID || after.DB == before.DB {
		t.Errorf("accepted %+v as %+v: %v", before, after, err)
	}
	backends, err := db.Backends(t.Context())
	if err != nil || len(backends) != 1 || backends[0].Held != Restored {
		t.Errorf("backends %+v: %v", backends, err)
	}
	for what, err := range map[string]error{
		"backup":  db.Backup(t.Context(), t.TempDir()+"/copy"),
		"vacuum":  func() error { _, err := db.Vacuum(t.Context(), 1); return err }(),
		"visited": func() error { _, err := db.PagesVisited(t.Context()); return err }(),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLedgerBeforeReleaseOnPostgres: it is refused, with what to do; TestRefusedFiles has
// SQLite's.
func TestLedgerBeforeReleaseOnPostgres(t *testing.T) {
	url := servers.Postgres(t)
	db := openServerAt(t, url, ledger.Options{})
	before := identityOf(t, db)
	sqlOn(t, url, strings.Replace(beforeRelease, "migrations", "lethe.migrations", 1))
	if _, err := OpenPostgres(t.Context(), url, ledger.Options{}); err == nil || !strings.Contains(err.Error(), "start a new ledger") {
		t.Errorf("it was opened: %v", err)
	}
	if after := identityOf(t, db); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

func identityOf(t *testing.T, db *DB) ledger.Store {
	t.Helper()
	s, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
