package sqlledger

import (
	"cmp"
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

const keyColumns = `id, secret, owner, buckets, read_only, settings, created_at, default_ttl, max_ttl`

var (
	insertKey = register(`INSERT INTO access_keys (` + keyColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`)
	setKeyTTL = register(`UPDATE access_keys SET default_ttl = coalesce(?2, default_ttl), max_ttl = coalesce(?3, max_ttl) WHERE id = ?1`)
	deleteKey = register(`DELETE FROM access_keys WHERE id = ?1`)
	selectKey = register(`SELECT ` + keyColumns + ` FROM access_keys WHERE id = ?1`)
	listKeys  = register(`SELECT ` + keyColumns + ` FROM access_keys ORDER BY id`)
)

// AddAccessKey stores a client's credential: ErrAccessKeyExists if the id is taken,
// ErrInvalidTTL. An empty owner becomes the id. The ledger sets CreatedAt.
func (db *DB) AddAccessKey(ctx context.Context, k ledger.AccessKey) (ledger.AccessKey, error) {
	if k.ID == "" || k.Secret == "" {
		return k, errors.New("ledger: add access key: id and secret must not be empty")
	}
	if err := k.CheckTTL(); err != nil {
		return k, err
	}
	err := db.write(ctx, "add access key "+k.ID, func(t *tx) error {
		k.Owner = cmp.Or(k.Owner, k.ID)
		k.CreatedAt = t.Now
		_, err := t.Exec(insertKey, k.ID, db.sealing.seal(keySecret(k.ID), k.Secret), k.Owner, sqldb.JSON(k.Buckets), flag(k.ReadOnly), flag(k.Settings), k.CreatedAt,
			micros(k.DefaultTTL), micros(k.MaxTTL))
		if sqldb.IsUnique(err) {
			return lethe.ErrAccessKeyExists
		}
		return err
	})
	return k, err
}

// SetKeyTTL changes how long objects live that a key writes from then on, and returns the
// key without its secret: ErrNoSuchAccessKey, ErrInvalidTTL.
func (db *DB) SetKeyTTL(ctx context.Context, want ledger.KeyTTLChange) (k ledger.AccessKey, err error) {
	err = db.write(ctx, "set times to live of access key "+want.Key, func(t *tx) error {
		if err := t.Must(1, lethe.ErrNoSuchAccessKey, setKeyTTL, want.Key, given(want.Default), given(want.Max)); err != nil {
			return err
		}
		if k, err = scanKey(t.Row(selectKey, want.Key)); err != nil {
			return t.Failed(err)
		}
		k.Secret = ""
		return k.CheckTTL()
	})
	return k, err
}

// given is a duration, or NULL.
func given(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return micros(*d)
}

// RemoveAccessKey removes a credential: ErrNoSuchAccessKey. The buckets of its owner stay.
func (db *DB) RemoveAccessKey(ctx context.Context, id string) error {
	return db.write(ctx, "remove access key "+id, func(t *tx) error {
		return t.Must(1, lethe.ErrNoSuchAccessKey, deleteKey, id)
	})
}

// AccessKey returns a credential: ErrNoSuchAccessKey, ErrSealed.
func (db *DB) AccessKey(ctx context.Context, id string) (k ledger.AccessKey, err error) {
	err = db.readPoint(ctx, pointRead{"AccessKey", "access key", id}, func(t *tx) error {
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
	var byDefault, longest int64
	if err := r.Scan(&k.ID, &k.Secret, &k.Owner, &buckets, &k.ReadOnly, &k.Settings, &k.CreatedAt, &byDefault, &longest); err != nil {
		return k, err
	}
	k.DefaultTTL, k.MaxTTL = duration(byDefault), duration(longest)
	if err := json.Unmarshal([]byte(buckets), &k.Buckets); err != nil {
		return k, fmt.Errorf("buckets of access key %s: %w (%w)", k.ID, lethe.ErrCorrupt, err)
	}
	return k, nil
}
