package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// photos go with their albums over the pages of these, and pages with the page before.
const albums = `CREATE TABLE albums (id integer NOT NULL PRIMARY KEY, ends bigint);
	CREATE TABLE pages (id integer NOT NULL PRIMARY KEY, album integer, before_it integer, ends bigint,
		FOREIGN KEY (album) REFERENCES albums (id) ON DELETE CASCADE, FOREIGN KEY (before_it) REFERENCES pages (id) ON DELETE CASCADE);
	CREATE TABLE photos (code varchar(20) NOT NULL PRIMARY KEY, page integer, ends bigint, FOREIGN KEY (page) REFERENCES pages (id) ON DELETE CASCADE);
	INSERT INTO albums VALUES (1, 800000000); INSERT INTO albums VALUES (2, 800000000); INSERT INTO albums VALUES (3, NULL);
	INSERT INTO pages VALUES (10, 1, NULL, NULL); INSERT INTO pages VALUES (20, 2, NULL, NULL); INSERT INTO pages VALUES (30, 3, NULL, 800000000);
	INSERT INTO pages VALUES (31, 3, 30, 800000000); INSERT INTO pages VALUES (32, 3, NULL, 800000000);
	INSERT INTO photos VALUES ('a', 10, NULL); INSERT INTO photos VALUES ('b', 20, NULL)`

// of opens the collection of a table of such. Others do not know of it.
func (a albumsDB) of(table string) *Collection {
	a.t.Helper()
	key := "id"
	if table == "photos" {
		key = "code"
	}
	c, err := a.db.Collection(a.t.Context(), table, adopt.Collection{Rows: adopt.Rows{Table: table, Key: key, End: "ends", Unit: "s"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

type albumsDB struct {
	t  *testing.T
	db *DB
}

// take takes all rows that may go, and returns how many did and why others did not.
func (a albumsDB) take(table string) (gone int64, refused []string) {
	a.t.Helper()
	c := a.of(table)
	events := &adopt.Events{Refused: func(_, key, why string) { refused = append(refused, key+": "+why) }}
	pass := (&adopt.Take{Collection: table, Records: c, Holds: c, Batch: 10, Events: events}).Pass("worker")
	for more := true; more; {
		var err error
		more, err = pass(a.t.Context(), func(what string, n int64) {
			if what == "rows" {
				gone += n
			}
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
	return gone, refused
}

func (a albumsDB) left(table string) (keys []string) {
	a.t.Helper()
	key := map[string]string{"photos": "code"}[table]
	if key == "" {
		key = "id"
	}
	err := a.db.read(a.t.Context(), "list rows", func(t *tx) (err error) {
		keys, err = all(t, text, fmt.Sprintf("SELECT concat(%s, '') FROM %s ORDER BY 1", key, table))
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return keys
}

// plans expects the rows that would go.
func (a albumsDB) plans(table string, want ...string) {
	a.t.Helper()
	var keys []string
	err := a.of(table).Ended(a.t.Context(), func(p Planned) error {
		keys = append(keys, p.ID)
		return nil
	})
	if err != nil || !slices.Equal(keys, want) {
		a.t.Errorf("of %s would go %q, %v, want %q", table, keys, err, want)
	}
}

// What a hold covers does not go with a row above it, of the same table or another one;
// all else does.
func TestHoldsKeepRowsAbove(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		want := func(table string, gone int64, refused int, left ...string) {
			t.Helper()
			n, why := a.take(table)
			if have := a.left(table); n != gone || len(why) != refused || !slices.Equal(have, left) {
				t.Errorf("of %s %d are gone, refused are %q, left are %q", table, n, why, have)
			}
			for _, text := range why {
				if !strings.Contains(text, "what is held would go with it, by a foreign key with ON DELETE CASCADE: rows of ") {
					t.Error(text)
				}
			}
		}
		for _, h := range []struct {
			table string
			hold  adopt.Hold
		}{{"photos", adopt.Hold{Scope: adopt.HoldRow, Key: "a"}}, {"pages", adopt.Hold{Scope: adopt.HoldRow, Key: "31"}}, {"photos", adopt.Hold{Scope: adopt.HoldObject, Key: "b"}}} {
			if _, _, err := a.of(h.table).AddHold(ctx, h.hold); err != nil {
				t.Fatal(err)
			}
		}
		a.plans("albums", "2")
		want("albums", 1, 1, "1", "3")
		a.plans("pages", "32")
		want("pages", 1, 1, "10", "30", "31")
		if keys := a.left("photos"); !slices.Equal(keys, []string{"a"}) {
			t.Errorf("photos left are %q", keys)
		}
		release := func(table, key string) {
			t.Helper()
			if err := a.of(table).ReleaseHold(ctx, adopt.Hold{Scope: adopt.HoldRow, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		release("photos", "a")
		release("albums", "1") // which the refusal has set

		// Of a collection that is held as a whole nothing goes, and nothing is held singly.
		if _, _, err := a.of("photos").AddHold(ctx, adopt.Hold{Scope: adopt.HoldCollection}); err != nil {
			t.Fatal(err)
		}
		a.plans("albums")
		want("albums", 0, 0, "1", "3")
		if err := a.of("photos").ReleaseHold(ctx, adopt.Hold{Scope: adopt.HoldCollection}); err != nil {
			t.Fatal(err)
		}
		want("albums", 1, 0, "3")
		release("pages", "30")
		release("pages", "31")
		want("pages", 2, 0)
	})
}

// Claimed rows are given back when what they would take along has been held meanwhile.
func TestClaimsOfRowsAboveAHold(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		script(t, db, "ALTER TABLE albums ADD COLUMN state varchar(10) NOT NULL DEFAULT 'LIVE'; ALTER TABLE albums ADD COLUMN since bigint")
		c, err := db.Collection(ctx, "albums", adopt.Collection{Rows: adopt.Rows{Table: "albums", Key: "id", End: "ends", Unit: "s", Initiated: "since",
			Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}}})
		if err != nil {
			t.Fatal(err)
		}
		claim, err := c.Claim(ctx, 9)
		if err != nil || len(claim.Rows) != 2 {
			t.Fatalf("claimed %+v, %v", claim, err)
		}
		for _, h := range []adopt.Hold{{Scope: adopt.HoldRow, Key: "a"}, {Scope: adopt.HoldCollection}} {
			if _, _, err := a.of("photos").AddHold(ctx, h); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := c.Settle(ctx, claim, 0); err != nil || out.Held != 2 {
			t.Errorf("settled %+v, %v", out, err)
		}
		if claim, err := c.Claim(ctx, 9); err != nil || len(claim.Rows) != 0 {
			t.Errorf("claimed %+v, %v", claim, err)
		}
		if err := a.of("photos").ReleaseHold(ctx, adopt.Hold{Scope: adopt.HoldCollection}); err != nil {
			t.Fatal(err)
		}
		if claim, err = c.Claim(ctx, 9); err != nil {
			t.Fatal(err)
		}
		var refused *adopt.Refusal
		if out, err := c.Settle(ctx, claim, 0); !errors.As(err, &refused) {
			t.Errorf("settled %+v, %v", out, err)
		}
		if keys := a.left("photos"); len(keys) != 2 {
			t.Errorf("photos left are %q", keys)
		}
	})
}

// albumsSite is such tables of an application on PostgreSQL.
func albumsSite(t *testing.T) (albumsDB, *site) {
	t.Helper()
	url := servers.Postgres(t)
	a := albumsDB{t, openDB(t, url)}
	script(t, a.db, albums)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return a, &site{t: t, pool: pool}
}

// beganWith begins a transaction with a statement.
func (s *site) beganWith(statement string) (commit func()) {
	s.t.Helper()
	tx, err := s.pool.Begin(s.t.Context())
	if err == nil {
		s.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(s.t.Context())) })
		_, err = tx.Exec(s.t.Context(), statement)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if err := tx.Commit(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}
}

// A hold is not set before the end of a removal that may take along what it covers.
func TestHoldsWaitForRemovalsAbove(t *testing.T) {
	a, s := albumsSite(t)
	photos, above := a.of("photos"), a.of("albums")
	s.beganWith("INSERT INTO lethe.collections (name) VALUES ('')")() // as since the first of either
	commit := s.beganWith("UPDATE pages SET ends = NULL WHERE id = 20")
	held, taken := make(chan error, 1), make(chan error, 1)
	go func() {
		out, err := above.Take(t.Context(), 9, 0)
		if err == nil && out.Gone != 2 {
			err = fmt.Errorf("took %+v", out)
		}
		taken <- err
	}()
	s.awaits("DELETE FROM")
	go func() {
		_, _, err := photos.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "a"})
		held <- err
	}()
	s.awaits(`"lethe".collections`)
	commit()
	if err := errors.Join(<-taken, <-held); err != nil {
		t.Error(err)
	}
}

// A removal waits for a hold that is being set on what it may take along, and respects it.
func TestRemovalsAboveWaitForHolds(t *testing.T) {
	a, s := albumsSite(t)
	photos, above := a.of("photos"), a.of("albums")
	if _, _, err := photos.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "b"}); err != nil {
		t.Fatal(err)
	}
	commit := s.beganWith("WITH l AS MATERIALIZED (SELECT 1 FROM lethe.collections WHERE name = '' FOR NO KEY UPDATE) INSERT INTO lethe.holds SELECT 'photos', 2, 'a', '', '', 0, 0 FROM l")
	taken := make(chan error, 1)
	go func() {
		_, err := above.Take(t.Context(), 9, 0)
		taken <- err
	}()
	s.awaits(`"lethe".collections`)
	commit()
	var refused *adopt.Refusal
	if err := <-taken; !errors.As(err, &refused) {
		t.Error(err)
	}
	if keys := a.left("photos"); len(keys) != 2 {
		t.Errorf("photos left are %q", keys)
	}
}

// A row that a cascade has removed before the statement came to it has gone, as all others.
func TestRowsThatGoByACascadeOfTheirBatch(t *testing.T) {
	onEngines(t, counted(3)+`ALTER TABLE pastes ADD COLUMN parent varchar(40) REFERENCES pastes (code) ON DELETE CASCADE;
		INSERT INTO pastes VALUES ('p', 'h001', 800000000, NULL); INSERT INTO pastes VALUES ('q', 'h002', 800000000, 'p');
		UPDATE content SET ref_count = ref_count + 1 WHERE hash IN ('h001', 'h002')`, func(t *testing.T, db *DB) {
		c := countedBy(t, db, "ref_count")
		out, err := c.Take(t.Context(), 9, 0)
		if err != nil || out.Gone != 2 {
			t.Errorf("took %+v, %v", out, err)
		}
		if drifts, _, err := c.Recount(t.Context(), "", 9, RepairNone); err != nil || len(drifts) > 0 {
			t.Errorf("counts are wrong: %+v, %v", drifts, err)
		}
	})
}

// Contents that go with the rows that name them, as versions with their document, are refused:
// their objects would be forgotten. Rows that are kept take nothing with them.
func TestContentsThatGoWithRows(t *testing.T) {
	onEngines(t, `CREATE TABLE documents (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), state varchar(9), since bigint, expires_at bigint);
		CREATE TABLE drafts (id integer NOT NULL PRIMARY KEY, document varchar(40), FOREIGN KEY (document) REFERENCES documents (code) ON DELETE CASCADE);
		CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, draft integer, FOREIGN KEY (draft) REFERENCES drafts (id) ON DELETE CASCADE)`, func(t *testing.T, db *DB) {
		d := describing("hash", "content/{hash}")
		d.Rows.Table = "documents"
		if _, err := db.Collection(t.Context(), "documents", d); err == nil || !strings.Contains(err.Error(), "rows of content go with those of documents") {
			t.Error(err)
		}
		d.Rows.Initiated, d.Rows.Status = "since", &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY", Deleted: "GONE"}
		if _, err := db.Collection(t.Context(), "documents", d); err != nil {
			t.Error(err)
		}
	})
}
