package sqlledger

import (
	"hash/fnv"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// Where transactions write concurrently they lock what they read to change it, in one order
// (docs/protocol.md, rule 16): the bucket, the key, uploads, trash, objects, deletion limits,
// promotions, contents, blobs, placements, counters; several of a kind in the order of their
// ids. Where a writing transaction runs alone these locks are omitted.

var (
	// A transaction that puts or changes an object locks its key, by an advisory lock and
	// not by a row. Otherwise the second of two replacements would find neither the old row
	// nor the new one. Buckets have such a lock as well, taken before the row's lock.
	// Transactions that share a row overtake one that waits to change it, forever if there
	// are many; advisory locks are granted in order. Backends have one for the same reason.
	keyBucket = registerFor(sqldb.PostgresName, `SELECT `+bucketColumns+`, rules FROM buckets
		CROSS JOIN (SELECT pg_advisory_xact_lock_shared(?2), pg_advisory_xact_lock(?3)) AS gate WHERE name = ?1 FOR SHARE OF buckets`)
	gatedBucket = registerFor(sqldb.PostgresName, `SELECT `+bucketColumns+`, rules FROM buckets
		CROSS JOIN (SELECT pg_advisory_xact_lock_shared(?2)) AS gate WHERE name = ?1 FOR SHARE OF buckets`)
	closeGate    = registerFor(sqldb.PostgresName, `SELECT 1 FROM (SELECT pg_advisory_xact_lock(?1)) AS gate`)
	passGate     = registerFor(sqldb.PostgresName, `SELECT 1 FROM (SELECT pg_advisory_xact_lock_shared(?1)) AS gate`)
	lockedBucket = register(`SELECT ` + bucketColumns + ` FROM buckets WHERE name = ?1 ` + sqldb.Exclusive)
	gatedBackend = registerFor(sqldb.PostgresName, `SELECT `+backendColumns+` FROM backends
		CROSS JOIN (SELECT pg_advisory_xact_lock_shared(?2)) AS gate WHERE id = ?1 FOR SHARE OF backends`)
	sharedBackend = register(`SELECT ` + backendColumns + ` FROM backends WHERE id = ?1 ` + sqldb.Shared)
	lockedBackend = register(`SELECT ` + backendColumns + ` FROM backends WHERE id = ?1 ` + sqldb.Exclusive)
	lockedObject  = register(`SELECT ` + objectColumns + ` FROM objects WHERE bucket_id = ?1 AND key = ?2 ` + sqldb.Exclusive)
	// Several objects are locked before they are changed: an UPDATE takes them in any order.
	lockedObjects = registerFor(sqldb.PostgresName, `SELECT 1 FROM `+sqldb.Rows(1, "bucket_id text", "key text")+` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key `+sqldb.ExclusiveBy("o.bucket_id, o.key"))
	lockedRange = registerFor(sqldb.PostgresName, `SELECT 1 FROM objects
		WHERE bucket_id = ?1 AND key > ?2 AND key <= ?3 `+sqldb.ExclusiveBy("key"))
	lockedEntries = registerFor(sqldb.PostgresName, `SELECT 1 FROM `+sqldb.Rows(1, "entry text")+` CROSS JOIN trash e
		WHERE e.id = t.entry `+sqldb.ExclusiveBy("e.id"))
	lockedUpload   = register(`SELECT 1 FROM uploads WHERE id = ?1 ` + sqldb.Exclusive)
	lockedContents = registerFor(sqldb.PostgresName, `SELECT c.id FROM contents c
		WHERE c.id `+sqldb.In(1)+` AND (c.closed = 0 OR c.id <> ?2) `+sqldb.ExclusiveBy("c.id"))
	contentsOf = registerFor(sqldb.PostgresName, `SELECT DISTINCT b.content_id FROM blobs b
		WHERE b.id `+sqldb.In(1)+` AND b.content_id IS NOT NULL`)
)

// concurrentWriters reports whether other transactions may write at the same time.
func (t *tx) concurrentWriters() bool { return t.Writes && !t.Alone() }

// lockKey returns the bucket of a key that is to be written, with its rules. It locks the
// key, and the bucket shared: ErrNoSuchBucket.
func (t *tx) lockKey(bucket, key string) (b ledger.Bucket, rs lifecycle.Rules, err error) {
	if !t.concurrentWriters() {
		return t.ruledBucket(bucket)
	}
	return t.rulesIn(bucket, t.Row(keyBucket, bucket, gateOf("bucket", bucket), gateOf("key", bucket+"\x00"+key)))
}

// rulesIn scans a bucket with its rules.
func (t *tx) rulesIn(name string, row sqldb.Scanner) (b ledger.Bucket, rs lifecycle.Rules, err error) {
	var text string
	if err = t.bucketError(name, scanBucket(row, &b, &text)); err != nil {
		return b, nil, err
	}
	rs, err = t.db.rules.decode(text)
	return b, rs, err
}

// gateOf returns the number of an advisory lock. Names that share a number only wait
// needlessly.
func gateOf(kind, name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("lethe " + kind + "\x00" + name))
	return int64(h.Sum64())
}

// closeBucket locks out other users of a bucket until the transaction that is about to
// change it ends.
func (t *tx) closeBucket(name string) error {
	if !t.concurrentWriters() {
		return nil
	}
	_, err := t.exists(closeGate, gateOf("bucket", name))
	return err
}

// closeBackend locks out other users of a backend until the transaction that is about to
// change its row ends.
func (t *tx) closeBackend(id string) error {
	if !t.concurrentWriters() {
		return nil
	}
	_, err := t.exists(closeGate, gateOf("backend", id))
	return err
}

// lockBucket returns a bucket and locks it exclusively until the transaction ends:
// ErrNoSuchBucket.
func (t *tx) lockBucket(name string) (b ledger.Bucket, err error) {
	if err := t.closeBucket(name); err != nil {
		return b, err
	}
	err = scanBucket(t.Row(lockedBucket, name), &b)
	return b, t.bucketError(name, err)
}

// lockKeys locks keys of a bucket that is locked already.
func (t *tx) lockKeys(bucket string, keys []string) error {
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if _, err := t.exists(closeGate, gateOf("key", bucket+"\x00"+key)); err != nil {
			return err
		}
	}
	return nil
}

// lockObject returns the row under a locked key, and locks it; nil if there is none.
func (t *tx) lockObject(b ledger.Bucket, key string) (*ledger.Object, error) {
	return t.oneObject(b, lockedObject, b.ID, key)
}

// lockFirst locks rows, in one order, that the next statements change.
func (t *tx) lockFirst(statement string, args ...any) error {
	if !t.concurrentWriters() {
		return nil
	}
	_, err := t.Send(statement, args...)
	return err
}

// lockUpload locks an upload if it exists.
func (t *tx) lockUpload(id lethe.ID) error {
	if !t.concurrentWriters() {
		return nil
	}
	_, err := t.exists(lockedUpload, id)
	return err
}

// lockContents locks contents, except those locked already. sqldb.ErrAgain if one of them is
// gone, or if open, unless empty, takes no more references: then what was read before is
// stale.
func (t *tx) lockContents(open lethe.ID, others ...lethe.ID) error {
	if !t.concurrentWriters() {
		return nil
	}
	want := slices.DeleteFunc(append(slices.Clone(others), open), func(id lethe.ID) bool { return id == "" || t.locked[id] })
	slices.Sort(want)
	if want = slices.Compact(want); len(want) == 0 {
		return nil
	}
	t.noteLocked(want)
	return t.Must(int64(len(want)), sqldb.ErrAgain, lockedContents, sqldb.JSON(want), open)
}

func (t *tx) noteLocked(contents []lethe.ID) {
	if t.locked == nil {
		t.locked = make(map[lethe.ID]bool, len(contents))
	}
	for _, id := range contents {
		t.locked[id] = true
	}
}

// lockContentsOf locks the contents of blobs that are about to change (docs/protocol.md,
// rule 17). Contents that go meanwhile take their blobs with them.
func (t *tx) lockContentsOf(blobs []lethe.ID) error {
	if !t.concurrentWriters() {
		return nil
	}
	contents, err := all(t, sqldb.One[lethe.ID], contentsOf, sqldb.JSON(blobs))
	if err == nil && len(contents) > 0 {
		contents, err = all(t, sqldb.One[lethe.ID], lockedContents, sqldb.JSON(contents), "")
		t.noteLocked(contents)
	}
	return err
}
