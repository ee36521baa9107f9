package sqladopt

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestReceiptsPostgres(t *testing.T) {
	testReceipts(t, servers.Postgres(t))
}

func TestReceiptsMariaDB(t *testing.T) {
	testReceipts(t, servers.MariaDB(t))
}

func TestReceiptsSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	app, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = app.Exec("CREATE TABLE made (id integer)")
	}
	if err := errors.Join(err, app.Close()); err != nil {
		t.Fatal(err)
	}
	testReceipts(t, "sqlite:"+path)
}

// chained is a database with a chain of receipts.
type chained struct {
	*DB
	t *testing.T
}

// went records deletions of keys some time ago.
func (c chained) went(kind string, ago time.Duration, keys string) {
	c.t.Helper()
	err := c.write(c.t.Context(), "record", func(t *tx) error {
		_, err := t.exec(insertReceipt, "pastes", kind, t.now.Add(-ago), keys)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// cut makes a segment of the unsealed receipts.
func (c chained) cut() receipt.Segment {
	c.t.Helper()
	u, err := c.UnsealedReceipts(c.t.Context(), 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := receipt.Cut("here", u.Last, u.Batches, u.Now)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// holds verifies the chain, and returns its number of receipts.
func (c chained) holds() (int64, error) {
	seals, err := c.Seals(c.t.Context(), 0, 1000)
	if err != nil {
		return 0, err
	}
	checker := receipt.Checker{Store: "here"}
	for _, s := range seals {
		pages, err := c.ReceiptPages(c.t.Context(), s.Seq)
		if err == nil {
			err = checker.Next(s, pages)
		}
		if err != nil {
			return checker.Receipts, err
		}
	}
	_, err = checker.End()
	return checker.Receipts, err
}

// said returns the facts about a deleted key.
func (c chained) said(key string, moves bool) (out string) {
	c.t.Helper()
	err := c.read(c.t.Context(), "explain", func(t *tx) error {
		facts, err := scope{name: "pastes", db: c.DB}.receipts(t, key, moves)
		out = ""
		for _, f := range facts {
			out += f.What + ";"
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// Receipts are sealed into one chain, and facts about keys are the same for
// sealed and unsealed ones. A late seal is fenced, the oldest are dropped by
// age, and changes are detected.
func testReceipts(t *testing.T, url string) {
	db, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := chained{db, t}
	told := func() {
		t.Helper()
		for key, want := range map[string]string{"a\"b": "row a\"b was removed;", "f": "folder f was removed;", "other": ""} {
			if got := c.said(key, false); got != want {
				t.Errorf("of %q is said %q, want %q", key, got, want)
			}
		}
		if got := c.said("f", true); got != "object f was moved into quarantine;" {
			t.Errorf("of a move is said %q", got)
		}
	}
	c.went("rows", 100*time.Hour, `["a\"b", "ü"]`)
	c.went("folders", 100*time.Hour, `["f"]`)
	c.went("quarantined", 100*time.Hour, `["f"]`)
	told()
	first := c.cut()
	if err := db.SealReceipts(t.Context(), first); err != nil || first.Count != 4 {
		t.Fatalf("%d receipts were sealed: %v", first.Count, err)
	}
	if err := db.SealReceipts(t.Context(), first); !errors.Is(err, lethe.ErrFenced) {
		t.Errorf("sealed twice: %v", err)
	}
	told()
	c.went("objects", 0, `["content/1"]`)
	b, err := db.ReceiptBacklog(t.Context(), ledger.Sealing{})
	if err != nil || b.Count != 1 {
		t.Errorf("the backlog is %+v, %v", b, err)
	}
	if err := db.SealReceipts(t.Context(), c.cut()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.holds(); n != 5 || err != nil {
		t.Errorf("the chain has %d receipts, %v", n, err)
	}
	if n, err := db.DropReceipts(t.Context(), 99*time.Hour, 16); n != 1 || err != nil {
		t.Errorf("%d segments were dropped, %v", n, err)
	}
	if n, err := c.holds(); n != 1 || err != nil {
		t.Errorf("after the drop the chain has %d receipts, %v", n, err)
	}
	c.forged()
}

// forged checks that a rewritten page is detected.
func (c chained) forged() {
	c.t.Helper()
	line := fmt.Sprintf(`{"kind":"object","at":"2030-01-01T00:00:00.000000Z","key":"content/2","collection":"pastes"}%c`, '\n')
	name := receipt.OfAdopted("pastes", "content/2")
	err := c.write(c.t.Context(), "forge", func(t *tx) error {
		return t.one(`UPDATE {lethe}receipt_pages SET body = ?1, lowest = ?2`, []byte(line), int64(name))
	})
	if err != nil {
		c.t.Fatal(err)
	}
	var broken *receipt.Broken
	if _, err := c.holds(); !errors.As(err, &broken) || broken.Seq != 2 {
		c.t.Errorf("a receipt that was rewritten: %v", err)
	}
}
