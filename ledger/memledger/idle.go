package memledger

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
)

// NoteReads notes reads, of each version at most one, and returns how many objects it changed.
// An end by idleness moves forward only, by more than a tenth of the idle time, for a read that
// was before it. A version that is gone is not changed, nor the one in its place.
func (db *DB) NoteReads(ctx context.Context, reads []ledger.Read, _ bool) (noted int, err error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	for _, r := range reads {
		o := db.version(ledger.Named{Bucket: r.Bucket, Key: r.Key, ID: r.ID})
		if o == nil {
			continue
		}
		next := o.Object
		if next.Note(o.bucket.Evict, min(r.At, db.now)) {
			db.take(o)
			o.Object = next
			db.add(o.bucket, o)
			noted++
		}
	}
	return noted, nil
}
