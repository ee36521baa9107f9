package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/test/servers"
)

// adopted is the paste service with its description.
type adopted struct {
	t     *testing.T
	store *paste.Store
	db    *pgx.Conn
	file  string
}

// newAdopted starts the servers of the paste service; edit changes its description.
func newAdopted(t *testing.T, edit *strings.Replacer) *adopted {
	t.Helper()
	gateway, redis, database := servers.VersityGW(t), servers.NewRedis(t), servers.Postgres(t)
	bucket := gateway.Bucket(t)
	store, err := paste.Open(t.Context(), paste.Config{
		Database: database, Redis: "redis://" + redis.Addr, Log: slog.New(slog.DiscardHandler),
		S3: paste.S3{Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: bucket, Access: gateway.Access, Secret: gateway.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"DATABASE": database, "REDIS": "redis://" + redis.Addr, "S3_ENDPOINT": gateway.Endpoint, "S3_BUCKET": bucket,
		"S3_ACCESS_KEY": gateway.Access, "S3_SECRET_KEY": gateway.Secret,
	} {
		t.Setenv("PASTEBIN_"+name, value)
	}
	text, err := os.ReadFile("../../examples/pastebin/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("    grace:\n"), []byte("    grace:\n      cache_again: 1s\n"), 1) // a run waits for it
	a := &adopted{t: t, store: store, file: filepath.Join(t.TempDir(), "adopt.yaml")}
	if err := os.WriteFile(a.file, []byte(edit.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	if a.db, err = pgx.Connect(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.db.Close(context.Background()) })
	return a
}

// run runs "lethe adopt" and returns its exit code and its whole output.
func (a *adopted) run(args ...string) (int, string) {
	a.t.Helper()
	var out bytes.Buffer
	code := run(a.t.Context(), append([]string{"adopt"}, args...), streams{strings.NewReader(""), &out, &out})
	return code, out.String()
}

// ok checks that "lethe adopt" succeeds and writes each of the texts.
func (a *adopted) ok(want []string, args ...string) string {
	a.t.Helper()
	code, out := a.run(args...)
	for _, w := range want {
		if !strings.Contains(out, w) {
			a.t.Errorf("adopt %s does not write %q:\n%s", strings.Join(args, " "), w, out)
		}
	}
	if code != 0 {
		a.t.Fatalf("adopt %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func (a *adopted) count(query string) (n int) {
	a.t.Helper()
	if err := a.db.QueryRow(a.t.Context(), query).Scan(&n); err != nil {
		a.t.Fatal(err)
	}
	return n
}

func (a *adopted) sql(text string, args ...any) {
	a.t.Helper()
	if _, err := a.db.Exec(a.t.Context(), text, args...); err != nil {
		a.t.Fatal(err)
	}
}

func (a *adopted) text(query string) (text string) {
	a.t.Helper()
	if err := a.db.QueryRow(a.t.Context(), query).Scan(&text); err != nil {
		a.t.Fatal(err)
	}
	return text
}

const (
	pastesLeft = `SELECT count(*) FROM pastes`
	lethesOwn  = `SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'lethe') + (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'lethe%')`
)

// From nothing to the first reclaimed byte by the commands, and back.
func TestAdoptCommands(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s"))
	p, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	code, out := a.run("check", a.file)
	if code != exitProblems || !strings.Contains(out, "its guard is not installed") || !strings.Contains(out, "1 row has expired") {
		t.Fatalf("check without a guard: exit code %d\n%s", code, out)
	}
	for _, key := range []string{p.Code, p.Hash, "content/" + p.Hash} { // before Lethe's tables are made
		a.ok([]string{"content " + p.Hash + " is object content/" + p.Hash + "; 1 row refers to it"}, "explain", a.file, key)
	}
	if code, out := a.run("receipts", "verify", a.file); code == 0 || !strings.Contains(out, "there are no receipts") {
		t.Errorf("receipts without tables: exit code %d\n%s", code, out)
	}
	if n := a.count(lethesOwn); n != 0 {
		t.Fatalf("a check left %d things of lethe's", n)
	}
	if code, out := a.run("run", a.file, "--once"); code != exitProblems || !strings.Contains(out, "pastes: not worked on") || a.count(pastesLeft) != 1 {
		t.Fatalf("a collection with a problem was worked on: exit code %d\n%s", code, out)
	}
	if code, out := a.run("run", a.file, "--dry-run"); code != exitProblems || !strings.Contains(out, "pastes only reports, as its check finds a problem: its guard is not installed") || !strings.Contains(out, "its end has come") {
		t.Errorf("a dry run of a collection with a problem: exit code %d\n%s", code, out)
	}
	a.ok([]string{"CREATE TRIGGER"}, "guard", "show", a.file)
	a.ok([]string{"pastes is guarded"}, "guard", "install", a.file, "--yes")
	if out := a.ok([]string{"the sampled object is in the bucket"}, "check", a.file); strings.Contains(out, "PROBLEM") {
		t.Errorf("a problem is left:\n%s", out)
	}
	a.ok([]string{"row " + p.Code + " ends at", "past", "NOT_EXPIRED"}, "explain", a.file, p.Code)
	a.ok([]string{"1 row has expired", "expire pastes", p.Code, "its end has come"}, "run", a.file, "--dry-run")
	a.ok([]string{"rows 1", "objects 1"}, "run", a.file, "--once")
	if n := a.count(pastesLeft); n != 0 {
		t.Errorf("%d pastes are left", n)
	}
	a.ok([]string{"row " + p.Code + " was removed"}, "explain", a.file, p.Code)
	for _, asked := range [][]string{{"nobody"}, {"nobody", "--json"}} {
		if code, out := a.run(append([]string{"explain", a.file}, asked...)...); code != exitNothing || strings.Contains(out, "null") {
			t.Errorf("explain %q: exit code %d\n%s", asked, code, out)
		}
	}
	if code, out := a.run("explain", a.file, "pasts", "nobody"); code == 0 || !strings.Contains(out, `no collection "pasts" is described: there is pastes`) {
		t.Errorf("a collection that is misspelled: exit code %d\n%s", code, out)
	}
	a.ok([]string{"0 rows have expired"}, "status", a.file)
	if code, out := a.run("remove", a.file, "--yes"); code == 0 || !strings.Contains(out, "1 content of pastes is being deleted") {
		t.Errorf("removed while a row may yet name what was deleted: exit code %d\n%s", code, out)
	}
	if _, err := a.db.Exec(t.Context(), "UPDATE lethe.condemned SET due_at = 0"); err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"removed"}, "remove", a.file, "--yes")
	if n := a.count(lethesOwn); n != 0 {
		t.Errorf("%d things of lethe's are left", n)
	}
}

// Objects that are not due yet are work to come: status says how many, and from when on.
func TestAdoptStatusTellsWhatGoesLater(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer())
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.create("waits")
	a.ok([]string{"unreferenced 1", "1 object goes later, the first from 2"}, "run", a.file, "--once")
	a.ok([]string{"\"objects\": 0", "\"objects_later\": 1"}, "status", a.file, "--json")
}

// The time within which status counts what goes for good is that of the collection.
func TestAdoptStatusTellsWithinWhatTime(t *testing.T) {
	b := adoption.Backlog{Kind: adopt.OfKeys, Nearing: sqladopt.Nearing{Waits: 3, First: 1, Soon: 2, Within: 12 * time.Hour}}
	if got := due(b); !strings.HasSuffix(got, ", 2 within 12 h") {
		t.Error(got)
	}
}

// Wrong counts are listed, and repaired only on request.
func TestAdoptRecount(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer())
	for range 3 {
		if _, err := a.store.Create(t.Context(), []byte("shared"), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.store.Create(t.Context(), []byte("other"), time.Hour); err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"every count is right"}, "recount", a.file, "pastes")
	const shared = `SELECT ref_count FROM content WHERE content_hash = (SELECT content_hash FROM pastes GROUP BY 1 HAVING count(*) = 3)`
	if _, err := a.db.Exec(t.Context(), `UPDATE content SET ref_count = 7 WHERE ref_count = 3`); err != nil {
		t.Fatal(err)
	}
	code, out := a.run("recount", a.file, "pastes")
	if code != exitProblems || !strings.Contains(out, "count 7, rows 3") || !strings.Contains(out, "1 count is wrong; --repair corrects what is too low, and with --lower the 1 too high") || a.count(shared) != 7 {
		t.Errorf("exit code %d, the count is %d:\n%s", code, a.count(shared), out)
	}
	// What a table without a foreign key refers to would lose its object.
	if code, out = a.run("recount", a.file, "pastes", "--repair", "--yes"); code != exitProblems || !strings.Contains(out, "0 counts were corrected; 1 count is too high") || a.count(shared) != 7 {
		t.Errorf("exit code %d, the count is %d:\n%s", code, a.count(shared), out)
	}
	a.ok([]string{"1 count was corrected"}, "recount", a.file, "pastes", "--repair", "--lower", "--yes")
	if n := a.count(shared); n != 3 {
		t.Errorf("the count is %d, want 3", n)
	}
	a.ok([]string{"every count is right"}, "recount", a.file, "pastes")
	if _, err := a.db.Exec(t.Context(), `ALTER TABLE content ALTER ref_count DROP NOT NULL, DROP CONSTRAINT content_ref_count_check;
		UPDATE content SET ref_count = NULL WHERE ref_count = 3;
		UPDATE content SET ref_count = -1 WHERE ref_count = 1`); err != nil {
		t.Fatal(err)
	}
	code, out = a.run("recount", a.file, "pastes")
	if code != exitProblems || !strings.Contains(out, "count NULL, rows 3") || !strings.Contains(out, "count -1, rows 1") || !strings.Contains(out, "2 counts are wrong; --repair corrects them") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	a.ok([]string{"2 counts were corrected"}, "recount", a.file, "pastes", "--repair", "--yes")
	if n := a.count(shared); n != 3 {
		t.Errorf("the count was NULL, and is %d, want 3", n)
	}
}

// Applications may take and release a content by functions of the guard; one
// that is being deleted cannot be taken.
func TestAdoptTakeAndRelease(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer())
	if _, err := a.store.Create(t.Context(), []byte("a"), time.Hour); err != nil {
		t.Fatal(err)
	}
	a.ok(nil, "guard", "install", a.file, "--yes")
	const count = `SELECT ref_count FROM content`
	call := func(function, key string) (done bool) {
		t.Helper()
		if err := a.db.QueryRow(t.Context(), `SELECT lethe.`+function+`_pastes(`+key+`)`).Scan(&done); err != nil {
			t.Fatal(err)
		}
		return done
	}
	const known, unknown = `(SELECT content_hash FROM content)`, `'unknown'`
	if !call("take", known) || a.count(count) != 2 || call("take", unknown) || call("release", unknown) {
		t.Errorf("taken: the count is %d", a.count(count))
	}
	if !call("release", known) || a.count(count) != 1 {
		t.Errorf("released: the count is %d", a.count(count))
	}
	if _, err := a.db.Exec(t.Context(), `INSERT INTO lethe.condemned (collection, content, object, state, due_at) SELECT 'pastes', content_hash, object_key, 2, 0 FROM content`); err != nil {
		t.Fatal(err)
	}
	_, err := a.db.Exec(t.Context(), `SELECT lethe.take_pastes(`+known+`)`)
	if refused := (&pgconn.PgError{}); !errors.As(err, &refused) || refused.Code != "40001" || a.count(count) != 1 {
		t.Errorf("a content that is being deleted was taken: %v", err)
	}
	if !call("release", known) {
		t.Error("it cannot be released any more")
	}
}

// A collection that only reports changes nothing, whatever else is in order.
func TestReportChangesNothing(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("mode: reclaim", "mode: report"))
	if _, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.ok([]string{"report", "1 row has expired"}, "run", a.file, "--once")
	if n := a.count(pastesLeft); n != 1 {
		t.Errorf("%d pastes are left, want 1", n)
	}
}

// Invalid descriptions are refused with what to do, before anything happens.
func TestWrongDescriptions(t *testing.T) {
	for what, c := range map[string]struct{ from, to, want string }{
		"column":           {"end: expires_at", "end: expired_on", "table pastes has no column expired_on: it has content_hash, created_at"},
		"table":            {"table: content\n", "table: contents\n", "there is no table contents"},
		"type":             {"end: expires_at", "end: short_code", "which is no time"},
		"unknown field":    {"mode: reclaim", "modus: reclaim", "collections.pastes.modus: there is no such key; did you mean mode?"},
		"mode":             {"mode: reclaim", "mode: delete", `collections.pastes.mode: "delete" is not known: write report or reclaim`},
		"no prefix":        {"prefix: content/ ", "# prefix: ", "collections.pastes.prefix: is missing: what do the keys of all its objects begin with"},
		"prefix unslashed": {"prefix: content/ ", "prefix: content ", "does not end in a slash"},
		"variable":         {"${PASTEBIN_REDIS}", "${PASTEBIN_CACHE}", "redis: the environment has no variable PASTEBIN_CACHE"},
		"bucket":           {"bucket: pastes\n", "bucket: other\n", `collections.pastes.bucket: "other" is not among the buckets of the file: it has pastes`},
		"elsewhere":        {`"{object_key}"`, `"other/{content_hash}"`, "lie outside of the prefix"},
		"template":         {`"{object_key}"`, `"object_key"`, "names no column"},
		"watchdog":         {"unreferenced: 10m", "watchdog: 0s", "collections.pastes.grace.watchdog: has to be above 0"},
	} {
		t.Run(what, func(t *testing.T) {
			a := newAdopted(t, strings.NewReplacer(c.from, c.to))
			if code, out := a.run("check", a.file); code == 0 || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %q:\n%s", code, c.want, out)
			}
			if n := a.count(lethesOwn); n != 0 {
				t.Errorf("%d things of lethe's were made", n)
			}
		})
	}
}

// A template whose keys the bucket does not have, or that are elsewhere, is a
// problem: nothing is reclaimed by it.
func TestAdoptCheckFindsKeysThatDoNotMatch(t *testing.T) {
	for what, c := range map[string]struct{ from, to, want string }{
		"missing":   {`"{object_key}"`, `"content/{content_hash}.txt"`, "the bucket has 0 of 1 sampled object;"},
		"elsewhere": {"prefix: content/ ", "prefix: other/ ", "lie outside of the prefix"},
	} {
		t.Run(what, func(t *testing.T) {
			a := newAdopted(t, strings.NewReplacer(c.from, c.to))
			if _, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond); err != nil {
				t.Fatal(err)
			}
			a.ok(nil, "guard", "install", a.file, "--yes")
			if code, out := a.run("check", a.file); code != exitProblems || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %q:\n%s", code, c.want, out)
			}
			if code, out := a.run("run", a.file, "--once"); code != 1 || !strings.Contains(out, "not worked on") {
				t.Errorf("a run that works on nothing: exit code %d\n%s", code, out)
			}
			if n := a.count(pastesLeft); n != 1 {
				t.Errorf("%d pastes are left, want 1", n)
			}
		})
	}
}

// A running instance serves scrapes, and ends on a signal.
func TestAdoptRunTellsMetrics(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer(`{cron: "0 0 * * *"}`, "{every: 100ms}", "unreferenced: 10m", "unreferenced: 0s", "workers: 2", "workers: 2\n    lock: true"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	if _, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var out bytes.Buffer
	go func() {
		ended <- run(ctx, []string{"adopt", "run", a.file, "--metrics", address}, streams{strings.NewReader(""), &out, &out})
	}()
	told := func() bool {
		res, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(res.Body)
		return err == nil && strings.Contains(body.String(), `lethe_adopt_due_rows{collection="pastes"} 0`) &&
			strings.Contains(body.String(), `lethe_adopt_last_success_age_seconds{routine="expire pastes"}`) && a.count(pastesLeft) == 0
	}
	for tries := 0; !told(); tries++ {
		if tries == 600 {
			t.Fatalf("the paste does not go, or the metrics do not say so")
		}
		if err := lethe.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}
