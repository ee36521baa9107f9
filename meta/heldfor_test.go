package meta

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lethe-storage/lethe/internal/servers"
)

// heldWords are reasons as ledgers from before have them, by what they are about.
var heldWords = map[string]HeldFor{
	"":       "",
	"moving": HeldByPerson,
	"it says that one of them is a copy, or is it": HeldByPerson,
	Restored: HeldForLedger,
	Moved + " (its file is another one): one of the two is a copy":                                  HeldForLedger,
	"the backend is at epoch 4, the ledger only at 3: this ledger is an older copy":                 HeldForLedger,
	"the backend belongs to database other, this is mine: one of them is a copy":                    HeldForLedger,
	"moving; the backend is at epoch 4, the ledger only at 3: this ledger is an older copy":         HeldForLedger,
	"the backend is at epoch 2, the ledger confirmed 3: the backend is an older copy":               HeldForBackend,
	"data is corrupt: epoch object s/epoch/7 is not readable (3 bytes); look at it":                 HeldForBackend,
	"the backend carries no epoch although the ledger confirmed 3: its disk is not mounted, or not": HeldForAbsence,
}

func heldOK(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func backendsOf(t *testing.T, db *DB) []Backend {
	list, err := db.Backends(t.Context())
	heldOK(t)(0, err)
	return list
}

// beforeHeldFor takes a ledger's schema back to before it told what holds are about.
const beforeHeldFor = `DELETE FROM %[1]smigrations WHERE version >= 15; DROP TABLE %[1]sblocks; ALTER TABLE %[1]sblobs DROP COLUMN block;
	ALTER TABLE %[1]sbackends DROP COLUMN held_kind; ALTER TABLE %[1]sbackends DROP COLUMN held_of; ALTER TABLE %[1]sbackends DROP COLUMN trusted_since;
	ALTER TABLE %[1]saccess_keys DROP COLUMN settings; DROP INDEX %[1]sruns_begun;
	ALTER TABLE %[1]sstore DROP COLUMN boot; ALTER TABLE %[1]sstore DROP COLUMN boot_offset;
	ALTER TABLE %[1]sbackends DROP COLUMN accepted; ALTER TABLE %[1]sbackends DROP COLUMN contested`

// Ledgers from before are told once by their words what a hold is about.
func TestHeldForOfOlderLedgers(t *testing.T) {
	url, path := servers.Postgres(t), filepath.Join(t.TempDir(), "ledger.db")
	for name, open := range map[string]func() *DB{
		"postgres": func() *DB { return openServerAt(t, url, Options{}) },
		"sqlite": func() *DB {
			db, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open()
			words := map[string]string{}
			for reason := range heldWords {
				id := fmt.Sprint("disk", len(words))
				words[id] = reason
				heldOK(t)(db.AddBackend(t.Context(), Backend{ID: id}))
				heldOK(t)(0, db.HoldBackend(t.Context(), id, reason))
			}
			heldOK(t)(0, db.Close())
			if name == "sqlite" {
				raw, err := sql.Open("sqlite", path)
				if err == nil {
					_, err = raw.Exec(fmt.Sprintf(beforeHeldFor, ""))
				}
				heldOK(t)(0, errors.Join(err, raw.Close()))
			} else {
				sqlOn(t, url, fmt.Sprintf(beforeHeldFor, "lethe."))
			}
			db = open()
			defer db.Close()
			for _, b := range backendsOf(t, db) {
				if want := heldWords[words[b.ID]]; b.HeldFor != want || b.Held != words[b.ID] {
					t.Errorf("held for %q, %q: want %q", b.HeldFor, b.Held, want)
				}
			}
		})
	}
}

// What an older program that runs beside this one holds, or lets go, is not taken for
// what was held before.
func TestHeldForBesideOlderPrograms(t *testing.T) {
	db := openServerAt(t, servers.Postgres(t), Options{})
	heldOK(t)(db.AddBackend(t.Context(), Backend{ID: "disk"}))
	for _, step := range []struct {
		old, ours string
		want      HeldFor
	}{
		{ours: "moving", want: HeldByPerson},
		{old: "the backend is at epoch 4, the ledger only at 3: this ledger is an older copy", want: HeldUnknown},
		{old: "", want: ""},
		{old: "moving again", want: HeldUnknown},
		{ours: "moving again", want: HeldByPerson},
	} {
		if step.ours != "" {
			heldOK(t)(0, db.HoldBackend(t.Context(), "disk", step.ours))
		} else {
			heldOK(t)(0, db.write(t.Context(), "older", func(x *tx) error {
				_, err := x.exec(`UPDATE backends SET held = ?1`, step.old)
				return err
			}))
		}
		if b := backendsOf(t, db)[0]; b.HeldFor != step.want {
			t.Errorf("%+v: held for %q", step, b.HeldFor)
		}
	}
}
