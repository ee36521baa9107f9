package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const tokenColumns = `id, name, role, hash, created_at, created_by, expires_at`

var (
	insertToken = register(`INSERT INTO admin_tokens (` + tokenColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`)
	deleteToken = register(`DELETE FROM admin_tokens WHERE name = ?1`)
	selectToken = register(`SELECT ` + tokenColumns + ` FROM admin_tokens WHERE id = ?1`)
	listTokens  = register(`SELECT ` + tokenColumns + ` FROM admin_tokens ORDER BY name`)
)

// AddAdminToken stores a token, for life or forever with 0: ErrTokenExists if its name is
// taken. The ledger sets CreatedAt and ExpiresAt.
func (db *DB) AddAdminToken(ctx context.Context, k ledger.AdminToken, life time.Duration) (ledger.AdminToken, error) {
	if k.ID == "" || k.Name == "" || k.Role == "" || k.Hash == "" || life < 0 {
		return k, errors.New("ledger: add token: id, name, role and digest must not be empty, and its life not negative")
	}
	err := db.write(ctx, "add token "+k.Name, func(t *tx) error {
		k.CreatedAt, k.ExpiresAt = t.Now, 0
		if life > 0 {
			k.ExpiresAt = t.Now.Add(life)
		}
		_, err := t.Exec(insertToken, k.ID, k.Name, k.Role, k.Hash, k.CreatedAt, k.CreatedBy, k.ExpiresAt)
		if sqldb.IsUnique(err) {
			return ledger.ErrTokenExists
		}
		return err
	})
	return k, err
}

// RemoveAdminToken removes a token by its name, on all instances at once: ErrNoSuchToken.
func (db *DB) RemoveAdminToken(ctx context.Context, name string) error {
	return db.write(ctx, "remove token "+name, func(t *tx) error {
		return t.Must(1, ledger.ErrNoSuchToken, deleteToken, name)
	})
}

// AdminToken returns a token by its id, even an expired one: ErrNoSuchToken.
func (db *DB) AdminToken(ctx context.Context, id string) (k ledger.AdminToken, err error) {
	err = db.read(ctx, "token", func(t *tx) error {
		k, err = scanToken(t.Row(selectToken, id), t.Now)
		if errors.Is(err, sql.ErrNoRows) {
			return ledger.ErrNoSuchToken
		}
		return err
	})
	return k, err
}

// AdminTokens lists all tokens by name, including expired ones.
func (db *DB) AdminTokens(ctx context.Context) (list []ledger.AdminToken, err error) {
	err = db.read(ctx, "tokens", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (ledger.AdminToken, error) { return scanToken(r, t.Now) }, listTokens)
		return err
	})
	return list, err
}

func scanToken(r sqldb.Scanner, now lethe.Time) (k ledger.AdminToken, err error) {
	err = r.Scan(&k.ID, &k.Name, &k.Role, &k.Hash, &k.CreatedAt, &k.CreatedBy, &k.ExpiresAt)
	k.Expired = k.ExpiresAt != 0 && k.ExpiresAt <= now
	return k, err
}
