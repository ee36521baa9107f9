package ledger

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Intent asks for a pending blob: the row before the byte (docs/protocol.md, rule 1).
type Intent struct {
	ID      lethe.ID // the blob's id, made by the caller
	Backend string
	Size    int64 // bytes to reserve on the backend; grows by Beat
	// Promotion is set only if size and digest are fixed before the upload; it
	// lets the reaper finish the write from proof (docs/protocol.md, rule 19).
	Promotion *Promotion
	// Unknown, with a promotion of one whole body: only if the bytes are not there
	// already, to be referenced without them; else ErrContentKnown. It is a hint:
	// the commit may find otherwise.
	Unknown bool
	// UploadID and Part name the part that the blob will be, if any.
	UploadID lethe.ID
	Part     int
}

// Promotion is what a reaper needs to finish a write in the writer's place: the
// very commit that the writer was about to make.
type Promotion struct {
	Commit Commit `json:"commit"`
}

// Precondition guards a write or delete by what lies under the key at the moment
// of the transaction. The zero value always holds. ETags are without quotes; "*"
// matches any object.
type Precondition struct {
	IfMatch     string     `json:"m,omitempty"` // fails unless the object exists with one of these ETags (comma separated)
	IfNoneMatch string     `json:"n,omitempty"` // fails if the object exists with one of these ETags, or at all with "*"
	IfID        lethe.ID   `json:"i,omitempty"` // fails unless exactly this version lies there
	IfSize      *int64     `json:"s,omitempty"` // delete only
	IfModified  lethe.Time `json:"t,omitempty"` // delete only: ModifiedAt, compared in whole seconds
}

// Commit makes an object: rule 2, one transaction. Exactly one of these holds:
// Object.Size is 0 (no content); Blobs holds the uploaded segments in order;
// Source names an object whose content is referenced; or neither, and the open
// and sound content of identity Content is referenced (else ErrContentGone).
type Commit struct {
	Op      lethe.ID     `json:"op"` // unique; recorded with the outcome; becomes Object.ID
	What    string       `json:"what"`
	Object  Object       `json:"object"` // Bucket, Key, Size, ETag, TTLAt, Attrs, Tags; the ledger sets ID, BucketID, ContentID, ModifiedAt
	Content ContentKey   `json:"content"`
	Blobs   []Uploaded   `json:"blobs,omitempty"`
	Source  *Source      `json:"source,omitempty"`
	If      Precondition `json:"if"`
	// Into, if set, is the ID of the bucket that was meant: ErrNoSuchBucket if another
	// one has the name by now.
	Into lethe.ID `json:"into,omitempty"`
	// TTL, if set, is counted from the transaction's now; Object.TTLAt is
	// absolute. The bucket's default applies when both are zero, its maximum
	// always: a longer wish is refused with ErrInvalidTTL.
	TTL time.Duration `json:"ttl,omitempty"`
	// By is on whose behalf, for who finishes the write in its place; the context's
	// caller otherwise.
	By lethe.Caller `json:"by,omitzero"`
	// Reach, if set, names the backends that the writer can read now: known content
	// is referenced only if all of it lies there; elsewhere it is as good as lost, and
	// what was uploaded joins it as one more copy (docs/protocol.md, rule 20). Copies of objects
	// (Source) do not look at it: they promise no bytes that their source has not.
	Reach []string `json:"reach,omitempty"`
}

// Uploaded says how the upload of a blob ended.
type Uploaded struct {
	Blob   lethe.ID `json:"blob"`
	Size   int64    `json:"size"`
	Digest string   `json:"digest"` // hex SHA-256
	// CRC32C is what reads are checked by (Castagnoli); 0: not known, by the SHA-256.
	CRC32C uint32 `json:"crc32c,omitempty"`
	// Blocks are the sums by which a part of it is checked, if it has several blocks.
	Blocks lethe.BlockSums `json:"blocks,omitzero"`
	// Late: some upload under this name had an unknown outcome and may land late.
	Late bool `json:"late,omitempty"`
}

// Source names the version of an object to copy from. The commit fails with
// ErrNoSuchKey if that version is gone, and with ErrContentGone if its content
// cannot be referenced (closed, or of another dedup domain): then the bytes have
// to be copied.
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
	// Dropped lists contents that lost their last reference: cache entries to drop.
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

// Deleted says what became of one DeleteItem. An absent key is no error.
type Deleted struct {
	Key     string
	Existed bool
	ID      lethe.ID // the version that was deleted
	Err     error    // ErrPreconditionFailed, or nil
}

// Deletions is the result of a Deletion, in the order asked.
type Deletions struct {
	Items   []Deleted
	Dropped []lethe.ID
}

// Update changes an object in place without touching its content. Nil fields
// stay as they are. ModifiedAt changes only if Attrs is set. ACL takes the place of
// the one in Attrs.
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

// TTLChange sets a new time to live: relative to the transaction's now, or
// absolute, or none if both are zero. The bucket's maximum applies.
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

// ListPage is a page of a listing. Its objects are told without what may be long of each
// (Attrs.Listed).
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

// PartCommit makes an uploaded blob a part of its upload (pending to live),
// replacing the part of the same number.
type PartCommit struct {
	Op   lethe.ID
	Part Part
	Late bool
	// CRC32C and Blocks are of the part's bytes, as of Uploaded.
	CRC32C uint32
	Blocks lethe.BlockSums
}

// Completion makes an object of an upload's parts: it takes exactly the parts
// named (in ascending order), composes them without copying, and condemns the
// others.
type Completion struct {
	Op       lethe.ID
	UploadID lethe.ID
	Bucket   string
	Key      string
	Parts    []PartName
	MinPart  int64  // smallest size of every part but the last
	Commit   Commit // Object.ETag, Attrs, If; the rest comes from the upload
}

// PartName names a part as the client sees it.
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
	MaxBlobs int        // blobs condemned; a single object's may exceed it
	After    lethe.Time // resume: only rows due at or after this instant
	// Only, unless nil, are the rows that may be taken, each once, of those that are
	// due; After is of no matter then.
	Only   []Named
	Limits Limits // beyond which nothing goes
	// Turns, if there are any, take the place of After: of each bucket its share of
	// the limit, in this order, what one leaves going to those after it. Expire alone
	// knows them.
	Turns []Turn
}

// Reclaimed is what one step of expire or purge did.
type Reclaimed struct {
	Objects   int
	Bytes     int64 // logical
	Blobs     int   // condemned
	BlobBytes int64
	Dropped   []lethe.ID // contents without references: cache entries to drop
	// Rules says which lifecycle rules ended how many of the objects, by bucket and
	// rule.
	Rules []RuleLoss
	// Restamped counts objects that were due by a rule that is not in force any
	// more: they stay, with the stamp of the rules of now.
	Restamped int
	// Parked counts rows that were due and stay: held, or beyond a limit.
	Parked int
	// Stopped are the guards that stopped something just now.
	Stopped []Guard
	LastDue lethe.Time // due time of the last row: the next batch's After; by turns: its own
	More    bool       // more is due now; by turns: of what was found
	Taken   []Named    // the rows that went, if Batch.Only named them
}

// ByRules counts the objects that lifecycle rules ended.
func (r Reclaimed) ByRules() (n int) {
	for _, l := range r.Rules {
		n += l.Objects
	}
	return n
}

// RuleLoss is what a lifecycle rule ended.
type RuleLoss struct {
	Bucket  string
	Rule    string // lifecycle.Rule.ID
	Objects int
	Bytes   int64
}

// byRule counts an object that a rule ended.
func (r *Reclaimed) CountRule(bucket, rule string, size int64) {
	i := slices.IndexFunc(r.Rules, func(l RuleLoss) bool { return l.Bucket == bucket && l.Rule == rule })
	if i < 0 {
		i, r.Rules = len(r.Rules), append(r.Rules, RuleLoss{Bucket: bucket, Rule: rule})
	}
	r.Rules[i].Objects++
	r.Rules[i].Bytes += size
}

// SortRules brings what rules ended into the order of buckets and rules.
func (r *Reclaimed) SortRules() {
	slices.SortFunc(r.Rules, func(a, b RuleLoss) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Rule, b.Rule))
	})
}

// Backlog says what a routine would find to do now: the plan of a dry run.
type Backlog struct {
	Count     int64
	Bytes     int64
	Oldest    lethe.Time // earliest due time; 0 if nothing is due
	NextDue   lethe.Time // earliest due time in the future; 0 if none
	Scheduled int64      // waiting, not yet due; counted up to MaxScheduled
	// Held are open uploads that would be due and that holds keep; other rows leave
	// their queue while they are held.
	Held, HeldBytes int64
}

// MaxScheduled is the most that Backlog.Scheduled counts: what is not due yet may
// be everything that lives, and asking must stay cheap.
const MaxScheduled = 100_000

// ClaimRequest stamps due rows of one backend for a worker.
type ClaimRequest struct {
	Worker  string
	Backend string
	Limit   int
	After   lethe.Time    // condemned: resume from this due time
	Turns   []Turn        // condemned: of these buckets instead, as of a Batch
	MinAge  time.Duration // pending: heartbeat older than this
	// Only, unless nil, are the rows that may be claimed, of those that are due.
	Only []lethe.ID
	// Deletes bounds what is handed out of condemned blobs.
	Deletes Limit
}

// Claimed is a claimed batch: all rows carry the fence.
type Claimed struct {
	Fence   int64
	Blobs   []Blob
	LastDue lethe.Time // by turns: the request's After
	Now     lethe.Time
	// Stopped is the guard that stopped the claim just now, nil if none did.
	Stopped *Guard
}

// ClaimedIntent is a pending blob claimed by the reaper. Promotion is nil if the
// write cannot be proven or was superseded.
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

// Result says how the physical delete of a claimed blob ended.
type Result int

// The results of a physical delete.
const (
	Gone   Result = iota + 1 // deleted, confirmed
	Absent                   // was not there, confirmed
	Failed                   // failed or unknown: retry at RetryAt, or dead letter
	Waits                    // backend is down: unclaim, burn no attempt, due at RetryAt
)

// SettleItem is the result for one blob.
type SettleItem struct {
	ID      lethe.ID
	Result  Result
	Error   string
	RetryAt lethe.Time // Failed and Waits
	Dead    bool       // Failed: attempts used up, to the dead letters
}

// Settlement records the results of a claimed batch. Items whose fence is no
// longer the row's are left alone and counted as Fenced.
type Settlement struct {
	Fence int64
	Items []SettleItem
}

// Settled is the result of a Settlement.
type Settled struct {
	Gone      int // rows removed, bytes confirmed gone or absent
	GoneBytes int64
	Kept      int // deleted once, kept for the late window
	Retried   int
	Dead      int
	Fenced    int
	// DiedAt holds for each removed row when its last reference went.
	DiedAt []lethe.Time
	Now    lethe.Time
}

// Recovered counts stale claims that were taken back.
type Recovered struct {
	Backend string
	State   lethe.State
	Claims  int64
}

// DeadQuery chooses dead letters that meet all that is set, oldest first.
type DeadQuery struct {
	Backend string
	Reason  lethe.Reason
	Bucket  string     // name of the bucket of the last reference
	DiedBy  lethe.Time // enqueued then or before; 0: whenever
	MinSize int64      // bytes
	Error   string     // occurs in the last error, upper and lower case apart
	After   lethe.ID
	Limit   int
}

// DeadLetter is a blob whose deletion was given up.
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

// Discrepancy is something the books got wrong; there should never be one.
type Discrepancy struct {
	What string // e.g. "refs", "counter", "state", "orphan row"
	Name string // the row concerned
	Want string
	Have string
}

// Sharer is an object that shares a content, for explain.
type Sharer struct {
	Bucket string
	Key    string
	Trash  bool
	ID     lethe.ID // of the object's version, or of the trash entry
}

// SharerQuery asks for what refers to a content, after one of it.
type SharerQuery struct {
	Content lethe.ID
	After   Sharer // only Trash and ID count; zero: from the beginning
	Limit   int
}

// Options are the ledger's limits and grace periods. The zero value takes the
// defaults.
type Options struct {
	// Clock tells the time in tests. Default: the machine's for a ledger in a file,
	// the database's for one in PostgreSQL.
	Clock lethe.Clock
	// Random is the source of the ids that the ledger makes: of buckets, uploads,
	// contents and trash entries (default: the system's). A transaction draws
	// them in the order in which it writes the rows.
	Random io.Reader
	// MaxRefs closes a content at this number of references (default 100,000).
	MaxRefs int64
	// ReadGrace keeps blobs that were live from being deleted for so long after
	// they were condemned, so that readers can finish (docs/protocol.md, rule 18).
	ReadGrace time.Duration
	// LateWindow is the longest time that an upload whose caller has given up may
	// still take to land (docs/protocol.md, rule 9).
	LateWindow time.Duration
	// Boot is a clock that nobody sets, by which a clock that is set forward by more
	// than ClockJump is noticed (DB.ClockAhead); nil: it is not. BootID names the start
	// of the machine from which Boot counts (lethe.BootID); empty: a jump while no
	// process ran is not noticed.
	Boot      lethe.Clock
	BootID    string
	ClockJump time.Duration
	// OpsKept is how long operation outcomes can be looked up (default 24 h).
	OpsKept time.Duration
	// TrustWindow is how long a copy that was read or written whole is trusted (default 24 h; < 0: not at all).
	TrustWindow time.Duration
	// Replicas is how many copies of each content placement keeps (default 1). New
	// contents are queued for it if that is more than one.
	Replicas int
	// NoReceipts writes no receipts of what goes.
	NoReceipts bool
}
