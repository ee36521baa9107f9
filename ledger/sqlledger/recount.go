package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// Recount recomputes references, counters and the rules of the states from the rows, and
// returns every difference; there should be none. It reads the whole ledger. Each rule is
// checked in its own snapshot, and rules about single contents or blobs in one per page. So
// the result is exact, and no snapshot stays open for long.
func (db *DB) Recount(ctx context.Context) (found []ledger.Discrepancy, err error) {
	for _, r := range bookRules {
		more, err := db.broken(ctx, r)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// broken returns the violations of a rule.
func (db *DB) broken(ctx context.Context, r bookRule) (found []ledger.Discrepancy, err error) {
	for after, more := "", true; more; {
		var page []ledger.Discrepancy
		var next string
		err := db.walk(ctx, "recount", func(t *tx) (err error) {
			page, more, next = nil, false, ""
			args := []any{}
			if r.pages != "" {
				if err := t.Row(r.pages, after, cmp.Or(db.recountPage, 10_000)).Scan(&next); err != nil || next == "" {
					return t.Failed(err)
				}
				args, more = []any{after, next}, true
			}
			page, err = r.look(t, args)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.what, err)
		}
		found, after = append(found, page...), next
	}
	return found, nil
}

// bookRule is an invariant of the rows after every commit. Its query returns the rows that
// break it: name, expected value, value. If pages is set, it returns the last id of the page
// after ?1, and the rule is about the ids above ?1 up to ?2.
type bookRule struct {
	what, query, pages string
	// by checks the rows of the query, if the query cannot.
	by func(*sql.Rows) ([]ledger.Discrepancy, error)
}

func (r bookRule) look(t *tx, args []any) ([]ledger.Discrepancy, error) {
	if r.by != nil {
		rows, err := t.Query(r.query, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return r.by(rows)
	}
	return all(t, func(row *sql.Rows) (ledger.Discrepancy, error) {
		d := ledger.Discrepancy{What: r.what}
		err := row.Scan(&d.Name, &d.Want, &d.Have)
		return d, err
	}, r.query, args...)
}

var (
	contentPages = register(`SELECT coalesce(max(id), '') FROM (SELECT id FROM contents WHERE id > ?1 ORDER BY id LIMIT ?2) AS page`)
	blobPages    = register(`SELECT coalesce(max(id), '') FROM (SELECT id FROM blobs WHERE id > ?1 ORDER BY id LIMIT ?2) AS page`)
)

// rule declares a rule; ofContents and ofBlobs declare one checked by pages.
func rule(what, query string) bookRule { return bookRule{what: what, query: register(query)} }
func ofContents(what, query string) bookRule {
	return bookRule{what: what, query: register(query), pages: contentPages}
}
func ofBlobs(what, query string) bookRule {
	return bookRule{what: what, query: register(query), pages: blobPages}
}

// bookRules are the invariants that a query can check. Names are 'table id'.
var bookRules = []bookRule{
	ofContents("refs", `SELECT 'content ' || c.id, CAST(coalesce(r.n, 0) AS TEXT), CAST(c.refs AS TEXT)
		FROM contents c LEFT JOIN (
			SELECT content_id, count(*) AS n FROM (
				SELECT content_id FROM objects WHERE content_id > ?1 AND content_id <= ?2
				UNION ALL SELECT content_id FROM trash WHERE content_id > ?1 AND content_id <= ?2) AS x
			GROUP BY content_id) AS r ON r.content_id = c.id
		WHERE c.id > ?1 AND c.id <= ?2 AND c.refs <> coalesce(r.n, 0)`),
	rule("blob counter", `SELECT 'backend ' || backend || ' state ' || CAST(state AS TEXT),
			CAST(rn AS TEXT) || ' blobs of ' || CAST(rb AS TEXT) || ' bytes',
			CAST(cn AS TEXT) || ' blobs of ' || CAST(cb AS TEXT) || ' bytes'
		FROM (SELECT backend, state, sum(rn) AS rn, sum(rb) AS rb, sum(cn) AS cn, sum(cb) AS cb FROM (
				SELECT backend, state, count(*) AS rn, sum(size) AS rb, 0 AS cn, 0 AS cb FROM blobs GROUP BY backend, state
				UNION ALL SELECT '', 2, count(*), coalesce(sum(size), 0), 0, 0 FROM contents WHERE body_no <> 0
				UNION ALL SELECT backend, state, 0, 0, sum(n), sum(bytes) FROM blob_counters GROUP BY backend, state) AS u
			GROUP BY backend, state) AS d
		WHERE rn <> cn OR rb <> cb`),
	rule("bucket counter", `SELECT 'bucket ' || bucket_id,
			CAST(rn AS TEXT) || ' objects of ' || CAST(rb AS TEXT) || ' bytes',
			CAST(cn AS TEXT) || ' objects of ' || CAST(cb AS TEXT) || ' bytes'
		FROM (SELECT bucket_id, sum(rn) AS rn, sum(rb) AS rb, sum(cn) AS cn, sum(cb) AS cb FROM (
				SELECT bucket_id, count(*) AS rn, sum(size) AS rb, 0 AS cn, 0 AS cb FROM objects GROUP BY bucket_id
				UNION ALL SELECT bucket_id, 0, 0, sum(n), sum(bytes) FROM bucket_counters GROUP BY bucket_id) AS u
			GROUP BY bucket_id) AS d
		WHERE rn <> cn OR rb <> cb`),
	rule("object size", `SELECT 'object ' || o.bucket_id || '/' || o.key, CAST(coalesce(c.size, 0) AS TEXT) || ' bytes',
			CAST(o.size AS TEXT) || ' bytes of content ' || coalesce(o.content_id, '-')
		FROM objects o LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.size <> coalesce(c.size, 0)
			OR (o.size = 0 AND o.content_id IS NOT NULL)`),
	rule("trash size", `SELECT 'trash ' || o.id, CAST(coalesce(c.size, 0) AS TEXT) || ' bytes',
			CAST(o.size AS TEXT) || ' bytes of content ' || coalesce(o.content_id, '-')
		FROM trash o LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.size <> coalesce(c.size, 0)
			OR (o.size = 0 AND o.content_id IS NOT NULL)`),
	rule("dedup domain", `SELECT 'object ' || o.bucket_id || '/' || o.key, b.domain, c.domain
		FROM objects o JOIN contents c ON c.id = o.content_id JOIN buckets b ON b.id = o.bucket_id
		WHERE c.domain <> b.domain`),
	rule("due time", `SELECT name, CAST(want AS TEXT), CAST(have AS TEXT) FROM (
			SELECT 'object ' || bucket_id || '/' || key AS name, coalesce(due_at, 0) AS have,
				`+dueOf(``)+` AS want,
				due_at IS NULL AND EXISTS (SELECT 1 FROM deferred p WHERE p.bucket_id = objects.bucket_id AND p.key = objects.key AND p.entry = '') AS deferred
			FROM objects) AS d
		WHERE (want <> have OR have < 0) AND NOT (have = 0 AND deferred)`),
	rule("deferred", `SELECT 'trash ' || id, 'a deferred row, or when it is purged', 'neither'
		FROM trash WHERE purge_at = 9223372036854775807 AND id NOT IN (SELECT entry FROM deferred)`),
	rule("holds", `SELECT 'bucket ' || b.id, CAST((SELECT count(*) FROM holds h WHERE h.bucket_id = b.id) AS TEXT), CAST(b.holds AS TEXT)
		FROM buckets b WHERE b.holds <> (SELECT count(*) FROM holds h WHERE h.bucket_id = b.id)`),
	ofBlobs("owner of a live blob", `SELECT 'blob ' || b.id, 'one content or one part',
			'content ' || coalesce(b.content_id, '-') || ', upload ' || coalesce(b.upload_id, '-')
		FROM blobs b
		WHERE b.state = 2 AND b.id > ?1 AND b.id <= ?2
			AND NOT (b.upload_id IS NULL AND b.content_id IS NOT NULL
				AND EXISTS (SELECT 1 FROM contents c WHERE c.id = b.content_id))
			AND NOT (b.upload_id IS NOT NULL AND b.content_id IS NULL
				AND EXISTS (SELECT 1 FROM parts p WHERE p.upload_id = b.upload_id AND p.number = b.part AND p.blob_id = b.id))`),
	ofBlobs("condemned blob of a referenced content", `SELECT 'blob ' || b.id, 'a spare copy', b.reason
		FROM blobs b JOIN contents c ON c.id = b.content_id
		WHERE b.id > ?1 AND b.id <= ?2 AND b.state IN (3, 4) AND b.reason NOT IN ('duplicate', 'surplus', 'rebalance', 'damaged', 'unverified', 'upload_orphan')`),
	ofContents("segments", `SELECT 'content ' || c.id, CAST(c.size AS TEXT) || ' bytes in unbroken order',
			CAST(coalesce(s.bytes, 0) AS TEXT) || ' bytes in ' || CAST(coalesce(s.n, 0) AS TEXT) || ' live segments up to ' || CAST(coalesce(s.top, 0) AS TEXT)
		FROM contents c LEFT JOIN (
			SELECT content_id, count(*) AS n, max(segment) + 1 AS top, sum(size) AS bytes FROM (
				SELECT content_id, segment, max(size) AS size FROM blobs
				WHERE state = 2 AND content_id > ?1 AND content_id <= ?2 GROUP BY content_id, segment) AS x
			GROUP BY content_id) AS s ON s.content_id = c.id
		WHERE c.id > ?1 AND c.id <= ?2 AND CASE WHEN c.body_no <> 0 THEN s.content_id IS NOT NULL
			ELSE s.content_id IS NULL OR s.n <> s.top OR s.bytes <> c.size END`),
	rule("inline bytes", `SELECT 'body ' || CAST(no AS TEXT), 'of one content', 'of ' || CAST(n AS TEXT)
		FROM (SELECT b.no AS no, count(c.id) AS n FROM bodies b LEFT JOIN contents c ON c.body_no = b.no GROUP BY b.no) AS x WHERE n <> 1`),
	ofContents("inline bytes", `SELECT 'content ' || c.id, CAST(c.size AS TEXT) || ' bytes', CAST(coalesce(length(b.head) + length(b.tail), 0) AS TEXT) || ' bytes'
		FROM contents c LEFT JOIN bodies b ON b.no = c.body_no
		WHERE c.id > ?1 AND c.id <= ?2 AND c.body_no <> 0 AND coalesce(length(b.head) + length(b.tail), 0) <> c.size`),
	ofContents("copies of a segment", `SELECT 'content ' || content_id || ' segment ' || CAST(segment AS TEXT), 'the same bytes under different replica numbers',
			CAST(count(DISTINCT digest) AS TEXT) || ' digests, ' || CAST(count(DISTINCT replica) AS TEXT) || ' numbers of ' || CAST(count(*) AS TEXT) || ' copies'
		FROM blobs WHERE state = 2 AND content_id > ?1 AND content_id <= ?2
		GROUP BY content_id, segment
		HAVING count(DISTINCT digest) > 1 OR count(DISTINCT size) > 1 OR count(DISTINCT replica) <> count(*)`),
	ofContents("digest", `SELECT 'blob ' || b.id, c.digest || ' of ' || CAST(c.size AS TEXT) || ' bytes',
			b.digest || ' of ' || CAST(b.size AS TEXT) || ' bytes in segment ' || CAST(b.segment AS TEXT)
		FROM contents c JOIN blobs b ON b.content_id = c.id AND b.state = 2
		WHERE c.id > ?1 AND c.id <= ?2 AND c.kind = 'whole' AND (b.digest <> c.digest OR b.size <> c.size OR b.segment <> 0)`),
	rule("part", `SELECT 'part ' || p.upload_id || '/' || CAST(p.number AS TEXT), 'a live blob of the upload, size and digest',
			coalesce(p.blob_id, 'none') || ' state ' || CAST(coalesce(b.state, 0) AS TEXT)
		FROM parts p LEFT JOIN blobs b ON b.id = p.blob_id
		WHERE NOT (p.blob_id IS NULL AND p.size = 0)
			AND NOT (coalesce(b.state, 0) = 2 AND coalesce(b.upload_id, '') = p.upload_id AND coalesce(b.part, 0) = p.number
				AND coalesce(b.size, -1) = p.size AND coalesce(b.digest, '') = p.digest)`),
	rule("promotion", `SELECT 'blob ' || b.id, '1', CAST(b.state AS TEXT)
		FROM promotions p JOIN blobs b ON b.id = p.blob_id WHERE b.state <> 1`),
	ofBlobs("state", `SELECT 'blob ' || id, 'what its state allows',
			'state ' || CAST(state AS TEXT) || ' reason ' || reason || ' died ' || CAST(died_at AS TEXT) || ' due ' || CAST(due_at AS TEXT) || ' fence ' || CAST(fence AS TEXT)
		FROM blobs
		WHERE id > ?1 AND id <= ?2 AND (NOT CASE state
			WHEN 1 THEN reason = '' AND died_at = 0 AND due_at = 0 AND attempts = 0 AND (content_id IS NULL
				OR upload_id IS NULL AND EXISTS (SELECT 1 FROM contents c WHERE c.id = content_id))
			WHEN 2 THEN reason = '' AND died_at = 0 AND due_at = 0 AND attempts = 0 AND fence = 0
			WHEN 3 THEN reason <> '' AND died_at > 0 AND due_at > 0
			ELSE reason <> '' AND died_at > 0 AND fence = 0 END
			OR size < 0 OR attempts < 0 OR part < 0 OR segment < 0 OR replica < 0)`),
	ofBlobs("blocks", `SELECT 'blob ' || b.id, 'the sums of ' || CAST(b.size AS TEXT) || ' bytes in blocks of ' || CAST(b.block AS TEXT), CAST(coalesce(k.n, 0) AS TEXT)
		FROM blobs b LEFT JOIN (
			SELECT blob_id, sum(length(sums)) / 4 AS n FROM blocks WHERE blob_id > ?1 AND blob_id <= ?2 GROUP BY blob_id) AS k ON k.blob_id = b.id
		WHERE b.id > ?1 AND b.id <= ?2 AND b.block > 0
			AND (coalesce(k.n, 0) * b.block < b.size OR (coalesce(k.n, 0) - 1) * b.block >= b.size)`),
	rule("blocks", `SELECT 'blob ' || k.blob_id, 'a row that has them', 'sums of blocks from ' || CAST(k.first_no AS TEXT)
		FROM blocks k LEFT JOIN blobs b ON b.id = k.blob_id WHERE coalesce(b.block, 0) = 0`),
	ofBlobs("claim", `SELECT 'blob ' || b.id, 'fence and time, or neither',
			'fence ' || CAST(b.fence AS TEXT) || ' at ' || CAST(b.claimed_at AS TEXT)
		FROM blobs b
		WHERE b.id > ?1 AND b.id <= ?2
			AND ((b.fence = 0) <> (b.claimed_at = 0) OR b.fence > `+engine.LastFence+` OR b.fence < 0)`),
	{what: "digest", query: composition, pages: contentPages, by: composed},
}

var composition = register(`SELECT c.id, c.digest, min(b.digest), min(b.size)
	FROM contents c JOIN blobs b ON b.content_id = c.id AND b.state = 2
	WHERE c.id > ?1 AND c.id <= ?2 AND c.kind = 'multipart' GROUP BY c.id, c.digest, b.segment ORDER BY c.id, b.segment`)

// composed checks the digest of every multipart content against its segments.
func composed(rows *sql.Rows) ([]ledger.Discrepancy, error) {
	type row struct {
		id   lethe.ID
		want string
		sum  lethe.SegmentSum
	}
	var found []ledger.Discrepancy
	var at row // the current content
	var sums []lethe.SegmentSum
	end := func() {
		have, err := lethe.MultipartDigest(sums)
		if at.id != "" && (err != nil || have != at.want) {
			found = append(found, ledger.Discrepancy{What: "digest", Name: "content " + string(at.id), Want: at.want, Have: have})
		}
	}
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.want, &r.sum.Digest, &r.sum.Size); err != nil {
			return nil, err
		}
		if r.id != at.id {
			end()
			at, sums = r, nil
		}
		sums = append(sums, r.sum)
	}
	end()
	return found, rows.Err()
}

// tallyOrphans reads only indexes: of intents, due rows, claims and dead letters.
var tallyOrphans = register(`SELECT backend, state, sum(rn), sum(rb), sum(cn), sum(cb) FROM (
		SELECT backend, state, count(*) AS rn, sum(size) AS rb, 0 AS cn, 0 AS cb FROM blobs WHERE state = 1 AND fence = 0 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE state = 3 AND fence = 0 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE state = 4 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE fence <> 0 AND state <> 4 GROUP BY backend, state
		UNION ALL SELECT backend, state, 0, 0, sum(n), sum(bytes) FROM blob_counters WHERE state <> 2 GROUP BY backend, state) AS u
	GROUP BY backend, state HAVING sum(rn) <> 0 OR sum(rb) <> 0 OR sum(cn) <> 0 OR sum(cb) <> 0 ORDER BY backend, state`)

// TallyOrphans recounts the intents, condemned blobs and dead letters of each backend from
// their indexes, and returns them beside their counters: orphan bytes and reservations. One
// snapshot makes the comparison exact. The cost grows with the waiting rows, not the live
// ones. States without rows are left out.
func (db *DB) TallyOrphans(ctx context.Context) (list []ledger.Tally, err error) {
	err = db.walk(ctx, "tally of orphan bytes", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (x ledger.Tally, err error) {
			err = r.Scan(&x.Backend, &x.State, &x.Rows, &x.RowBytes, &x.Counted, &x.CountedBytes)
			return x, err
		}, tallyOrphans)
		return err
	})
	return list, err
}
