package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	beatInstance = register(`INSERT INTO instances (id, started_at, beat_at, info) VALUES (?1, ?2, ?2, ?3)
		ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, info = excluded.info`)
	listInstances = register(`SELECT id, started_at, beat_at, info FROM instances WHERE beat_at >= ?1 ORDER BY id`)
	dropInstance  = register(`DELETE FROM instances WHERE id = ?1`)
	askInstances  = register(`UPDATE instances SET asked = asked + 1 WHERE id <> ?1 AND beat_at >= ?2 RETURNING id, asked`)
	selectAsked   = register(`SELECT asked FROM instances WHERE id = ?1`)
	oldInstances  = register(`DELETE FROM instances WHERE beat_at < ?1`)
	insertSecret  = register(`INSERT INTO secrets (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING`)
	selectSecret  = register(`SELECT value FROM secrets WHERE name = ?1`)
)

// instancesKept is how long an instance is remembered after its last heartbeat.
const instancesKept = 24 * time.Hour

// BeatInstance records an instance's heartbeat; the first one is its start.
func (db *DB) BeatInstance(ctx context.Context, id string, info ledger.InstanceInfo) error {
	return db.write(ctx, "heartbeat of instance "+id, func(t *tx) error {
		if _, err := t.Send(beatInstance, id, t.Now, sqldb.JSON(info)); err != nil {
			return err
		}
		_, err := t.Send(oldInstances, t.Now.Add(-instancesKept))
		return err
	})
}

// RemoveInstance removes an instance that stops normally.
func (db *DB) RemoveInstance(ctx context.Context, id string) error {
	return db.write(ctx, "end of instance "+id, func(t *tx) error {
		_, err := t.Send(dropInstance, id)
		return err
	})
}

// Instances lists the instances with a heartbeat within age, by id.
func (db *DB) Instances(ctx context.Context, age time.Duration) (list []ledger.Instance, err error) {
	err = db.read(ctx, "instances", func(t *tx) error {
		list, err = all(t, scanInstance, listInstances, t.Now.Add(-age))
		return err
	})
	return list, err
}

func scanInstance(r *sql.Rows) (i ledger.Instance, err error) {
	var info string
	if err := r.Scan(&i.ID, &i.StartedAt, &i.BeatAt, &info); err != nil {
		return i, err
	}
	if err := json.Unmarshal([]byte(info), &i.Info); err != nil {
		return i, fmt.Errorf("instance %s: %w (%w)", i.ID, lethe.ErrCorrupt, err)
	}
	return i, nil
}

// AskInstances asks the instances with a heartbeat within age, other than id, for a fresh one.
// It returns the number of the question to each: it is answered by the first heartbeat whose
// Answered is that number or a higher one.
func (db *DB) AskInstances(ctx context.Context, id string, age time.Duration) (numbers map[string]int64, err error) {
	err = db.write(ctx, "question to the instances", func(t *tx) error {
		numbers = map[string]int64{}
		_, err := all(t, func(r *sql.Rows) (n int64, err error) {
			var id string
			err = r.Scan(&id, &n)
			numbers[id] = n
			return n, err
		}, askInstances, id, t.Now.Add(-age))
		return err
	})
	return numbers, err
}

// AskedOf returns the number of the last question to an instance, 0 if there was none.
func (db *DB) AskedOf(ctx context.Context, id string) (n int64, err error) {
	err = db.read(ctx, "questions to instance "+id, func(t *tx) error {
		if err := t.Row(selectAsked, id).Scan(&n); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return nil
	})
	return n, err
}

// ShareSecret stores a value under a name, unless there is one already, and returns the
// stored one. So instances that start at once agree. ErrSealed.
func (db *DB) ShareSecret(ctx context.Context, name, value string) (kept string, err error) {
	err = db.write(ctx, "secret "+name, func(t *tx) error {
		if _, err := t.Send(insertSecret, name, db.sealing.seal(sharedSecret(name), value)); err != nil {
			return err
		}
		err := t.Row(selectSecret, name).Scan(&kept)
		if err == nil {
			kept, err = db.sealing.open(sharedSecret(name), kept)
		}
		return err
	})
	return kept, err
}
