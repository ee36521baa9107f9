package sqlledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// byEngine is a statement in two texts. SQLite finds contents by the table digests, whose rows
// outlive them; PostgreSQL by an index, whose entries outlive them as well.
type byEngine struct{ file, server string }

func registerBoth(file, server string) byEngine {
	return byEngine{engine.RegisterFor(sqldb.SQLiteName, file), engine.RegisterFor(sqldb.PostgresName, server)}
}

func (s byEngine) of(t *tx) string {
	if t.db.engine.File != nil {
		return s.file
	}
	return s.server
}

// digestEnded holds for a row of digests whose content is gone or takes no more references.
const digestEnded = `NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = d.content_id AND c.closed = 0)`

var (
	// openContent finds a content that takes references. SQLite has underKey.
	openContent = registerFor(sqldb.PostgresName, `SELECT id, body_no FROM contents
		WHERE domain = ?1 AND digest = ?2 AND size = ?3 AND kind = ?4 AND closed = 0`)
	// knownContent looks the domain up by itself. PostgreSQL may plan a join, while contents is
	// small, by the whole index without the domain, and keep that plan.
	knownContent = registerBoth(`SELECT c.id, CASE WHEN c.body_no <> 0 THEN 1 ELSE 0 END FROM buckets b
		LEFT JOIN digests d ON d.prefix = substr(?2, 1, 16) AND d.domain = b.domain
		LEFT JOIN contents c ON c.id = d.content_id
			AND c.domain = b.domain AND c.digest = ?2 AND c.size = ?3 AND c.kind = ?4 AND c.closed = 0
		WHERE b.name = ?1`,
		`SELECT c.id, CASE WHEN c.body_no <> 0 THEN 1 ELSE 0 END FROM buckets b LEFT JOIN contents c
		ON c.domain = (SELECT domain FROM buckets WHERE name = ?1) AND c.digest = ?2 AND c.size = ?3 AND c.kind = ?4 AND c.closed = 0
		WHERE b.name = ?1`)
	noteDigest = engine.RegisterFor(sqldb.SQLiteName, `INSERT OR REPLACE INTO digests (prefix, domain, content_id)
		VALUES (substr(?1, 1, 16), ?2, ?3)`)
	pageDigests = engine.RegisterFor(sqldb.SQLiteName, `SELECT count(*), coalesce(sum(ended), 0), coalesce(max(prefix), '')
		FROM (SELECT d.prefix AS prefix, `+digestEnded+` AS ended FROM digests d WHERE d.prefix > ?1 ORDER BY d.prefix LIMIT ?2) AS page`)
	sweepDigests = engine.RegisterFor(sqldb.SQLiteName, `DELETE FROM digests AS d WHERE d.prefix > ?1 AND d.prefix <= ?2 AND `+digestEnded)
)

// noteDigest makes a new content the one that is found by its identity. It takes the row of an
// ended one.
func (t *tx) noteDigest(k ledger.ContentKey, id lethe.ID) error {
	if t.db.engine.File == nil {
		return nil
	}
	_, err := t.Send(noteDigest, k.Digest, k.Domain, id)
	return err
}

// endedShare is the share of ended contents, one of so many, from which it is worth to remove
// their rows. As digests are in random order it is about the same everywhere.
const endedShare = 4

// firstDigest is a place before all rows of digests.
const firstDigest = "-"

// SweepDigests looks at up to limit rows of digests from a place on, in order and around the
// end, and removes those of ended contents if they are at least a quarter. It returns where
// to go on, "" if few are left, and how many it removed. It begins anywhere for "".
// PostgreSQL does this itself (autovacuum): errors.ErrUnsupported.
func (db *DB) SweepDigests(ctx context.Context, from string, limit int) (next string, n int, err error) {
	if db.engine.File == nil {
		return "", 0, fmt.Errorf("PostgreSQL does that itself (autovacuum): %w", errors.ErrUnsupported)
	}
	var rows, ended int
	var last string
	err = db.walk(ctx, "look for ended digests", func(t *tx) error {
		if from == "" {
			sum := sha256.Sum256(fmt.Append(nil, t.Now))
			from = hex.EncodeToString(sum[:])
		}
		return t.Failed(t.Row(pageDigests, from, bounded(limit)).Scan(&rows, &ended, &last))
	})
	if err != nil {
		return "", 0, err
	}
	sweep := ended > 0 && ended*endedShare >= rows
	switch {
	case rows == limit && sweep:
		next = last
	case rows < limit && from != firstDigest:
		next = firstDigest
	}
	if !sweep {
		return next, 0, nil
	}
	err = db.batch(ctx, "sweep digests", func(t *tx) error {
		gone, err := t.Exec(sweepDigests, from, last)
		n = int(gone)
		return err
	})
	return next, n, err
}
