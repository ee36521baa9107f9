package sqladopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// A row that a trigger keeps although its deletion succeeds does not count as
// removed: it is held, with the reason, and its content keeps its count.
func TestRowsThatATriggerKeeps(t *testing.T) {
	url := servers.Postgres(t)
	conn := connect(t, url, `CREATE TABLE content (hash text PRIMARY KEY, n bigint NOT NULL);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text REFERENCES content, ends timestamptz, state text NOT NULL DEFAULT 'LIVE', since timestamptz);
		INSERT INTO content VALUES ('x', 3);
		INSERT INTO pastes SELECT 'p' || i, 'x', now() - interval '1 minute' FROM generate_series(1, 3) AS i;
		CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER keep BEFORE DELETE ON pastes FOR EACH ROW WHEN (OLD.code = 'p2') EXECUTE FUNCTION keep()`)
	for _, status := range []*adopt.Status{{Column: "state", Live: "LIVE", Claimed: "BUSY"}, nil} {
		c := adopt.Collection{
			Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "ends", Content: "hash", Status: status},
			Contents: &adopt.Table{Table: "content", Key: "hash", Count: "n", Object: "content/{hash}"}, Prefix: "content/",
		}
		name := "taken"
		if status != nil {
			name, c.Rows.Initiated = "claimed", "since"
		}
		rows, err := openDB(t, url).Collection(t.Context(), name, c)
		if err != nil {
			t.Fatal(err)
		}
		var refused []string
		events := &adopt.Events{Refused: func(_, key, why string) { refused = append(refused, key+": "+why) }}
		pass := (&adopt.Take{Collection: name, Records: rows, Holds: rows, Batch: 10, Events: events}).Pass("worker")
		if status != nil {
			pass = (&adopt.Expire{Collection: name, Records: rows, Holds: rows, Batch: 10, Events: events}).Pass("worker")
		}
		for more := true; more; {
			if more, err = pass(t.Context(), func(string, int64) {}); err != nil {
				t.Fatal(err)
			}
		}
		if len(refused) != 1 || !strings.HasPrefix(refused[0], "p2: a trigger or rule of the table kept rows") {
			t.Errorf("%s: refused are %q", name, refused)
		}
		var left []string
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT (SELECT array_agg(code || ' ' || state) FROM pastes), n FROM content`).Scan(&left, &n); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(left, []string{"p2 LIVE"}) || n != 1 {
			t.Errorf("%s: rows %q are left, the count is %d", name, left, n)
		}
	}
}

// Rows that are kept as deleted end beside a transaction that inserts what refers to them.
func TestRowsThatAreKeptLetOthersReferToThem(t *testing.T) {
	s, ctx := newSite(t, servers.Postgres(t), kind{Variant: adopttest.Variant{Keep: true}}), t.Context()
	if err := s.Put(ctx, adopttest.Row{Key: "a", Content: "x", In: -time.Second}); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	tx := s.began()
	if _, err := tx.Exec(ctx, "INSERT INTO pins VALUES ('a')"); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Settle(ctx, claim, 0); err != nil || out.Gone != 1 {
		t.Errorf("settled %+v, %v", out, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}

// A transaction that has changed what goes with a row may count its content up: rows that go
// wait for it with no content locked.
func TestRowsWaitForWhatCascadesWithoutTheirContents(t *testing.T) {
	s, ctx := newSite(t, servers.Postgres(t), kind{}), t.Context()
	_, err := s.pool.Exec(ctx, "CREATE TABLE comments (code text REFERENCES pastes ON DELETE CASCADE, n integer)")
	if err == nil {
		err = s.Put(ctx, adopttest.Row{Key: "a", Content: "x", In: -time.Second})
	}
	if err == nil {
		_, err = s.pool.Exec(ctx, "INSERT INTO comments VALUES ('a', 1)")
	}
	if err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	tx := s.began()
	if _, err := tx.Exec(ctx, "UPDATE comments SET n = 2"); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error, 1)
	go func() {
		out, err := s.Settle(ctx, claim, 0)
		if err == nil && out.Gone != 1 {
			err = fmt.Errorf("settled %+v", out)
		}
		settled <- err
	}()
	s.awaits("DELETE FROM")
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '100ms'; UPDATE content SET ref_count = ref_count + 1 WHERE hash = 'x'"); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	if err := <-settled; err != nil {
		t.Error(err)
	}
}

// A content that a trigger keeps is reported once its object is gone, and no row is
// blamed for it.
func TestContentsThatATriggerKeeps(t *testing.T) {
	url := servers.Postgres(t)
	for _, body := range []string{"RETURN NULL", `RAISE EXCEPTION ''no''`} {
		t.Run(body, func(t *testing.T) { contentKeptBy(t, newSite(t, url, kind{}), body) })
	}
}

func contentKeptBy(t *testing.T, s *site, body string) {
	ctx := t.Context()
	if _, err := s.pool.Exec(ctx, `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN `+body+`; END';
		CREATE TRIGGER keep BEFORE DELETE ON content FOR EACH ROW EXECUTE FUNCTION keep()`); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, adopttest.Row{Key: "a", Content: "x", In: -time.Second}); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	if settled, marked, err := s.End(ctx, claim, adopt.EndRequest{Late: time.Hour}); err != nil || settled.Gone != 1 || len(marked.Contents) != 0 {
		t.Fatalf("ended %+v, %+v, %v: the content is still there", settled, marked, err)
	}
	if _, err := s.pool.Exec(ctx, `UPDATE `+s.schema+`.condemned SET due_at = 0`); err != nil {
		t.Fatal(err)
	}
	marked, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
	if err != nil || len(marked.Contents) != 1 {
		t.Fatalf("marked %+v, %v", marked, err)
	}
	out, err := s.Confirm(ctx, marked.Fence, []adopt.Outcome{{Content: marked.Contents[0].Content}}, adopt.DefaultGrace)
	if err != nil || out.Gone != 1 || !slices.Equal(out.Broken, []string{"x"}) {
		t.Errorf("confirmed %+v, %v", out, err)
	}
	s.Pass(adopt.DefaultGrace.LongestWrite)
	if n, err := s.Unmark(ctx, 9); err != nil || n != 0 {
		t.Errorf("ended %d marks, %v", n, err)
	}
	s.began().refused("a row of a content whose object is gone", s.takes("x"))
}
