package sqlledger

import (
	"context"
	"hash/maphash"
	"strings"
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
	// last has a part of the hash of the name that was read last, of all names that have another
	// part of their hashes in common.
	last  [1 << 14]atomic.Uint32
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

// keep keeps an object that was resolved again, if the ledger has not changed since. Bytes that
// were read wrongly are read anew.
func (db *DB) keep(since int64, r ledger.Resolved) {
	if since == unsettled || !db.resolved.again(r.Object.Bucket, r.Object.Key) {
		return
	}
	if now, _ := db.engine.File.Changes(); now != since || r.Inline.Inline() && r.Inline.Check(r.Object.Size) != nil {
		return
	}
	db.resolved.put(since, r)
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
	return k.last[sum%uint64(len(k.last))].Swap(uint32(sum>>32)) == uint32(sum>>32)
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
func (k *keptObjects) put(since int64, r ledger.Resolved) {
	r.Object = r.Object.Clone()
	r.Object.Bucket = strings.Clone(r.Object.Bucket) // the caller's may be a part of its buffer
	size := sizeOf(r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since > since {
		return
	}
	if k.since < since || k.by == nil || k.bytes+size > keptBytes {
		k.since, k.bytes, k.by = since, 0, map[objectName]*ledger.Resolved{}
	}
	k.bytes += size
	k.by[objectName{r.Object.Bucket, r.Object.Key}] = &r
}

// sizeOf returns about how much memory a resolved object takes, with its place in a map.
func sizeOf(r ledger.Resolved) int64 {
	const object, blob, part, grant, entry = 1500, 300, 300, 200, 50
	a := r.Object.Attrs
	size := object + len(r.Object.Bucket) + len(r.Object.Key) + len(r.Object.ETag) + len(r.Inline.Bytes) + part*len(a.Parts)
	for _, text := range []string{a.ContentType, a.ContentEncoding, a.ContentDisposition, a.ContentLanguage, a.CacheControl, a.Expires, a.Redirect} {
		size += len(text)
	}
	for _, m := range []map[string]string{a.User, a.Checksums, r.Object.Tags} {
		for name, value := range m {
			size += entry + len(name) + len(value)
		}
	}
	if a.ACL != nil {
		size += grant * (1 + len(a.ACL.Grants))
	}
	for _, s := range r.Segments {
		size += blob*len(s.Blobs) + 4*len(s.Blocks.Sums)
	}
	return int64(size)
}
