package sqladopt

import (
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// mysqlTexts replace those that MariaDB and MySQL do not support. SET is
// evaluated from left to right there, and sees its own changes.
var mysqlTexts = map[string]string{
	insertCollection: `INSERT IGNORE INTO {lethe}collections (name) VALUES (?1)`,
	insertHold:       `INSERT IGNORE INTO {lethe}holds (` + holdColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,

	// length counts bytes, as substr does of bytes alone.
	objectsUnderWay: strings.ReplaceAll(objectsUnderWay, "substr(?4,", "substr(CAST(?4 AS BINARY),"),

	insertTroubles: `INSERT INTO {lethe}troubles (collection, kind, "key", at) SELECT ?2, ?3, t.id, ?4 FROM {ids 1}
		ON DUPLICATE KEY UPDATE at = VALUES(at)`,
	insertMissing: `INSERT INTO {lethe}troubles (collection, kind, "key", at) SELECT d.collection, ?3, d.object, ?4
		FROM (SELECT DISTINCT collection, object FROM {lethe}condemned WHERE collection = ?2 AND content IN (SELECT id FROM {ids 1})) AS d
		ON DUPLICATE KEY UPDATE at = VALUES(at)`,

	insertPairing: `INSERT IGNORE INTO {lethe}pairings (place, number, nonce, next_nonce, at, marks) VALUES (?1, 0, '', '', 0, '')`,

	cascades:    mysqlCascades,
	cascadeKeys: mysqlCascadeKeys,

	schemaSQL:      mysqlSchema,
	insertAdoption: `INSERT IGNORE INTO {lethe}adoption (one, version, created_at) VALUES (1, ?1, ?2)`,

	insertWaiting: `INSERT INTO {lethe}condemned (collection, content, object, state, due_at)
		SELECT ?2, t.content, t.object, 1, ?3 FROM ` + sqldb.Rows(1, "content text", "object text") + `
		ON DUPLICATE KEY UPDATE
			attempts = CASE WHEN state = 3 AND due_at <= ?4 OR state = 1 AND {lethe}condemned.object = VALUES(object) THEN 0 ELSE attempts END,
			state = CASE WHEN state = 3 AND due_at <= ?4 THEN 1 ELSE state END,
			due_at = CASE WHEN state = 1 AND attempts = 0 THEN VALUES(due_at) ELSE due_at END,
			unseen_until = CASE WHEN state = 1 AND attempts = 0 THEN 0 ELSE unseen_until END`,
	failMarks: `UPDATE {lethe}condemned d JOIN {rows 2: id text, due_at bigint, error text, unseen bigint} ON d.content = t.id
		SET d.state = CASE WHEN t.unseen = 0 AND d.unseen_until = 0 THEN 1 ELSE d.state END,
			d.fence = 0, d.due_at = t.due_at, d.error = t.error, d.unseen_until = greatest(t.unseen, d.unseen_until) WHERE d.collection = ?1`,
	overMarks: `DELETE c FROM {lethe}condemned c JOIN (SELECT d.collection, d.content FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state = 3 AND d.due_at <= ?2 LIMIT ?3 {locked}) AS o ON c.collection = o.collection AND c.content = o.content`,

	insertRun: `INSERT IGNORE INTO {lethe}runs (id, routine, worker, started_at, beat_at, counts, solo)
		VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)`,
	oldRuns: `DELETE o FROM {lethe}runs o JOIN (
		SELECT r.id FROM {lethe}runs r WHERE r.finished_at <> 0 AND r.started_at < ?1
			AND EXISTS (SELECT 1 FROM {lethe}runs n WHERE n.routine = r.routine AND n.outcome = 'ok' AND n.started_at > r.started_at)
		ORDER BY r.started_at LIMIT ?2 {locked}) AS t ON o.id = t.id`,
	newMoves: `INSERT IGNORE INTO {lethe}quarantined (collection, "key", copy, size, tag, state, fence, due_at, since_at)
		SELECT ?2, t.key, t.copy, t.size, t.tag, 1, ?3, ?4, ?5 FROM {rows 1: key text, copy text, size bigint, tag text}`,
	beginMoves: `INSERT INTO {lethe}quarantined (collection, "key", copy, size, tag, state, fence, due_at, since_at)
		SELECT ?2, t.key, t.copy, t.size, t.tag, 1, ?3, ?4, ?5 FROM {rows 1: key text, copy text, size bigint, tag text}
		ON DUPLICATE KEY UPDATE copy = VALUES(copy), size = VALUES(size), tag = VALUES(tag), state = 1,
			fence = VALUES(fence), due_at = VALUES(due_at), since_at = VALUES(since_at), until_at = 0, late_at = 0, wanted = 0`,
	insertFound: `INSERT IGNORE INTO {lethe}quarantined (collection, "key", copy, size, tag, state, fence, due_at, since_at, until_at, late_at)
		SELECT ?2, t.key, t.copy, t.size, t.tag, 2, 0, 0, ?3, ?4, ?5 FROM {rows 1: key text, copy text, size bigint, tag text}`,
	// In bytes, as its keys are.
	livingKeys: `SELECT count(DISTINCT {named key}), (` + lastRows + `) FROM {named}
		WHERE substr({named key}, 1, length(?2)) = ?2 AND {named key} <> ?2`,

	explainReceipts: `SELECT at, kind FROM {lethe}receipts WHERE collection = ?1 AND JSON_CONTAINS("keys", ?2) ORDER BY at`,
	takeReceipts:    `DELETE FROM {lethe}receipts WHERE id IN (SELECT id FROM {ids 1})`,

	// The check in the guard waits for a lock on a key's row: there is no other
	// lock.
	ownedTexts.free: `SELECT t.id FROM {ids 1}`,

	folds: mysqlFolds,

	lookLive: `SELECT (SELECT count(*) FROM {live}), (SELECT count(*) FROM {live} WHERE live.name IS NULL),
		(SELECT coalesce(JSON_ARRAYAGG(CONVERT(f.name USING utf8mb4)), '[]') FROM (
			SELECT DISTINCT {live name} AS name FROM {live} WHERE {live name} IN (SELECT id FROM {ids 1})) AS f)`,
	noteRows: `INSERT INTO {lethe}live_rows (collection, live, at) VALUES (?1, ?2, ?3)
		ON DUPLICATE KEY UPDATE live = CASE WHEN {lethe}live_rows.at <= VALUES(at) OR {lethe}live_rows.at > ?4 THEN VALUES(live) ELSE {lethe}live_rows.live END,
			at = CASE WHEN {lethe}live_rows.at <= VALUES(at) OR {lethe}live_rows.at > ?4 THEN VALUES(at) ELSE {lethe}live_rows.at END`,
	insertSeen: `INSERT INTO {lethe}folders (collection, name, state, seen_at)
		SELECT ?2, t.id, 1, ?3 FROM {ids 1} ON DUPLICATE KEY UPDATE state = {lethe}folders.state`,
	recordMarker: `UPDATE {lethe}folders f JOIN {rows 1: name text, at bigint} ON f.name = t.name
		SET f.state = 3, f.marked_at = ?3, f.marker_at = t.at WHERE f.collection = ?2 AND f.state = 2`,

	seeOrphans: `INSERT INTO {lethe}orphans (collection, "key", size, modified, since_at, seen_at)
		SELECT ?2, t.key, t.size, t.modified, ?3, ?3 FROM {rows 1: key text, size bigint, modified bigint}
		ON DUPLICATE KEY UPDATE since_at = CASE WHEN {lethe}orphans.modified = VALUES(modified) AND {lethe}orphans.size = VALUES(size) THEN {lethe}orphans.since_at ELSE VALUES(since_at) END,
			seen_at = VALUES(seen_at), size = VALUES(size), modified = VALUES(modified)`,
}
