package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const keyColumns = `id, secret, owner, buckets, read_only, settings, created_at`

var (
	insertKey = register(`INSERT INTO access_keys (` + keyColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`)
	deleteKey = register(`DELETE FROM access_keys WHERE id = ?1`)
	selectKey = register(`SELECT ` + keyColumns + ` FROM access_keys WHERE id = ?1`)
	listKeys  = register(`SELECT ` + keyColumns + ` FROM access_keys ORDER BY id`)
)

// AddAccessKey stores a client's credential: ErrAccessKeyExists if the id is taken. An empty
// owner becomes the id. The ledger sets CreatedAt.
func (db *DB) AddAccessKey(ctx context.Context, k ledger.AccessKey) (ledger.AccessKey, error) {
	if k.ID == "" || k.Secret == "" {
		return k, errors.New("ledger: add access key: id and secret must not be empty")
	}
	err := db.write(ctx, "add access key "+k.ID, func(t *tx) error {
		k.Owner = cmp.Or(k.Owner, k.ID)
		k.CreatedAt = t.Now
		_, err := t.Exec(insertKey, k.ID, db.sealing.seal(keySecret(k.ID), k.Secret), k.Owner, sqldb.JSON(k.Buckets), flag(k.ReadOnly), flag(k.Settings), k.CreatedAt)
		if sqldb.IsUnique(err) {
			return lethe.ErrAccessKeyExists
		}
		return err
	})
	return k, err
}

// RemoveAccessKey removes a credential: ErrNoSuchAccessKey. The buckets of its owner stay.
func (db *DB) RemoveAccessKey(ctx context.Context, id string) error {
	return db.write(ctx, "remove access key "+id, func(t *tx) error {
		return t.Must(1, lethe.ErrNoSuchAccessKey, deleteKey, id)
	})
}

// AccessKey returns a credential: ErrNoSuchAccessKey, ErrSealed.
func (db *DB) AccessKey(ctx context.Context, id string) (k ledger.AccessKey, err error) {
	err = db.glance(ctx, pointRead{"AccessKey", "access key", id}, func(t *tx) error {
		k, err = scanKey(t.Row(selectKey, id))
		if errors.Is(err, sql.ErrNoRows) {
			return lethe.ErrNoSuchAccessKey
		}
		if err == nil {
			k.Secret, err = db.sealing.open(keySecret(id), k.Secret)
		}
		return err
	})
	return k, err
}

// AccessKeys lists all credentials by id, without their secrets.
func (db *DB) AccessKeys(ctx context.Context) (keys []ledger.AccessKey, err error) {
	err = db.read(ctx, "access keys", func(t *tx) error {
		keys, err = all(t, func(r *sql.Rows) (ledger.AccessKey, error) {
			k, err := scanKey(r)
			k.Secret = ""
			return k, err
		}, listKeys)
		return err
	})
	return keys, err
}

func scanKey(r sqldb.Scanner) (k ledger.AccessKey, err error) {
	var buckets string
	if err := r.Scan(&k.ID, &k.Secret, &k.Owner, &buckets, &k.ReadOnly, &k.Settings, &k.CreatedAt); err != nil {
		return k, err
	}
	if err := json.Unmarshal([]byte(buckets), &k.Buckets); err != nil {
		return k, fmt.Errorf("buckets of access key %s: %w (%w)", k.ID, lethe.ErrCorrupt, err)
	}
	return k, nil
}
