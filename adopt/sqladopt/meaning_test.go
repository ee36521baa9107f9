package sqladopt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// twoKeys are contents with two keys, whose objects have a name of their own, and a row that
// names one of them.
const twoKeys = `CREATE TABLE content (id varchar(40) NOT NULL PRIMARY KEY, hash varchar(40) NOT NULL UNIQUE, name varchar(40) NOT NULL UNIQUE, ref_count bigint NOT NULL);
	CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), id varchar(40), expires_at bigint);
	CREATE INDEX by_hash ON pastes (hash);
	CREATE INDEX by_id ON pastes (id);
	INSERT INTO content VALUES ('1', 'h', 'n', 0)`

// byKey opens the collection whose contents have that key.
func byKey(t *testing.T, db *DB, key string, guard adopt.GuardKind) *Collection {
	t.Helper()
	c, err := db.Collection(t.Context(), "pastes", adopt.Collection{
		Guard:    guard,
		Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: key},
		Contents: &adopt.Table{Table: "content", Key: key, Count: "ref_count", Object: "content/{name}"}, Prefix: "content/",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// guardedMark installs the guard, if it is one, and marks the contents that nothing refers to.
func guardedMark(t *testing.T, c *Collection) (adopt.Marked, error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if c.c.Guard == adopt.TriggerGuard {
		if err := c.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Find(ctx, "", 9, 0); err != nil {
		t.Fatal(err)
	}
	return c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
}

// failedOnce makes the delete of the object of h one that has failed once, and is due again.
func failedOnce(t *testing.T, db *DB, c *Collection) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	m, err := guardedMark(t, c)
	if err != nil || len(m.Contents) != 1 {
		t.Fatalf("marked %+v, %v", m, err)
	}
	if _, err := c.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "h", Failed: "refused"}}, adopt.DefaultGrace); err != nil {
		t.Fatal(err)
	}
	script(t, db, db.runner.Dialect.Expand("UPDATE {lethe}condemned SET due_at = 0"))
}

// By a key of another description a content that waits is not found, although a row names its
// object.
func TestKeysOfAnotherDescription(t *testing.T) {
	for _, guard := range []adopt.GuardKind{adopt.TriggerGuard, adopt.QuarantineGuard} {
		t.Run(string(guard), func(t *testing.T) {
			onEngines(t, twoKeys, func(t *testing.T, db *DB) {
				ctx := context.WithoutCancel(t.Context())
				byHash := byKey(t, db, "hash", guard)
				failedOnce(t, db, byHash)
				script(t, db, `INSERT INTO pastes VALUES ('p', 'h', '1', NULL); UPDATE content SET ref_count = 1`)
				const waits = "1 object waits for a description of pastes as contents with the key hash and the object content/{name}, and this one is of contents with the key id"
				byID := byKey(t, db, "id", guard)
				if guard == adopt.TriggerGuard {
					if err := byID.InstallGuard(ctx); err == nil || !strings.HasPrefix(Reason(err).Error(), waits) {
						t.Errorf("guarded: %v", err)
					}
				} else if m, err := byID.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err == nil || !strings.HasPrefix(Reason(err).Error(), waits) {
					t.Errorf("marked %+v, %v", m, err)
				}
				if found, err := byID.Check(ctx); err != nil || !strings.Contains(findings(found), waits) {
					t.Errorf("found %s, %v", findings(found), err)
				}
				if err := byID.Going(ctx, func(p Planned) error { return errors.New("would go: " + p.ID) }); err != nil {
					t.Error(err)
				}
				// By its own description it stays, and waits no more.
				if m, err := byHash.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || m.Kept != 1 {
					t.Errorf("marked %+v, %v", m, err)
				}
				script(t, db, `DELETE FROM pastes; UPDATE content SET ref_count = 0`)
				marksAnew(t, db, byKey(t, db, "id", guard))
			})
		})
	}
}

// marksAnew has a collection whose description is new mark the only content.
func marksAnew(t *testing.T, db *DB, c *Collection) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	m, err := guardedMark(t, c)
	if err != nil || len(m.Contents) != 1 || m.Contents[0].Content != "1" {
		t.Errorf("marked %+v, %v", m, err)
	}
	if found, err := c.Check(ctx); err != nil || strings.Contains(findings(found), "waits for a description") {
		t.Errorf("found %s, %v", findings(found), err)
	}
}

// An installation from before descriptions were recorded takes the first that it sees.
func TestFirstDescription(t *testing.T) {
	onEngines(t, twoKeys, func(t *testing.T, db *DB) {
		c := byKey(t, db, "hash", adopt.TriggerGuard)
		failedOnce(t, db, c)
		script(t, db, db.runner.Dialect.Expand("DROP TABLE {lethe}meanings"))
		if found, err := c.Check(t.Context()); err != nil || adopt.Problems(found) {
			t.Errorf("found %s, %v", findings(found), err)
		}
		if err := db.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Mark(t.Context(), adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 1 {
			t.Errorf("marked %+v, %v", m, err)
		}
	})
}

// Where none was recorded the guard that is installed shows the kind.
func TestKindOfTheFirstDescription(t *testing.T) {
	onEngines(t, strings.ReplaceAll(twoKeys, "'h', 'n'", "'files/h', 'n'")+";"+ownerTable, func(t *testing.T, db *DB) {
		ctx := context.WithoutCancel(t.Context())
		d := byKey(t, db, "hash", adopt.TriggerGuard).c
		d.Prefix, d.Contents.Object = "files/", "{hash}"
		open := func(d adopt.Collection) *Collection {
			t.Helper()
			c, err := db.Collection(ctx, "pastes", d)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		contents, owner := open(d), open(ownerDescription(false))
		forget := func() { script(t, db, db.runner.Dialect.Expand("DELETE FROM {lethe}meanings")) }
		if err := contents.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		if n, _, err := contents.Find(ctx, "", 9, 0); err != nil || n != 1 {
			t.Fatalf("found %d, %v", n, err)
		}
		forget()
		if err := owner.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		if m, err := owner.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 0 {
			t.Errorf("marked %+v, %v", m, err)
		}
		script(t, db, "INSERT INTO files (id, name) VALUES ('a', 'a'); DELETE FROM files")
		forget()
		const waits = "1 object waits for a description of pastes as rows with objects"
		if found, err := contents.Check(ctx); err != nil || !strings.Contains(findings(found), waits) {
			t.Errorf("found %s, %v", findings(found), err)
		}
		if err := contents.InstallGuard(ctx); err == nil || !strings.HasPrefix(Reason(err).Error(), waits) {
			t.Errorf("installed: %v", err)
		}
	})
}

// A content that nothing refers to waits under its key. Where rows own objects that key is an
// object's, which would go.
func TestContentsAreNoObjects(t *testing.T) {
	onEngines(t, strings.ReplaceAll(twoKeys, "'h', 'n'", "'files/h', 'n'")+";"+ownerTable, func(t *testing.T, db *DB) {
		ctx := context.WithoutCancel(t.Context())
		d := byKey(t, db, "hash", adopt.TriggerGuard).c
		d.Prefix, d.Contents.Object = "files/", "{hash}"
		contents, err := db.Collection(ctx, "pastes", d)
		if err != nil {
			t.Fatal(err)
		}
		if err := contents.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		if n, _, err := contents.Find(ctx, "", 9, 0); err != nil || n != 1 {
			t.Fatalf("found %d, %v", n, err)
		}
		owner, err := db.Collection(ctx, "pastes", ownerDescription(false))
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		if m, err := owner.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 0 {
			t.Errorf("marked %+v, %v", m, err)
		}
	})
}
