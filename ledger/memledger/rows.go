package memledger

import (
	"cmp"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// backend is a backend with its counters and its queue.
type backend struct {
	ledger.Backend
	totals [lethe.Dead + 1]ledger.Total // by state
	due    table[*blob]                 // condemned, unclaimed, by due time
	// trustedSince is when it was last in doubt: older copies are not trusted.
	trustedSince lethe.Time
}

// free returns the room left; ok is false if there is no quota.
func (b *backend) free() (n int64, limited bool) {
	n = b.Quota
	for _, t := range b.totals {
		n -= t.Bytes
	}
	return n, b.Quota > 0
}

// bucket is a bucket with its rows. Its name is empty once it was deleted.
type bucket struct {
	ledger.Bucket
	objects   table[*object] // by key
	byKey     map[string]*object
	uploads   table[*upload] // by key, then id
	documents map[string][]byte
	holds     []hold
	was       string               // the name before it was deleted
	usages    []ledger.UsageRecord // by time
	kept      ledger.UseMark       // up to here in the order of eviction a hold keeps everything
	ruled
}

// object is an object row.
type object struct {
	ledger.Object
	bucket   *bucket
	content  *content
	deferred bool // due and held: not in the due index
}

// visible reports whether readers see the object at the instant now.
func (o *object) visible(now lethe.Time) bool { return o != nil && o.VisibleAt(now) }

// content is a content row.
type content struct {
	ledger.Content
	body  ledger.Body // of an inline content
	tally int64       // scratch of Recount
}

// blob is a row of the ledger. It changes by DB.set only.
type blob struct {
	ledger.Blob
	backend *backend
	bucket  lethe.ID // condemned: of the last reference; empty: not known
	sums    []uint32 // of its blocks
}

// entry is a row of the trash.
type entry struct {
	ledger.TrashEntry
	content *content
}

// upload is an open upload with its parts by number.
type upload struct {
	ledger.Upload
	bucket  *bucket
	parts   table[*ledger.Part]
	intents table[*blob] // pending part intents
}

// promotion is the row of an intent that may still be finished by proof.
type promotion struct {
	commit ledger.Commit
	bucket *bucket
	blob   *blob
}

func backendsByID(a, b *backend) int      { return strings.Compare(a.ID, b.ID) }
func bucketsByID(a, b *bucket) int        { return compareIDs(a.ID, b.ID) }
func bucketsByName(a, b *bucket) int      { return strings.Compare(a.Name, b.Name) }
func contentsByID(a, b *content) int      { return compareIDs(a.ID, b.ID) }
func blobsByID(a, b *blob) int            { return compareIDs(a.ID, b.ID) }
func entriesByID(a, b *entry) int         { return compareIDs(a.ID, b.ID) }
func runsByID(a, b *ledger.Run) int       { return compareIDs(a.ID, b.ID) }
func objectsByKey(a, b *object) int       { return strings.Compare(a.Key, b.Key) }
func partsByNumber(a, b *ledger.Part) int { return cmp.Compare(a.Number, b.Number) }
func compareIDs(a, b lethe.ID) int        { return strings.Compare(string(a), string(b)) }
func outcomesByAt(a, b *ledger.Outcome) int {
	return cmp.Or(cmp.Compare(a.At, b.At), compareIDs(a.Op, b.Op))
}

func blobsByBeat(a, b *blob) int {
	return cmp.Or(cmp.Compare(a.BeatAt, b.BeatAt), cmp.Compare(a.Size, b.Size), compareIDs(a.ID, b.ID))
}

func blobsByFence(a, b *blob) int {
	return cmp.Or(cmp.Compare(a.Claim.Fence, b.Claim.Fence), compareIDs(a.ID, b.ID))
}

func blobsByDue(a, b *blob) int {
	return cmp.Or(cmp.Compare(a.DueAt, b.DueAt), cmp.Compare(a.Size, b.Size), compareIDs(a.ID, b.ID))
}

func blobsBySegment(a, b *blob) int {
	return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Replica, b.Replica), compareIDs(a.ID, b.ID))
}

func objectsByDue(a, b *object) int {
	return cmp.Or(cmp.Compare(a.DueAt(), b.DueAt()), cmp.Compare(a.Size, b.Size),
		compareIDs(a.BucketID, b.BucketID), strings.Compare(a.Key, b.Key))
}

func entriesByPurge(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.PurgeAt, b.PurgeAt), cmp.Compare(a.Object.Size, b.Object.Size), compareIDs(a.ID, b.ID))
}

func uploadsByTouch(a, b *upload) int {
	return cmp.Or(cmp.Compare(a.TouchedAt, b.TouchedAt), compareIDs(a.ID, b.ID))
}

func uploadsByKey(a, b *upload) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), compareIDs(a.ID, b.ID))
}

// Values that a caller passes or gets must not be shared with the rows.

func cloneUpload(u ledger.Upload) ledger.Upload {
	u.Attrs, u.Tags = u.Attrs.Clone(), ledger.CloneMap(u.Tags)
	return u
}

func clonePart(p ledger.Part) ledger.Part {
	p.Checksums = ledger.CloneMap(p.Checksums)
	return p
}
