package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var (
	selectPlace = register(`SELECT place FROM store WHERE one = 1`)
	setPlace    = register(`UPDATE store SET place = ?1 WHERE one = 1 AND place = ?2`)
	renameStore = register(`UPDATE store SET db = ?1 WHERE one = 1`)
	skipEvents  = register(engine.SkipEvents + ` FROM (SELECT CAST(?1 AS BIGINT) AS no) AS at
		WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.no = at.no)`)
	dropSkipped = register(`DELETE FROM events WHERE no = ?1 AND target = ''`)
)

// settlePlace compares the ledger's place with the recorded one. In another place the ledger
// is a copy, or was moved. It gets a new identity and holds the deletes on all backends
// until a person decides (docs/protocol.md, rule 13).
func (db *DB) settlePlace(ctx context.Context) error {
	here, err := db.engine.Site(ctx)
	if err != nil {
		return fmt.Errorf("ledger: find out where the ledger is: %w", err)
	}
	if len(here) == 0 {
		return nil
	}
	var before string
	err = db.read(ctx, "place", func(t *tx) error { return t.Row(selectPlace).Scan(&before) })
	if err != nil {
		return err
	}
	lay, err := engine.ParseSite(before)
	if err != nil {
		return err
	}
	mark := here.Other(lay)
	if mark == "" {
		here = here.With(lay)
	}
	if now := sqldb.JSON(here); before != now {
		err = db.write(ctx, "settle the ledger's place", func(t *tx) error { return t.moveTo(mark, before, now) })
	}
	return err
}

// Relocated returns why the ledger was found relocated when it was opened, and holds the
// deletes on all backends; "" if it was not.
func (db *DB) Relocated() string { return db.relocated }

// moveTo records another place. mark is the mark that differs; empty: the place is the same,
// and more of it is known.
func (t *tx) moveTo(mark, before, now string) error {
	t.db.relocated = ""
	n, err := t.Exec(setPlace, now, before)
	if err != nil || n == 0 || mark == "" {
		return err // without rows, another instance has just done it
	}
	t.db.relocated = fmt.Sprintf("%s (its %s is another one): one of the two is a copy", ledger.RelocatedReason, engine.Marked[mark])
	return t.anew(t.db.relocated)
}

// anew gives the ledger a new identity and holds the deletes on all backends. The events of a
// restored ledger must not get numbers that others had since: receivers compare them. So they
// go on at the time, in microseconds, which is more than all events that there were.
func (t *tx) anew(why string) error {
	if err := t.Must(1, lethe.ErrCorrupt, renameStore, lethe.NewID(t.Now, t.Random)); err != nil {
		return err
	}
	if _, err := t.Send(holdAllBackends, why, ledger.HeldForLedger, t.Now); err != nil {
		return err
	}
	for _, s := range []string{skipEvents, dropSkipped} {
		if _, err := t.Send(s, t.Now); err != nil {
			return err
		}
	}
	_, err := t.Send(distrust, "", t.Now)
	return err
}

// Restored is the reason for which Accept holds the deletes on all backends.
const Restored = "restored"

// Accept prepares a restored copy of a ledger for use. It checks the file, gives the
// database a new identity, and holds the deletes on all backends as Restored until a person
// decides (docs/protocol.md, rule 13): the backends may be newer than the copy. No process
// may have the file open. It returns the store's new identity.
func Accept(ctx context.Context, path string, o ledger.Options) (ledger.Store, error) {
	if err := engine.CheckFile(ctx, path); err != nil {
		return ledger.Store{}, fmt.Errorf("ledger: accept ledger %s: %w", path, err)
	}
	// The file will move to another name; a ballast beside it would stay behind.
	db, err := Open(ctx, path, o, Ballast(-1))
	if err != nil {
		return ledger.Store{}, err
	}
	return db.accept(ctx)
}

// AcceptPostgres is Accept for a ledger restored into the PostgreSQL database at url. No
// process may be using it.
func AcceptPostgres(ctx context.Context, url string, o ledger.Options, set ...Setting) (ledger.Store, error) {
	db, err := OpenPostgres(ctx, url, o, append(slices.Clone(set), existing)...)
	if err != nil {
		return ledger.Store{}, err
	}
	return db.accept(ctx)
}

// accept gives the ledger a new identity, holds all deletes, and closes it.
func (db *DB) accept(ctx context.Context) (ledger.Store, error) {
	err := db.write(ctx, "accept the ledger", func(t *tx) error {
		return t.anew(Restored)
	})
	if err != nil {
		return ledger.Store{}, errors.Join(err, db.Close())
	}
	s, err := db.Identity(ctx)
	return s, errors.Join(err, db.Close())
}
