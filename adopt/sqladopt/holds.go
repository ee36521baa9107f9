package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
)

var (
	_ adopt.Holder = (*Collection)(nil)
	_ adopt.Holder = (*Folders)(nil)
	_ adopt.Holder = (*Keys)(nil)
)

const (
	holdColumns = `collection, scope, "key", reason, set_by, set_at, until_at`
	// stands is the condition of a hold in force: ?2 is now.
	stands = `(until_at = 0 OR until_at > ?2)`

	insertCollection = `INSERT INTO {lethe}collections (name) VALUES (?1) ON CONFLICT DO NOTHING`
	lockShared       = `SELECT holds FROM {lethe}collections WHERE name = ?1 ` + sqldb.Shared
	lockAlone        = `SELECT holds FROM {lethe}collections WHERE name = ?1 ` + sqldb.Exclusive
	// countHolds counts one of them only: a collection may have very many.
	countHolds = `UPDATE {lethe}collections SET holds = CASE WHEN EXISTS (SELECT 1 FROM {lethe}holds WHERE collection = ?1) THEN 1 ELSE 0 END,
		place = ?2, key_column = ?3 WHERE name = ?1`

	insertHold = `INSERT INTO {lethe}holds (` + holdColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`
	oneHold    = `SELECT ` + holdColumns + ` FROM {lethe}holds WHERE collection = ?1 AND scope = ?2 AND "key" = ?3`
	deleteHold = `DELETE FROM {lethe}holds WHERE collection = ?1 AND scope = ?2 AND "key" = ?3`
	overHolds  = `DELETE FROM {lethe}holds WHERE collection = ?1 AND until_at <> 0 AND until_at <= ?2`
	manyHolds  = `SELECT count(*) FROM {lethe}holds WHERE collection = ?1 AND scope = ?2`
	allHolds   = `SELECT ` + holdColumns + ` FROM {lethe}holds WHERE (collection = ?1 OR ?1 = '') AND ` + stands + ` ORDER BY collection, scope, "key"`
	// wideHolds are those on more than one key.
	wideHolds = `SELECT ` + holdColumns + ` FROM {lethe}holds WHERE collection = ?1 AND scope IN (1, 4) AND ` + stands
	keyHolds  = `SELECT ` + holdColumns + ` FROM {lethe}holds WHERE collection = ?1 AND scope = ?3 AND "key" IN (SELECT id FROM {ids 4}) AND ` + stands

	// {covered} is the condition that a hold covers a key: ?3 is its scope, ?4
	// its key.
	objectsUnderWay = `SELECT count(*), coalesce(max(u.until_at), 0) FROM (
		SELECT object AS "key", CASE WHEN fence <> 0 AND due_at + ?6 > unseen_until THEN due_at + ?6 ELSE unseen_until END AS until_at
			FROM {lethe}condemned WHERE collection = ?1 AND state IN (2, 3)
		UNION ALL SELECT "key", allowed_at + ?5 FROM {lethe}orphans WHERE collection = ?1 AND allowed_at <> 0
		UNION ALL SELECT "key", CASE WHEN state = 4 AND due_at > late_at THEN due_at ELSE late_at END
			FROM {lethe}quarantined WHERE collection = ?1 AND state IN (2, 4)) AS u
		WHERE u.until_at > ?2 AND (?3 = 1 OR ?3 = 3 AND u.key = ?4 OR ?3 = 4 AND substr(u.key, 1, length(?4)) = ?4
			OR ?3 IN (3, 4) AND u.key LIKE '%/' AND substr(?4, 1, length(u.key)) = u.key)`
	foldersUnderWay = `SELECT name, allowed_at + ?3 FROM {lethe}folders WHERE collection = ?1 AND state = 4 AND allowed_at + ?3 > ?2`

	// canonical is the key of a row as the database writes it.
	canonical = `SELECT {canonical key}`
)

func scanHold(r *sql.Rows) (h adopt.Hold, err error) {
	err = r.Scan(&h.Collection, &h.Scope, &h.Key, &h.Reason, &h.By, &h.At, &h.Until)
	return h, err
}

// holding is the holds of a collection, locked until the transaction ends.
type holding struct {
	t    *tx
	name string
	n    int64 // 0 if there are none, else 1
	// anywhere: rows of some collection are held.
	anywhere bool
	// below are the held collections whose rows may go with those of this one.
	below []below
}

// holding locks the holds of the collection against changes. It is the first
// lock of a transaction that removes something.
func (s scope) holding(t *tx) (holding, error) {
	n, err := s.lock(t, lockShared)
	return holding{t: t, name: s.name, n: n}, err
}

// lock locks the collection, and returns 1 if it has holds.
func (s scope) lock(t *tx, statement string) (n int64, err error) {
	err = t.row(statement, s.name).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	if _, err := t.exec(insertCollection, s.name); err != nil {
		return 0, err
	}
	return n, t.row(statement, s.name).Scan(&n)
}

// wide returns the holds on the whole collection and on prefixes.
func (h holding) wide() (adopt.Holds, error) {
	if h.n == 0 {
		return nil, nil
	}
	return all(h.t, scanHold, wideHolds, h.name, h.t.now)
}

// on returns the holds that may cover keys, a JSON list.
func (h holding) on(scope adopt.HoldScope, keys string) (adopt.Holds, error) {
	if h.n == 0 {
		return nil, nil
	}
	wide, err := h.wide()
	if err != nil {
		return nil, err
	}
	exact, err := all(h.t, scanHold, keyHolds, h.name, h.t.now, int(scope), keys)
	return append(wide, exact...), err
}

// all returns all holds in force.
func (h holding) all() (adopt.Holds, error) {
	if h.n == 0 {
		return nil, nil
	}
	return all(h.t, scanHold, allHolds, h.name, h.t.now)
}

// AddHold implements adopt.Holder.
func (s scope) AddHold(ctx context.Context, h adopt.Hold) (out adopt.Hold, under adopt.UnderWay, err error) {
	err = s.write(ctx, "hold something", func(t *tx) error {
		h.Collection, h.At = s.name, t.now
		h.Limit()
		if h.Until != 0 && h.Until <= t.now {
			return fmt.Errorf("the hold would be over before it begins: it is %s", t.now)
		}
		if s.holdsRows(h.Scope) {
			if err := s.lockAbove(t); err != nil {
				return err
			}
		}
		if _, err := s.lock(t, lockAlone); err != nil {
			return err
		}
		if err := s.addHold(t, &h); err != nil {
			return err
		}
		kept, err := all(t, scanHold, oneHold, s.name, int(h.Scope), h.Key)
		if err != nil || len(kept) != 1 {
			return errors.Join(err, fmt.Errorf("%s set", wording.Plural(int64(len(kept)), "hold was", "holds were")))
		}
		out = kept[0]
		under, err = s.underWay(t, h)
		return err
	})
	return out, under, err
}

func (s scope) addHold(t *tx, h *adopt.Hold) error {
	if _, err := t.exec(overHolds, s.name, t.now); err != nil {
		return err
	}
	switch h.Scope {
	case adopt.HoldRow:
		if err := t.row(canonical, h.Key).Scan(&h.Key); err != nil {
			return fmt.Errorf("%q can be no key of a row: %w", h.Key, err)
		}
	case adopt.HoldPrefix:
		var n int64
		if err := t.row(manyHolds, s.name, int(h.Scope)).Scan(&n); err != nil {
			return err
		}
		if n >= adopt.MaxPrefixHolds {
			return fmt.Errorf("%s has %d holds on prefixes, which is as many as there may be: release some, or hold a shorter prefix", s.name, n)
		}
	}
	if _, err := t.exec(insertHold, s.name, int(h.Scope), h.Key, h.Reason, h.By, t.now, h.Until); err != nil {
		return err
	}
	return s.countHeld(t, s.holdsRows(h.Scope))
}

// underWay counts the deletes that were allowed and may yet take effect.
func (s scope) underWay(t *tx, h adopt.Hold) (out adopt.UnderWay, err error) {
	// A condemned content is due Late after its mark.
	late, sending := s.grace.Landed().Microseconds(), (s.grace.Landed() - s.grace.Late).Microseconds()
	if err := t.row(objectsUnderWay, s.name, t.now, int(h.Scope), h.Key, late, sending).Scan(&out.Objects, &out.Until); err != nil {
		return out, err
	}
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		var name string
		var until lethe.Time
		if err := r.Scan(&name, &until); err != nil {
			return none, err
		}
		if (adopt.Holds{h}).Folder(s.prefix+name+"/") != nil {
			out.Folders++
			out.Until = max(out.Until, until)
		}
		return none, nil
	}, foldersUnderWay, s.name, t.now, late)
	return out, err
}

// ReleaseHold implements adopt.Holder.
func (s scope) ReleaseHold(ctx context.Context, h adopt.Hold) error {
	return s.write(ctx, "release a hold", func(t *tx) error {
		if s.holdsRows(h.Scope) {
			if err := s.lockAbove(t); err != nil {
				return err
			}
		}
		if _, err := s.lock(t, lockAlone); err != nil {
			return err
		}
		if h.Scope == adopt.HoldRow {
			if err := t.row(canonical, h.Key).Scan(&h.Key); err != nil {
				return fmt.Errorf("%w: %q can be no key of a row: %w", adopt.ErrNoSuchHold, h.Key, err)
			}
		}
		n, err := t.exec(deleteHold, s.name, int(h.Scope), h.Key)
		if err == nil && n == 0 {
			err = adopt.ErrNoSuchHold
		}
		if err != nil {
			return err
		}
		return s.countHeld(t, s.holdsRows(h.Scope))
	})
}

// Holds implements adopt.Holder.
func (s scope) Holds(ctx context.Context) (adopt.Holds, error) { return s.db.holds(ctx, s.name) }

// Holds returns the holds in force of all collections, of undescribed ones as
// well.
func (db *DB) Holds(ctx context.Context) (adopt.Holds, error) { return db.holds(ctx, "") }

// holds returns the holds of a collection, or of all.
func (db *DB) holds(ctx context.Context, name string) (out adopt.Holds, err error) {
	err = db.read(ctx, "list holds", func(t *tx) error {
		out, err = t.holds(db.engine, name)
		return err
	})
	return out, err
}

// holds returns the holds of a collection, or of all; none before Lethe's
// tables exist.
func (t *tx) holds(e engine, name string) (adopt.Holds, error) {
	if installed, err := e.has(t, "holds"); err != nil || !installed {
		return nil, err
	}
	return all(t, scanHold, allHolds, name, t.now)
}
