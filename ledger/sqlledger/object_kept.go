package sqlledger

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/lethe-storage/lethe/ledger"
)

// keptBytes is about how much memory resolved objects take that are kept.
const keptBytes = 32 << 20

// keptObjects are objects as they were resolved since a SQLite ledger last changed. Any COMMIT
// ends them all, so that no write has to know what a read depends on. They serve those who
// read much more often than is written: a get then takes no statement. What is read once is not
// kept.
type keptObjects struct {
	read  [1 << 14]atomic.Uint32 // parts of the hashes of names that were read, by others
	mu    sync.RWMutex
	since int64 // File.Changes when they were resolved
	bytes int64
	by    map[objectName]*ledger.Resolved
}

type objectName struct{ bucket, key string }

// kept returns an object if it was resolved since the ledger last changed and has not ended,
// and the number of changes by which keep takes what is resolved now.
func (db *DB) kept(ctx context.Context, bucket, key string) (out ledger.Resolved, since int64, found bool) {
	if db.engine.File == nil || db.snapshotOf(ctx) != nil || ctx.Err() != nil {
		return out, unsettled, false
	}
	since, settled := db.engine.File.Changes()
	if !settled {
		return out, unsettled, false
	}
	have := db.resolved.get(since, objectName{bucket, key})
	if have == nil {
		return out, since, false
	}
	now := db.engine.File.Now()
	if !have.Object.VisibleAt(now) {
		return out, since, false
	}
	out = *have
	out.Object, out.Now = out.Object.Clone(), now // a caller may change what it gets
	return out, since, true
}

// unsettled is no number of changes by which something is kept.
const unsettled = -1

// keep keeps an object that was resolved again, if the ledger has not changed since.
func (db *DB) keep(since int64, key string, r ledger.Resolved) {
	if since == unsettled {
		return
	}
	if now, _ := db.engine.File.Changes(); now != since || !db.resolved.again(r.Object.Bucket, key) {
		return
	}
	db.resolved.put(since, key, r)
}

// readSeed is of the hashes of names.
var readSeed = maphash.MakeSeed()

// again reports whether a name was read before, as far as is known, and notes that it was.
func (k *keptObjects) again(bucket, key string) bool {
	var h maphash.Hash
	h.SetSeed(readSeed)
	h.WriteString(bucket)
	h.WriteByte('/')
	h.WriteString(key)
	sum := h.Sum64()
	return k.read[sum%uint64(len(k.read))].Swap(uint32(sum>>32)) == uint32(sum>>32)
}

func (k *keptObjects) get(since int64, name objectName) *ledger.Resolved {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.since != since {
		return nil
	}
	return k.by[name]
}

// put starts anew after a change, and when what is kept has grown too large.
func (k *keptObjects) put(since int64, key string, r ledger.Resolved) {
	r.Object = r.Object.Clone()
	size := sizeOf(key, r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since > since {
		return
	}
	if k.since < since || k.by == nil || k.bytes+size > keptBytes {
		k.since, k.bytes, k.by = since, 0, map[objectName]*ledger.Resolved{}
	}
	k.bytes += size
	k.by[objectName{r.Object.Bucket, key}] = &r
}

// sizeOf returns about how much memory a resolved object takes, with its place in a map.
func sizeOf(key string, r ledger.Resolved) int64 {
	const object, blob, part, list = 1500, 300, 200, 4000
	size := object + len(key) + len(r.Inline.Bytes) + part*len(r.Object.Attrs.Parts)
	for name, value := range r.Object.Attrs.User {
		size += len(name) + len(value)
	}
	if r.Object.Attrs.ACL != nil {
		size += list
	}
	for _, s := range r.Segments {
		size += blob*len(s.Blobs) + 4*len(s.Blocks.Sums)
	}
	return int64(size)
}
