package memledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CountRead takes one of the reads that an object has left, and returns it with its ReadsLeft
// and TTLAt of then: ErrInvalidKey; ErrNoSuchKey unless the same version is visible and has
// one. The last read ends it.
func (db *DB) CountRead(ctx context.Context, read ledger.Object) (ledger.Object, error) {
	if err := ledger.CheckKey(read.Key); err != nil {
		return ledger.Object{}, err
	}
	if err := db.enter(ctx); err != nil {
		return ledger.Object{}, err
	}
	defer db.leave()
	var o *object
	if b := db.named(read.Bucket); b != nil && b.ID == read.BucketID {
		o = db.visible(b, read.Key)
	}
	if o == nil || o.ID != read.ID || o.ReadsLeft <= 0 {
		return ledger.Object{}, fmt.Errorf("memledger: version %s of %s/%s has no read left: %w", read.ID, read.Bucket, read.Key, lethe.ErrNoSuchKey)
	}
	if o.ReadsLeft--; o.ReadsLeft == 0 {
		db.take(o)
		o.ReadsLeft, o.TTLAt = ledger.AllRead, db.now
		db.add(o.bucket, o)
	}
	read.ReadsLeft, read.TTLAt = o.ReadsLeft, o.TTLAt
	return read, nil
}
