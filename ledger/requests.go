package ledger

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Intent asks for a pending blob: the row before the bytes (docs/protocol.md, rule 1).
type Intent struct {
	ID      lethe.ID // the blob's id, made by the caller
	Backend string
	Size    int64 // bytes to reserve on the backend; grows by Beat
	// Promotion is set only if size and digest are fixed before the upload. With it the
	// reaper can finish the write from proof (docs/protocol.md, rule 19).
	Promotion *Promotion
	// Unknown, with a promotion of one whole body, begins only if the bytes are not stored
	// already, else ErrContentKnown. It is a hint: the commit may find otherwise.
	Unknown bool
	// UploadID and Part name the part that the blob becomes, if any.
	UploadID lethe.ID
	Part     int
}

// Promotion is what a reaper needs to finish a write in the writer's place: the commit that
// the writer was about to make.
type Promotion struct {
	Commit Commit `json:"commit"`
}

// Precondition is a condition on the object under the key, checked in the transaction of the
// write or delete. The zero value always holds. ETags are without quotes; "*" matches any
// object.
type Precondition struct {
	IfMatch     string     `json:"m,omitempty"` // fails unless the object exists with one of these ETags (comma separated)
	IfNoneMatch string     `json:"n,omitempty"` // fails if the object exists with one of these ETags, or at all with "*"
	IfID        lethe.ID   `json:"i,omitempty"` // fails unless the object is exactly this version
	IfSize      *int64     `json:"s,omitempty"` // delete only
	IfModified  lethe.Time `json:"t,omitempty"` // delete only: ModifiedAt, compared in whole seconds
}

// Commit makes an object (docs/protocol.md, rule 2). Exactly one of four cases holds.
// Object.Size is 0: no content. Blobs holds the uploaded segments in order. Source names an
// object whose content is referenced. None of these: the open and sound content with the
// identity Content is referenced, else ErrContentGone.
type Commit struct {
	Op      lethe.ID     `json:"op"` // unique; recorded with the outcome; becomes Object.ID
	What    string       `json:"what"`
	Object  Object       `json:"object"` // Bucket, Key, Size, ETag, TTLAt, Attrs, Tags; the ledger sets ID, BucketID, ContentID, ModifiedAt
	Content ContentKey   `json:"content"`
	Blobs   []Uploaded   `json:"blobs,omitempty"`
	Source  *Source      `json:"source,omitempty"`
	If      Precondition `json:"if"`
	// Into, if set, is the ID of the expected bucket: ErrNoSuchBucket if another one has the
	// name.
	Into lethe.ID `json:"into,omitempty"`
	// TTL, if set, counts from the transaction's now; Object.TTLAt is absolute. If both are
	// zero the bucket's default applies. A time beyond the bucket's maximum returns
	// ErrInvalidTTL.
	TTL time.Duration `json:"ttl,omitempty"`
	// By is the caller of the write, for a reaper that finishes it; default: the context's
	// caller.
	By lethe.Caller `json:"by,omitzero"`
	// Reach, if set, names the backends that the writer can read now. Known content is
	// referenced only if all of it is there. Else it counts as lost, and the upload joins it
	// as one more copy (docs/protocol.md, rule 20). Source ignores Reach: a copy promises no
	// more than its source.
	Reach []string `json:"reach,omitempty"`
}

// Uploaded is the result of the upload of one blob.
type Uploaded struct {
	Blob   lethe.ID `json:"blob"`
	Size   int64    `json:"size"`
	Digest string   `json:"digest"` // hex SHA-256
	// CRC32C is the checksum of reads (Castagnoli); 0: not known, reads check the SHA-256.
	CRC32C uint32 `json:"crc32c,omitempty"`
	// Blocks are the sums that check a part of the blob, if it has several blocks.
	Blocks lethe.BlockSums `json:"blocks,omitzero"`
	// Late: an upload under this name had an unknown outcome and may still land.
	Late bool `json:"late,omitempty"`
}

// Source names the version of an object to copy from: ErrNoSuchKey if it is gone.
// ErrContentGone if its content cannot be referenced, being closed or of another dedup
// domain: then the bytes must be copied.
type Source struct {
	Bucket string   `json:"bucket"`
	Key    string   `json:"key"`
	ID     lethe.ID `json:"id"`
}

// Committed is the result of a Commit.
type Committed struct {
	Object    Object
	Replaced  bool // an earlier version was replaced
	Duplicate bool // the content existed; the uploaded blobs were condemned
	// Dropped lists contents that lost their last reference, for caches to drop.
	Dropped []lethe.ID
}

// Deletion deletes objects of one bucket, at most 1,000, in one transaction.
type Deletion struct {
	Op     lethe.ID
	Bucket string
	Items  []DeleteItem
}

// DeleteItem is one key to delete.
type DeleteItem struct {
	Key string
	If  Precondition
}

// Deleted is the result for one DeleteItem. An absent key is no error.
type Deleted struct {
	Key     string
	Existed bool
	ID      lethe.ID // the version deleted
	Err     error    // ErrPreconditionFailed, or nil
}

// Deletions is the result of a Deletion, in the order asked.
type Deletions struct {
	Items   []Deleted
	Dropped []lethe.ID
}

// Update changes an object in place without its content. Nil fields stay as they are.
// ModifiedAt changes only if Attrs is set. ACL replaces the one in Attrs.
type Update struct {
	Op     lethe.ID
	Bucket string
	Key    string
	If     Precondition
	Attrs  *Attrs
	ACL    *ACL
	Tags   *map[string]string
	TTL    *TTLChange
}

// TTLChange sets a new time to live: relative to the transaction's now, or absolute, or none
// if both are zero. The bucket's maximum applies.
type TTLChange struct {
	TTL time.Duration
	At  lethe.Time
}

// ListQuery asks for a page of a bucket's visible objects in byte order.
type ListQuery struct {
	Bucket    string
	Prefix    string
	Delimiter string
	After     string // exclusive; may be a common prefix of an earlier page
	Limit     int    // keys and common prefixes together; <= 1000
}

// ListPage is a page of a listing. Its objects have Attrs.Listed only, without what may be
// long.
type ListPage struct {
	Objects  []Object
	Prefixes []string
	More     bool
	Next     string // pass as After for the next page; empty when More is false
}

// BucketQuery asks for buckets by name.
type BucketQuery struct {
	Owner  string // empty: all
	Prefix string
	After  string
	Limit  int
}

// PartCommit makes an uploaded blob a part of its upload (pending to live). It replaces the
// part of the same number.
type PartCommit struct {
	Op   lethe.ID
	Part Part
	Late bool
	// CRC32C and Blocks are those of the part's bytes, as in Uploaded.
	CRC32C uint32
	Blocks lethe.BlockSums
}

// Completion makes an object of exactly the named parts of an upload, in ascending order,
// without copying bytes. The other parts are condemned.
type Completion struct {
	Op       lethe.ID
	UploadID lethe.ID
	Bucket   string
	Key      string
	Parts    []PartName
	MinPart  int64  // smallest size of every part but the last
	Commit   Commit // Object.ETag, Attrs, If; the rest comes from the upload
}

// PartName identifies a part as the client does.
type PartName struct {
	Number int
	ETag   string
}

// UploadQuery asks for open uploads of a bucket, ordered by key, then id.
type UploadQuery struct {
	Bucket      string
	Prefix      string
	AfterKey    string
	AfterUpload lethe.ID
	Limit       int
}

// Batch bounds one step of a routine.
type Batch struct {
	Limit    int        // rows
	MaxBlobs int        // blobs condemned; a single object may exceed it
	After    lethe.Time // resume: only rows due at or after this instant
	// Only, unless nil, names the rows that may be taken, each once, if they are due. After
	// is ignored then.
	Only   []Named
	Limits Limits // limits on deletions
	// Turns, if set, replaces After: each bucket gets its share of the limit, in this order.
	// What a bucket leaves goes to those after it. Only Expire supports it.
	Turns []Turn
}

// Reclaimed is the result of one step of Expire or Purge.
type Reclaimed struct {
	Objects   int
	Bytes     int64 // logical
	Blobs     int   // condemned
	BlobBytes int64
	Dropped   []lethe.ID // contents without references, for caches to drop
	// Rules counts the objects that lifecycle rules ended, by bucket and rule.
	Rules []RuleLoss
	// Restamped counts objects that were due by a rule that is no longer in force. They
	// stay, and the current rules are applied to them.
	Restamped int
	// Parked counts rows that were due and are deferred: held, or beyond a limit.
	Parked int
	// Stopped are the guards whose limit tripped in this step.
	Stopped []Guard
	LastDue lethe.Time // due time of the last row: the next batch's After; with Turns: the batch's own After
	More    bool       // more is due now; with Turns: in the buckets asked for
	Taken   []Named    // the rows taken, if Batch.Only was set
}

// ByRules returns how many objects lifecycle rules ended.
func (r Reclaimed) ByRules() (n int) {
	for _, l := range r.Rules {
		n += l.Objects
	}
	return n
}

// RuleLoss counts what one lifecycle rule ended in a bucket.
type RuleLoss struct {
	Bucket  string
	Rule    string // lifecycle.Rule.ID
	Objects int
	Bytes   int64
}

// CountRule counts one object that a rule ended.
func (r *Reclaimed) CountRule(bucket, rule string, size int64) {
	i := slices.IndexFunc(r.Rules, func(l RuleLoss) bool { return l.Bucket == bucket && l.Rule == rule })
	if i < 0 {
		i, r.Rules = len(r.Rules), append(r.Rules, RuleLoss{Bucket: bucket, Rule: rule})
	}
	r.Rules[i].Objects++
	r.Rules[i].Bytes += size
}

// SortRules sorts the counts by bucket and rule.
func (r *Reclaimed) SortRules() {
	slices.SortFunc(r.Rules, func(a, b RuleLoss) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Rule, b.Rule))
	})
}

// Backlog is how much a routine would do now: the plan of a dry run.
type Backlog struct {
	Count     int64
	Bytes     int64
	Oldest    lethe.Time // earliest due time; 0 if nothing is due
	NextDue   lethe.Time // earliest due time in the future; 0 if none
	Scheduled int64      // not yet due; counted up to MaxScheduled
	// Held are open uploads that are overdue but held. Other rows leave their queue while
	// they are held.
	Held, HeldBytes int64
}

// MaxScheduled is the most that Backlog.Scheduled counts. Every live object may be
// scheduled, and the count must stay cheap.
const MaxScheduled = 100_000

// ClaimRequest claims due rows of one backend for a worker.
type ClaimRequest struct {
	Worker  string
	Backend string
	Limit   int
	After   lethe.Time    // condemned: resume from this due time
	Turns   []Turn        // condemned: these buckets instead of After, as in Batch
	MinAge  time.Duration // pending: heartbeat older than this
	// Only, unless nil, names the rows that may be claimed, if they are due.
	Only []lethe.ID
	// Deletes limits the deletes of condemned blobs.
	Deletes Limit
}

// Claimed is a claimed batch: all rows carry the fence.
type Claimed struct {
	Fence   int64
	Blobs   []Blob
	LastDue lethe.Time // with Turns: the request's After
	Now     lethe.Time
	// Stopped is the guard whose limit tripped in this claim; nil if none did.
	Stopped *Guard
}

// ClaimedIntent is a pending blob claimed by the reaper. Promotion is nil if the write
// cannot be proven or was superseded.
type ClaimedIntent struct {
	Blob      Blob
	Promotion *Promotion
}

// ClaimedIntents is a batch of intents: all rows carry the fence.
type ClaimedIntents struct {
	Fence   int64
	Intents []ClaimedIntent
	Now     lethe.Time
}

// Result is the result of the physical delete of a claimed blob.
type Result int

// The results of a physical delete.
const (
	Gone   Result = iota + 1 // deleted, confirmed
	Absent                   // was not there, confirmed
	Failed                   // failed or unknown: retry at RetryAt, or dead letter
	Waits                    // backend is down: release the claim, count no attempt, due at RetryAt
)

// SettleItem is the result for one blob.
type SettleItem struct {
	ID      lethe.ID
	Result  Result
	Error   string
	RetryAt lethe.Time // Failed and Waits
	Dead    bool       // Failed: no attempts left, becomes a dead letter
}

// Settlement records the results of a claimed batch. Rows that carry another fence by now
// are left alone and counted as Fenced.
type Settlement struct {
	Fence int64
	Items []SettleItem
}

// Settled is the result of a Settlement.
type Settled struct {
	Gone      int // rows removed, bytes confirmed gone or absent
	GoneBytes int64
	Kept      int // deleted once, kept until the late window ends
	Retried   int
	Dead      int
	Fenced    int
	// DiedAt has one entry for each removed row: when its last reference went.
	DiedAt []lethe.Time
	Now    lethe.Time
}

// Recovered counts stale claims that were released, by backend and state.
type Recovered struct {
	Backend string
	State   lethe.State
	Claims  int64
}

// DeadQuery selects dead letters that match every field set, oldest first.
type DeadQuery struct {
	Backend string
	Reason  lethe.Reason
	Bucket  string     // name of the bucket of the last reference
	DiedBy  lethe.Time // died at this instant or before; 0: any
	MinSize int64      // bytes
	Error   string     // substring of the last error, case-sensitive
	After   lethe.ID
	Limit   int
}

// DeadLetter is a blob that has no attempts to delete it left.
type DeadLetter struct {
	Blob
	BucketID lethe.ID // of the last reference; empty: not known
	Bucket   string   // its name; empty: not known, or deleted
}

// BlobQuery pages through all blobs in id order (which is not key order).
type BlobQuery struct {
	Backend string
	States  []lethe.State // empty: all
	After   lethe.ID
	Limit   int
}

// TrashQuery pages through the trash in id order.
type TrashQuery struct {
	Bucket string
	Prefix string
	After  lethe.ID
	Limit  int
}

// Discrepancy is an inconsistency in the ledger; there should never be one.
type Discrepancy struct {
	What string // for example "refs", "counter", "state", "orphan row"
	Name string // the row concerned
	Want string
	Have string
}

// Sharer is an object or a trash entry that shares a content, for explain.
type Sharer struct {
	Bucket string
	Key    string
	Trash  bool
	ID     lethe.ID // of the object's version, or of the trash entry
}

// SharerQuery pages through what refers to a content.
type SharerQuery struct {
	Content lethe.ID
	After   Sharer // only Trash and ID count; zero value: from the beginning
	Limit   int
}

// Options are the ledger's limits and grace periods. The zero value takes the
// defaults.
type Options struct {
	// Clock replaces the clock in tests. Default: the machine's for a SQLite file, the
	// database's for PostgreSQL.
	Clock lethe.Clock
	// Random is the source of the ids of buckets, uploads, contents and trash entries
	// (default: the system's). A transaction draws ids in the order in which it writes the
	// rows.
	Random io.Reader
	// MaxRefs closes a content at this number of references (default 100,000).
	MaxRefs int64
	// ReadGrace is how long blobs that were live are kept after they were condemned, so that
	// readers can finish (docs/protocol.md, rule 18; default lethe.DefaultReadGrace).
	ReadGrace time.Duration
	// LateWindow is the longest time in which an upload whose caller has given up may still
	// land (docs/protocol.md, rule 9).
	LateWindow time.Duration
	// Boot is a clock that cannot be set. With it the ledger detects that its clock was set
	// forward by more than ClockJump (DB.ClockAhead); nil: it does not. BootID names the
	// machine start from which Boot counts (lethe.BootID). If it is empty, a jump while no
	// process ran is not detected.
	Boot      lethe.Clock
	BootID    string
	ClockJump time.Duration
	// OpsKept is how long outcomes of operations are kept (default 24 h).
	OpsKept time.Duration
	// TrustWindow is how long a copy is trusted after it was read or written whole (default
	// 24 h; negative: not at all).
	TrustWindow time.Duration
	// Replicas is how many copies of each content placement keeps (default 1). With more
	// than one, new contents are queued for placement.
	Replicas int
	// NoReceipts turns the receipts of deletions off.
	NoReceipts bool
}
