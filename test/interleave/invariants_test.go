package interleave_test

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// invariants are what has to hold of the rows after every commit, beside what a
// recount finds: each query answers what breaks it.
var invariants = map[string]string{
	"a content has each segment live": `SELECT c.id || ' segment ' || b.segment FROM contents c JOIN blobs b ON b.content_id = c.id
		WHERE c.body_no = 0 GROUP BY c.id, b.segment HAVING count(*) FILTER (WHERE b.state = 2) = 0`,
	"a content has a blob":                       `SELECT id FROM contents c WHERE body_no = 0 AND NOT EXISTS (SELECT 1 FROM blobs WHERE content_id = c.id AND state = 2)`,
	"an inline content has its bytes":            `SELECT id FROM contents c WHERE body_no <> 0 AND NOT EXISTS (SELECT 1 FROM bodies WHERE no = c.body_no AND length(head) + length(tail) = c.size)`,
	"an inline content has no living blob":       `SELECT c.id FROM contents c JOIN blobs b ON b.content_id = c.id AND b.state = 2 WHERE c.body_no <> 0`,
	"inline bytes are of one content":            `SELECT no::text FROM bodies b WHERE (SELECT count(*) FROM contents WHERE body_no = b.no) <> 1`,
	"no content has more references than it may": `SELECT id FROM contents WHERE refs > 3 OR refs >= 3 AND closed = 0`,
	"one content of an identity is open":         `SELECT digest FROM contents WHERE closed = 0 GROUP BY domain, kind, digest, size HAVING count(*) > 1`,
	"what is live has an owner": `SELECT id FROM blobs b WHERE state = 2 AND NOT EXISTS (SELECT 1 FROM contents WHERE id = b.content_id)
		AND NOT EXISTS (SELECT 1 FROM parts WHERE upload_id = b.upload_id AND number = b.part AND blob_id = b.id)`,
	"a part has a live blob": `SELECT upload_id || ' ' || number FROM parts p WHERE blob_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM blobs WHERE id = p.blob_id AND state = 2 AND upload_id = p.upload_id)`,
	"what is on its way to an upload has one": `SELECT id FROM blobs b WHERE state = 1 AND upload_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM uploads WHERE id = b.upload_id)`,
	"what is suspect is queued":        `SELECT id FROM blobs b WHERE state = 2 AND suspect = 1 AND content_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM placements WHERE id = b.content_id)`,
	"only what is pending is promised": `SELECT blob_id FROM promotions p WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE id = p.blob_id AND state = 1)`,
	"a small backend has no more than it may": `SELECT backend FROM blob_counters JOIN backends ON backends.id = backend WHERE quota > 0
		AND backend = 'small' GROUP BY backend, quota HAVING sum(bytes) > greatest(quota, 15)`,
	"a bucket has no more than it may": `SELECT bucket_id FROM bucket_counters GROUP BY bucket_id
		HAVING sum(n) > (SELECT CASE WHEN name = 'q' THEN 2 ELSE 1000 END FROM buckets WHERE id = bucket_id)`,
	"what is out of the index is deferred": `SELECT key FROM objects o WHERE due_at IS NULL AND (ttl_at <> 0 OR rule_at <> 0)
		AND NOT EXISTS (SELECT 1 FROM deferred WHERE bucket_id = o.bucket_id AND key = o.key)`,
}

// sound recounts, and checks the invariants.
func (w *world) sound(when string) {
	w.Helper()
	found, err := w.actors[0].db.Recount(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range found {
		w.Errorf("%s: recount: %s of %s is %s, should be %s", when, d.What, d.Name, d.Have, d.Want)
	}
	rows, err := w.direct.Query(w.ctx, brokenInvariants())
	if err != nil {
		w.Fatal(err)
	}
	var what, name string
	if _, err := pgx.ForEachRow(rows, []any{&what, &name}, func() error {
		w.Errorf("%s: it does not hold that %s: %s", when, what, name)
		return nil
	}); err != nil {
		w.Fatal(err)
	}
}

// brokenInvariants is a query of all that breaks an invariant.
var brokenInvariants = sync.OnceValue(func() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(invariants)) {
		parts = append(parts, "SELECT '"+what+"' AS what, name::text FROM ("+invariants[what]+") AS broken(name)")
	}
	return strings.Join(parts, " UNION ALL ")
})
