package adoption

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
)

// pasteService is a paste service; the example's store is one.
type pasteService interface {
	Create(ctx context.Context, body []byte, ttl time.Duration) (paste.Paste, error)
	Extend(ctx context.Context, code string, ttl time.Duration) (paste.Paste, error)
	Replace(ctx context.Context, code string, body []byte) (paste.Paste, error)
	Delete(ctx context.Context, code string) error
	Read(ctx context.Context, code string) (paste.Paste, []byte, error)
}

// pastes is a paste service on any database, without a cache.
type pastes struct {
	*rig
	// trusting services do not upload again what has a row.
	trusting bool
	referred atomic.Int64 // to contents in quarantine
}

const pastesDescription = `
database: ${DATABASE}
redis: ${REDIS}
buckets:
  main: {endpoint: "${S3_ENDPOINT}", bucket: "${S3_BUCKET}", access_key: "${S3_ACCESS_KEY}", secret_key: "${S3_SECRET_KEY}", path_style: true}
collections:
  pastes:
    mode: reclaim
    rows:
      table: pastes
      key: short_code
      end: expires_at
      unit: us
      status: {column: deletion_status, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}
      initiated: deletion_initiated_at
      content: content_hash
    contents: {table: content, key: content_hash, count: ref_count, object: "content/{content_hash}"}
    bucket: main
    prefix: content/
`

// tablesWith returns the tables of pastes whose keys have a type.
func tablesWith(key string) []string {
	return []string{
		"CREATE TABLE content (content_hash " + key + " PRIMARY KEY, ref_count BIGINT NOT NULL CHECK (ref_count >= 0))",
		`CREATE TABLE pastes (short_code ` + key + ` PRIMARY KEY, content_hash ` + key + ` NOT NULL, expires_at BIGINT NULL,
			deletion_status VARCHAR(20) NOT NULL DEFAULT 'NOT_EXPIRED', deletion_initiated_at BIGINT NULL,
			FOREIGN KEY (content_hash) REFERENCES content (content_hash))`,
		"CREATE INDEX pastes_due ON pastes (deletion_status, expires_at)",
		"CREATE INDEX pastes_in_progress ON pastes (deletion_status, deletion_initiated_at)",
		"CREATE INDEX pastes_by_content ON pastes (content_hash)",
		"CREATE INDEX content_unreferenced ON content (ref_count, content_hash)",
	}
}

const upsert = " ON CONFLICT (content_hash) DO UPDATE SET ref_count = content.ref_count + 1"

// statement gives parameters the names of PostgreSQL.
func (p *pastes) statement(text string) string {
	if p.engine.name != postgres.name {
		return text
	}
	parts := strings.Split(text, "?")
	for i := range parts[1:] {
		parts[i] += fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(parts, "")
}

// change runs a transaction.
func (p *pastes) change(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// changed runs a statement, and returns paste.ErrNotFound if it changed nothing.
func (p *pastes) changed(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	result, err := tx.ExecContext(ctx, p.statement(text), args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, paste.ErrNotFound)
	}
	return nil
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func endIn(ttl time.Duration) sql.NullInt64 {
	return sql.NullInt64{Int64: int64(lethe.SystemClock{}.Now().Add(ttl)), Valid: ttl > 0}
}

// taking uploads a body, and refers to it in a transaction. A trusting service
// only uploads what has no row.
func (p *pastes) taking(ctx context.Context, body []byte, do func(tx *sql.Tx) error) error {
	hash := hashOf(body)
	if p.trusting {
		if err := p.known(ctx, hash, do); !errors.Is(err, paste.ErrNotFound) {
			return err
		}
	}
	key := "content/" + hash
	if _, err := p.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &p.bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		return err
	}
	return p.change(ctx, func(tx *sql.Tx) error {
		if err := p.changed(ctx, tx, "INSERT INTO content (content_hash, ref_count) VALUES (?, 1)"+p.engine.taken, hash); err != nil {
			return err
		}
		return do(tx)
	})
}

// known refers to a content that has a row. It fails with paste.ErrNotFound.
func (p *pastes) known(ctx context.Context, hash string, do func(tx *sql.Tx) error) error {
	return p.change(ctx, func(tx *sql.Tx) error {
		if err := p.changed(ctx, tx, "UPDATE content SET ref_count = ref_count + 1 WHERE content_hash = ?", hash); err != nil {
			return err
		}
		p.count("known contents", 1)
		return do(tx)
	})
}

// inserting inserts a paste.
func (p *pastes) inserting(ctx context.Context, of paste.Paste, ttl time.Duration) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error {
		return p.changed(ctx, tx, "INSERT INTO pastes (short_code, content_hash, expires_at) VALUES (?, ?, ?)", of.Code, of.Hash, endIn(ttl))
	}
}

// referAgain repeatedly refers to contents whose objects are in quarantine,
// while they have a row.
func (p *pastes) referAgain(ctx context.Context) {
	for lethe.Sleep(ctx, 20*time.Millisecond) == nil {
		hash := ""
		err := p.db.QueryRowContext(ctx, "SELECT content_hash FROM content JOIN "+p.engine.schema+"quarantined ON copy = "+p.engine.copyOf+
			" WHERE state = 2 AND ref_count = 0 LIMIT 1").Scan(&hash)
		if err != nil {
			continue
		}
		of := paste.Paste{Code: rand.Text()[:12], Hash: hash}
		if p.known(ctx, hash, p.inserting(ctx, of, time.Duration(p.referred.Add(1)%4)*time.Second)) == nil {
			p.count("referred to again", 1)
		}
	}
}

// lasting returns the pastes without an end.
func (p *pastes) lasting() (out []paste.Paste) {
	for _, code := range p.column("SELECT short_code FROM pastes WHERE expires_at IS NULL") {
		found, err := p.find(p.t.Context(), code)
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, found)
	}
	return out
}

// Create implements service.
func (p *pastes) Create(ctx context.Context, body []byte, ttl time.Duration) (paste.Paste, error) {
	out := paste.Paste{Code: rand.Text()[:12], Hash: hashOf(body)}
	return out, p.taking(ctx, body, p.inserting(ctx, out, ttl))
}

// Extend implements service.
func (p *pastes) Extend(ctx context.Context, code string, ttl time.Duration) (paste.Paste, error) {
	return paste.Paste{Code: code}, p.change(ctx, func(tx *sql.Tx) error {
		return p.changed(ctx, tx, "UPDATE pastes SET expires_at = ? WHERE short_code = ?", endIn(ttl), code)
	})
}

// Replace implements service.
func (p *pastes) Replace(ctx context.Context, code string, body []byte) (paste.Paste, error) {
	out := paste.Paste{Code: code, Hash: hashOf(body)}
	return out, p.taking(ctx, body, func(tx *sql.Tx) error {
		if err := p.release(ctx, tx, code); err != nil {
			return err
		}
		return p.changed(ctx, tx, "UPDATE pastes SET content_hash = ? WHERE short_code = ?", out.Hash, code)
	})
}

// release decrements the count of what a paste names.
func (p *pastes) release(ctx context.Context, tx *sql.Tx, code string) error {
	var hash string
	err := tx.QueryRowContext(ctx, p.statement("SELECT content_hash FROM pastes WHERE short_code = ?"+p.engine.locks), code).Scan(&hash)
	if err != nil {
		return err
	}
	return p.changed(ctx, tx, "UPDATE content SET ref_count = ref_count - 1 WHERE content_hash = ?", hash)
}

// Delete implements service.
func (p *pastes) Delete(ctx context.Context, code string) error {
	return p.change(ctx, func(tx *sql.Tx) error {
		if err := p.release(ctx, tx, code); err != nil {
			return err
		}
		return p.changed(ctx, tx, "DELETE FROM pastes WHERE short_code = ?", code)
	})
}

// Read implements service.
func (p *pastes) Read(ctx context.Context, code string) (paste.Paste, []byte, error) {
	for missing := ""; ; { // it may be replaced between the two reads
		out, err := p.find(ctx, code)
		if err != nil {
			return out, nil, err
		}
		body, err := p.get(ctx, out.Hash)
		if !errors.Is(err, paste.ErrBytesMissing) || out.Hash == missing {
			return out, body, err
		}
		missing = out.Hash
	}
}

func (p *pastes) find(ctx context.Context, code string) (paste.Paste, error) {
	out := paste.Paste{Code: code}
	var end sql.NullInt64
	err := p.db.QueryRowContext(ctx, p.statement(`SELECT content_hash, expires_at FROM pastes
		WHERE short_code = ? AND deletion_status = 'NOT_EXPIRED' AND (expires_at IS NULL OR expires_at > ?)`),
		code, int64(lethe.SystemClock{}.Now())).Scan(&out.Hash, &end)
	if end.Valid {
		at := lethe.Time(end.Int64).Time()
		out.ExpiresAt = &at
	}
	return out, err
}

func (p *pastes) get(ctx context.Context, hash string) ([]byte, error) {
	key := "content/" + hash
	out, err := p.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.bucket, Key: &key})
	if missing := new(types.NoSuchKey); errors.As(err, &missing) {
		return nil, paste.ErrBytesMissing
	}
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err == nil && hashOf(body) != hash {
		err = paste.ErrBytesMissing
	}
	return body, err
}
