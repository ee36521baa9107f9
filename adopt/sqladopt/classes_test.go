package sqladopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// A key of another storage class than its column has the text of another key, whose row lives.
// It is left alone, however rows end, and reported.
func TestKeysOfAnotherClassStay(t *testing.T) {
	for kind, v := range map[string]struct{ past, never string }{
		"text":         {"x'61'", "'a'"},
		"blob":         {"'a'", "x'61'"},
		"integer":      {"x'37'", "7"},
		"integer NULL": {"7.5", "7"},
		"uuid":         {"x'6130'", "'a0'"},
	} {
		t.Run(kind, func(t *testing.T) {
			db, _ := liteDB(t, "")
			ctx := t.Context()
			if err := db.Install(ctx); err != nil {
				t.Fatal(err)
			}
			kind, _, _ = strings.Cut(kind, " ")
			script(t, db, fmt.Sprintf(`CREATE TABLE pastes (code %[1]s NOT NULL UNIQUE, expires_at bigint, state text DEFAULT 'live', since bigint, hash %[1]s);
				CREATE INDEX ends ON pastes (expires_at);
				INSERT INTO pastes (code, expires_at) VALUES (%[2]s, 1600000000);
				INSERT INTO pastes (code, expires_at) VALUES (%[3]s, NULL)`, kind, v.past, v.never))
			rows := adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s"}
			taken, err := db.Collection(ctx, "taken", adopt.Collection{Rows: rows})
			if err != nil {
				t.Fatal(err)
			}
			rows.Initiated, rows.Status = "since", &adopt.Status{Column: "state", Live: "live", Claimed: "busy"}
			claimed, err := db.Collection(ctx, "claimed", adopt.Collection{Rows: rows})
			if err != nil {
				t.Fatal(err)
			}
			if out, err := taken.Take(ctx, 9, 0); err != nil || out.Gone != 0 {
				t.Errorf("took %+v, %v", out, err)
			}
			if claim, err := claimed.Claim(ctx, 9); err != nil || len(claim.Rows) != 0 {
				t.Errorf("claimed %+v, %v", claim.Rows, err)
			}
			script(t, db, "UPDATE pastes SET state = 'busy' WHERE expires_at IS NOT NULL")
			if n, err := claimed.Recover(ctx, 0, 9); err != nil || n != 0 {
				t.Errorf("recovered %d, %v", n, err)
			}
			if n := liteCount(t, db, "SELECT count(*) FROM pastes"); n != 2 {
				t.Errorf("%d rows are left", n)
			}
			reported(t, taken, "another storage class", v.past != "7.5")
		})
	}
}

func liteCount(t *testing.T, db *DB, query string) (n int) {
	t.Helper()
	err := db.read(t.Context(), "count", func(t *tx) error { return t.row(query).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reported fails unless a check finds something if it should.
func reported(t *testing.T, c *Collection, what string, want bool) {
	t.Helper()
	found, err := c.Check(t.Context())
	if got := slices.ContainsFunc(found, func(f adopt.Finding) bool { return strings.Contains(f.What, what) }); err != nil || got != want {
		t.Errorf("check reports %q: %v, want %v (%+v, %v)", what, got, want, found, err)
	}
}

// Contents of two classes may have one object, which goes for neither. A row that names the
// one of another class stays, and counts nothing down.
func TestContentsOfTwoClassesStay(t *testing.T) {
	for object, contents := range map[string][2]string{
		"content/{hash}": {"(x'61', 1, 'n1')", "('a', 0, 'n2')"},
		"content/{name}": {"('h1', 1, x'61')", "('h2', 0, 'a')"},
	} {
		db, _ := liteDB(t, "")
		ctx := t.Context()
		if err := db.Install(ctx); err != nil {
			t.Fatal(err)
		}
		script(t, db, fmt.Sprintf(`CREATE TABLE content (hash text NOT NULL PRIMARY KEY, ref_count bigint NOT NULL, name text NOT NULL UNIQUE);
			CREATE TABLE pastes (code text NOT NULL PRIMARY KEY, hash text, expires_at bigint);
			CREATE INDEX ph ON pastes (hash);
			CREATE INDEX ends ON pastes (expires_at);
			INSERT INTO content VALUES %s;
			INSERT INTO content VALUES %s;
			INSERT INTO pastes VALUES ('lives', x'61', NULL);
			INSERT INTO pastes VALUES ('past', x'61', 1600000000)`, contents[0], contents[1]))
		c, err := db.Collection(ctx, "pastes", adopt.Collection{Guard: adopt.TriggerGuard, Prefix: "content/",
			Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
			Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: object}})
		if err = cmp.Or(err, c.InstallGuard(ctx)); err != nil {
			t.Fatal(err)
		}
		if out, err := c.Take(ctx, 9, 0); err != nil || out.Gone != 0 {
			t.Errorf("%s: took %+v, %v", object, out, err)
		}
		if _, _, err := c.Find(ctx, "", 9, 0); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, errMixed) {
			t.Errorf("%s: marked %+v, %v", object, m, err)
		}
		reported(t, c, errMixed.Error(), true)
	}
}

// A content does not end with its last row either while another may have its object.
func TestNoContentEndsAmongTwoClasses(t *testing.T) {
	db, _ := liteDB(t, "")
	ctx := t.Context()
	if err := db.Install(ctx); err != nil {
		t.Fatal(err)
	}
	script(t, db, `CREATE TABLE content (hash text NOT NULL PRIMARY KEY, ref_count bigint NOT NULL);
		CREATE TABLE pastes (code text NOT NULL PRIMARY KEY, hash text REFERENCES content, expires_at bigint, state text DEFAULT 'live', since bigint);
		CREATE INDEX ph ON pastes (hash);
		INSERT INTO content VALUES (x'61', 1);
		INSERT INTO content VALUES ('a', 1);
		INSERT INTO pastes (code, hash, expires_at) VALUES ('past', 'a', 1600000000)`)
	c, err := db.Collection(ctx, "pastes", adopt.Collection{Guard: adopt.TriggerGuard, Prefix: "content/",
		Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash", Initiated: "since",
			Status: &adopt.Status{Column: "state", Live: "live", Claimed: "busy"}},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"}})
	if err = cmp.Or(err, c.InstallGuard(ctx)); err != nil {
		t.Fatal(err)
	}
	claim, err := c.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	if out, marked, err := c.End(ctx, claim, adopt.EndRequest{}); err != nil || out.Gone != 1 || len(marked.Contents) != 0 {
		t.Errorf("ended %+v, marked %+v, %v", out, marked.Contents, err)
	}
}
