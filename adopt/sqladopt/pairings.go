package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.PairingRows = (*DB)(nil)

const (
	onePairing    = `SELECT number, nonce, next_nonce, at, marks FROM {lethe}pairings WHERE place = ?1`
	insertPairing = `INSERT INTO {lethe}pairings (place, number, nonce, next_nonce, at, marks) VALUES (?1, 0, '', '', 0, '') ON CONFLICT DO NOTHING`
	beginEpoch    = `UPDATE {lethe}pairings SET next_nonce = ?4, marks = ?5 WHERE place = ?1 AND number = ?2 AND nonce = ?3 AND next_nonce = ''`
	confirmEpoch  = `UPDATE {lethe}pairings SET number = number + 1, nonce = ?4, next_nonce = '', at = ?5
		WHERE place = ?1 AND number = ?2 AND nonce = ?3 AND next_nonce = ?4`
	acceptEpoch = `UPDATE {lethe}pairings SET number = ?2, nonce = ?3, next_nonce = '', at = 0, marks = ?4 WHERE place = ?1`
)

// Paired implements adopt.PairingRows.
func (db *DB) Paired(ctx context.Context, place string) (p adopt.Paired, err error) {
	err = db.read(ctx, "look for an epoch", func(t *tx) error {
		p = adopt.Paired{Now: t.now}
		if there, err := db.engine.has(t, "pairings"); err != nil || !there {
			return err
		}
		var marks string
		switch err := t.row(onePairing, place).Scan(&p.Number, &p.Nonce, &p.Next, &p.At, &marks); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil || marks == "":
			return err
		}
		now, err := db.engine.marks(t)
		p.Elsewhere = len(now) > 0 && !slices.ContainsFunc(strings.Split(marks, "\n"), func(m string) bool { return slices.Contains(now, m) })
		return err
	})
	return p, err
}

// BeginEpoch implements adopt.PairingRows.
func (db *DB) BeginEpoch(ctx context.Context, place string, seen adopt.Epoch, nonce string) error {
	return db.write(ctx, "begin an epoch", func(t *tx) error {
		marks, err := db.engine.marks(t)
		if err != nil {
			return err
		}
		if _, err := t.exec(insertPairing, place); err != nil {
			return err
		}
		return t.one(beginEpoch, place, seen.Number, seen.Nonce, nonce, strings.Join(marks, "\n"))
	})
}

// ConfirmEpoch implements adopt.PairingRows.
func (db *DB) ConfirmEpoch(ctx context.Context, place string, seen adopt.Paired) error {
	return db.write(ctx, "confirm an epoch", func(t *tx) error {
		if seen.Next == "" {
			return lethe.ErrFenced
		}
		return t.one(confirmEpoch, place, seen.Number, seen.Nonce, seen.Next, t.now)
	})
}

// AcceptEpoch implements adopt.PairingRows.
func (db *DB) AcceptEpoch(ctx context.Context, place string, last adopt.Epoch) error {
	return db.write(ctx, "accept an epoch", func(t *tx) error {
		marks, err := db.engine.marks(t)
		if err != nil {
			return err
		}
		if _, err := t.exec(insertPairing, place); err != nil {
			return err
		}
		_, err = t.exec(acceptEpoch, place, last.Number, last.Nonce, strings.Join(marks, "\n"))
		return err
	})
}
