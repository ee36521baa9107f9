package paste

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	takeContent = `INSERT INTO content (content_hash, object_key, size, ref_count) VALUES ($1, $2, $3, 1)
ON CONFLICT (content_hash) DO UPDATE SET ref_count = content.ref_count + 1`

	releaseContent = `UPDATE content SET ref_count = ref_count - 1 WHERE content_hash = $1`

	insertPaste = `INSERT INTO pastes (short_code, content_hash, expires_at)
VALUES ($1, $2, CASE WHEN $3::bigint > 0 THEN clock_timestamp() + $3 * interval '1 microsecond' END) RETURNING expires_at`

	extendPaste = `UPDATE pastes SET expires_at = CASE WHEN $2::bigint > 0 THEN clock_timestamp() + $2 * interval '1 microsecond' END
WHERE short_code = $1 AND deletion_status <> 'DELETED' RETURNING content_hash, expires_at`

	lockPaste = `SELECT content_hash, expires_at FROM pastes WHERE short_code = $1 AND deletion_status <> 'DELETED' FOR UPDATE`

	replacePaste = `UPDATE pastes SET content_hash = $2 WHERE short_code = $1`

	deletePaste = `DELETE FROM pastes WHERE short_code = $1 AND deletion_status <> 'DELETED' RETURNING content_hash`
)

// Create stores a paste that expires after the ttl, counted in microseconds; 0:
// never. First the bytes are uploaded, then one transaction counts the reference
// and inserts the row: so no row ever names bytes that were not stored, and what a
// crash in between leaves is an object that no row names.
func (s *Store) Create(ctx context.Context, body []byte, ttl time.Duration) (Paste, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if len(body) == 0 {
		return Paste{}, ErrEmpty
	}
	c := contentOf(body)
	p := Paste{Hash: c.hash}
	err := retry(ctx, func() error {
		if err := s.objects.put(ctx, c, body); err != nil {
			return err
		}
		p.Code = newCode()
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			if err := take(ctx, tx, c); err != nil {
				return err
			}
			return tx.QueryRow(ctx, insertPaste, p.Code, c.hash, ttl.Microseconds()).Scan(&p.ExpiresAt)
		})
	})
	if err != nil {
		return Paste{}, fmt.Errorf("create a paste: %w", err)
	}
	return p, nil
}

// Extend makes the paste expire after the ttl from now, later or sooner than it
// would have; 0: never. As Replace and Delete it works on every paste whose row is
// there, expired or not. One whose deletion is in progress stays hidden until the
// deletion is given up. If there is no row, the error is ErrNotFound.
func (s *Store) Extend(ctx context.Context, code string, ttl time.Duration) (Paste, error) {
	p := Paste{Code: code}
	err := s.change(ctx, code, func(ctx context.Context) error {
		err := s.db.QueryRow(ctx, extendPaste, code, ttl.Microseconds()).Scan(&p.Hash, &p.ExpiresAt)
		return notFound(err)
	})
	if err != nil {
		return Paste{}, fmt.Errorf("extend paste %q: %w", code, err)
	}
	return p, nil
}

// Replace gives the paste another content; its end stays. The order of writes is
// that of Create, and one transaction counts both contents.
func (s *Store) Replace(ctx context.Context, code string, body []byte) (Paste, error) {
	if len(body) == 0 {
		return Paste{}, ErrEmpty
	}
	c := contentOf(body)
	p := Paste{Code: code, Hash: c.hash}
	err := s.change(ctx, code, func(ctx context.Context) error {
		if err := s.objects.put(ctx, c, body); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			var old string
			if err := tx.QueryRow(ctx, lockPaste, code).Scan(&old, &p.ExpiresAt); err != nil {
				return notFound(err)
			}
			return swap(ctx, tx, p, old, c)
		})
	})
	if err != nil {
		return Paste{}, fmt.Errorf("replace paste %q: %w", code, err)
	}
	return p, nil
}

// swap lets the locked paste name another content. The contents are locked in the
// order of their hashes, since another transaction may swap them the other way.
func swap(ctx context.Context, tx pgx.Tx, p Paste, old string, c content) error {
	steps := []func() error{
		func() error { return take(ctx, tx, c) },
		func() error { return release(ctx, tx, old) },
	}
	if old < c.hash {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, replacePaste, p.Code, c.hash)
	return err
}

// Delete removes the paste. Its bytes stay, for a cleanup to remove when no other
// paste has them.
func (s *Store) Delete(ctx context.Context, code string) error {
	err := s.change(ctx, code, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			var hash string
			if err := tx.QueryRow(ctx, deletePaste, code).Scan(&hash); err != nil {
				return notFound(err)
			}
			return release(ctx, tx, hash)
		})
	})
	if err != nil {
		return fmt.Errorf("delete paste %q: %w", code, err)
	}
	return nil
}

// change runs what changes a paste. Copies of it are out of the cache before, and
// nobody can put an older one there afterwards. If the cache cannot be told,
// nothing is changed.
func (s *Store) change(ctx context.Context, code string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if !validCode(code) {
		return ErrNotFound
	}
	if err := s.cache.block(ctx, code); err != nil {
		return err
	}
	defer s.cache.drop(context.WithoutCancel(ctx), code)
	return retry(ctx, func() error { return do(ctx) })
}

// take counts one more paste of the content.
func take(ctx context.Context, tx pgx.Tx, c content) error {
	if _, err := tx.Exec(ctx, takeContent, c.hash, c.key, c.size); err != nil {
		return fmt.Errorf("count a reference to content %s: %w", c.hash, err)
	}
	return nil
}

// release counts one paste of the content less.
func release(ctx context.Context, tx pgx.Tx, hash string) error {
	tag, err := tx.Exec(ctx, releaseContent, hash)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("there is no such row")
	}
	if err != nil {
		return fmt.Errorf("release a reference to content %s: %w", hash, err)
	}
	return nil
}

// attempts is how often a write is tried that another transaction got in the way of.
const attempts = 4

// retry repeats the whole write, uploads included, when PostgreSQL refused the
// transaction for another one's sake, or the code was taken. Whatever it was may
// have removed the bytes.
func retry(ctx context.Context, write func() error) error {
	for attempt := 1; ; attempt++ {
		err := write()
		var refused *pgconn.PgError
		if attempt == attempts || ctx.Err() != nil || !errors.As(err, &refused) || !slices.Contains(
			[]string{"40001", "40P01", "23505"}, // serialization failure, deadlock, unique violation
			refused.Code) {
			return err
		}
	}
}

// notFound turns "no rows" into ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// codeLength letters of 5 bits each: nobody guesses a code.
const codeLength = 12

const codeLetters = "abcdefghijklmnopqrstuvwxyz234567"

// newCode makes up the code of a paste.
func newCode() string { return strings.ToLower(rand.Text()[:codeLength]) }

// validCode reports whether newCode could have made the code.
func validCode(code string) bool {
	return len(code) == codeLength && strings.Trim(code, codeLetters) == ""
}
