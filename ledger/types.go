package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Store identifies a ledger and the epoch of its pairing with the backends.
type Store struct {
	ID        lethe.ID // begins every blob's name; never changes
	DB        lethe.ID // this database; new after a restore
	Life      string   // which run of which PostgreSQL server; empty: SQLite
	CreatedAt lethe.Time
}

// Backend is a place that holds bytes, as recorded in the ledger.
type Backend struct {
	ID         string     // the operator's name for it
	Quota      int64      // bytes; 0 means no quota
	Epoch      int64      // last epoch confirmed on the backend (docs/protocol.md, rule 13)
	Intended   int64      // epoch about to be written there; >= Epoch
	Accepted   int64      // epoch under which a person last paired it with this ledger; 0: never
	AcceptedAt lethe.Time // when that was
	Held       string     // why deletes on it are held, for people; empty: they are not
	HeldFor    HeldFor
	HeldSince  lethe.Time // since when; another reason does not change it; 0: they are not held
	Draining   bool       // it is being emptied: it gets no new writes
	CreatedAt  lethe.Time
}

// HeldFor is the kind of a hold on the deletes of a backend; empty: no hold.
type HeldFor string

// The kinds of such holds.
const (
	HeldByPerson   HeldFor = "person"  // a person holds them
	HeldForLedger  HeldFor = "ledger"  // the ledger may not be the one paired with the backend
	HeldForBackend HeldFor = "backend" // the backend's state is older than the ledger, or unreadable
	HeldForAbsence HeldFor = "absence" // the backend has no epoch; ends once it has one again
)

// BackendHold is why the deletes on a backend are held; the zero value: they are not.
type BackendHold struct {
	For    HeldFor
	Reason string
}

// BucketSettings are the settings of a bucket that an operator may change. Durations are
// kept in microseconds. Zero means none, or the store's default.
type BucketSettings struct {
	DefaultTTL   time.Duration // for objects without one
	MaxTTL       time.Duration // longest life of an object; 0: unlimited
	DefaultIdle  time.Duration // idle time of objects without one
	MaxIdle      time.Duration // longest idle time of an object; 0: unlimited
	QuotaBytes   int64         // logical bytes; 0: unlimited
	QuotaObjects int64         // objects; 0: unlimited
	Undo         time.Duration // how long deleted and replaced objects stay in the trash
	Evict        Eviction      // when the quota is used up
}

// Bucket is a client's container of objects.
type Bucket struct {
	ID        lethe.ID
	Name      string
	Owner     string // access key that owns it
	Domain    string // dedup domain; default: the owner
	Region    string
	CreatedAt lethe.Time
	BucketSettings
	// Objects and Bytes are the exact logical totals of rows in objects. They include due
	// objects until those are reclaimed, and exclude the trash.
	Objects, Bytes int64
	// Holds is the number of holds in the bucket (Hold).
	Holds int64
	// Notify holds the notification rules, encoded (notification.Rules.Encode).
	Notify string
	// Documents are written with the bucket by CreateBucket, by kind, so that access rules
	// hold from its first moment. They are not read back.
	Documents map[string][]byte
	// Most is how many buckets CreateBucket lets the owner have, including this one; 0: no
	// limit. It is not read back.
	Most int
}

// Attrs is what a client sends with an object and gets back. It is stored as one JSON
// document.
type Attrs struct {
	ContentType        string            `json:"ct,omitempty"`
	ContentEncoding    string            `json:"ce,omitempty"`
	ContentDisposition string            `json:"cd,omitempty"`
	ContentLanguage    string            `json:"cl,omitempty"`
	CacheControl       string            `json:"cc,omitempty"`
	Expires            string            `json:"ex,omitempty"` // the HTTP header, not the time to live
	Redirect           string            `json:"rd,omitempty"`
	User               map[string]string `json:"u,omitempty"`
	// Checksums holds S3 additional checksums by algorithm ("CRC32", ...), base64.
	Checksums    map[string]string `json:"ck,omitempty"`
	ChecksumType string            `json:"ckt,omitempty"` // FULL_OBJECT or COMPOSITE
	// Parts lists the parts of a completed multipart upload, in order.
	Parts []PartAttrs `json:"p,omitempty"`
	// ACL is the object's own access control list; nil: the bucket's applies. The ledger
	// does not interpret it.
	ACL *ACL `json:"acl,omitempty"`
	// EndKey is the access key whose default or longest life ends the object. The ledger sets
	// it, and no client sees it.
	EndKey string `json:"ek,omitempty"`
}

// Listed returns a without parts, user metadata and ACL. With them a page of a thousand
// objects could hold hundreds of megabytes.
func (a Attrs) Listed() Attrs {
	a.Parts, a.User, a.ACL = nil, nil, nil
	return a
}

// ACL is an access control list of S3; an empty one grants nothing to others.
type ACL struct {
	Grants []Grant `json:"g,omitempty"`
}

// Grant gives one permission to an account, or to AllUsers or AuthenticatedUsers, S3's
// groups.
type Grant struct {
	Account    string `json:"a,omitempty"`
	Group      string `json:"gr,omitempty"`
	Permission string `json:"p"` // READ, WRITE, READ_ACP, WRITE_ACP or FULL_CONTROL
}

// PartAttrs is what remains of a part after its upload was completed.
type PartAttrs struct {
	Number    int               `json:"n"`
	Size      int64             `json:"s"`
	Checksums map[string]string `json:"ck,omitempty"`
}

// Object is one version of a key of a bucket.
type Object struct {
	ID         lethe.ID // the version; the id of the operation that wrote it
	BucketID   lethe.ID
	Bucket     string
	Key        string
	ContentID  lethe.ID // empty for zero bytes
	Size       int64
	ETag       string // without quotes
	ModifiedAt lethe.Time
	TTLAt      lethe.Time // the client's time to live; 0: none
	RuleAt     lethe.Time // a lifecycle rule's; 0: none
	RuleNumber int64      // of the rule that RuleAt comes from (lifecycle.Rule.Number)
	// Rule is that rule's ID; set when one object is read or written.
	Rule  string
	Attrs Attrs
	Tags  map[string]string
	// ReadsLeft is how often it can still be read; 0: its reads are not counted; AllRead: it
	// was read for the last time, at TTLAt.
	ReadsLeft int64
	// IdleFor is how long it is kept after it was last used: read or written; 0: that does not
	// end it. IdleAt is the end by that, as noted; 0: none.
	IdleFor time.Duration
	IdleAt  lethe.Time
	// UsedAt is when a use was last noted; 0: uses of it are not noted.
	UsedAt lethe.Time
}

// AllRead is Object.ReadsLeft after the last read.
const AllRead = -1

// Counted reports whether reads of the object are counted.
func (o *Object) Counted() bool { return o.ReadsLeft != 0 }

// DueAt returns when Expire may remove the object: at the earliest of TTLAt, RuleAt, and IdleAt
// with IdleGrace; 0 if the object has no end.
func (o Object) DueAt() lethe.Time { return earliest(o.TTLAt, o.RuleAt, o.idleDue()) }

// End returns the earliest of TTLAt, RuleAt and IdleAt, 0 if the object has no end.
func (o Object) End() lethe.Time { return earliest(o.TTLAt, o.RuleAt, o.IdleAt) }

// KeptUntil returns the end of an undo window that ends then at the latest: the object would not
// have been there longer by itself.
func (o *Object) KeptUntil(latest lethe.Time) lethe.Time { return earliest(latest, o.TTLAt, o.IdleAt) }

// earliest returns the earliest of some ends, each of which may be 0 for none.
func earliest(ends ...lethe.Time) (at lethe.Time) {
	for _, e := range ends {
		if e != 0 && (at == 0 || e < at) {
			at = e
		}
	}
	return at
}

// EndReason returns why an object that has ended by itself at the instant goes: by its time to
// live, its last read, or its idle time.
func (o *Object) EndReason(now lethe.Time) lethe.Reason {
	switch {
	case o.ReadsLeft == AllRead:
		return lethe.ReasonRead
	case o.TTLAt == 0 || o.TTLAt > now:
		return lethe.ReasonIdle
	}
	return lethe.ReasonExpiry
}

// ContentKey identifies a content: the same bytes in the same dedup domain, composed in the
// same way.
type ContentKey struct {
	Domain string
	Kind   lethe.ContentKind
	Digest string // lower-case hex SHA-256, see lethe.ContentKind
	Size   int64
}

// Content is the bytes that one or many objects share.
type Content struct {
	ID lethe.ID
	ContentKey
	Refs      int64 // objects and trash entries that refer to it
	Closed    bool  // takes no more references (MaxRefs reached); a new one opens
	Inline    bool  // its bytes lie in the ledger, and no blob has them
	CreatedAt lethe.Time
}

// Blob is one file or object on a backend: a (replica, segment) of a content, or a stored
// part of an upload.
type Blob struct {
	ID        lethe.ID
	Backend   string
	State     lethe.State
	Size      int64  // bytes; reserved while pending, exact afterwards
	Digest    string // hex SHA-256 of the blob's own bytes; empty while pending unless fixed beforehand
	CRC32C    uint32 // of the blob's own bytes (Castagnoli); 0: not known
	Block     int64  // bytes of each block with a known sum; 0: not known, or a single block
	ContentID lethe.ID
	Segment   int // 0-based position in the content
	Replica   int
	UploadID  lethe.ID
	Part      int // part number while owned by an upload
	CreatedAt lethe.Time
	BeatAt    lethe.Time // pending: last heartbeat of the writer
	// DiedAt is when the last reference went; for an expired object, its due time. The
	// histogram of reclaim latency starts here.
	DiedAt lethe.Time
	Reason lethe.Reason
	// DueAt is when a condemned blob may be deleted.
	DueAt lethe.Time
	// LateUntil: an upload of unknown outcome may land until then. The row stays until a
	// delete succeeded later (docs/protocol.md, rule 9).
	LateUntil  lethe.Time
	Attempts   int
	LastError  string
	Suspect    bool // found missing or damaged; does not count as a replica
	VerifiedAt lethe.Time
	Claim      Claim
}

// Claim is a worker's claim on a row. The zero value is "not claimed".
type Claim struct {
	Worker string
	Fence  int64 // grows with every claim; Settle names it
	At     lethe.Time
}

// Upload is an open multipart upload.
type Upload struct {
	ID lethe.ID
	// BucketID, if set for CreateUpload, is that of the expected bucket: ErrNoSuchBucket if
	// another one has the name.
	BucketID  lethe.ID
	Bucket    string
	Key       string
	Owner     string
	Attrs     Attrs
	Tags      map[string]string
	TTL       time.Duration // relative time to live, counted from completion; 0: none
	TTLAt     lethe.Time    // absolute time to live; 0: none
	Reads     int64         // how often the object can be read; 0: its reads are not counted
	Idle      time.Duration // idle time of the object (Object.IdleFor); 0: the bucket's
	CreatedAt lethe.Time
	// TouchedAt is when a part was last stored. An upload is stale by it.
	TouchedAt lethe.Time
	// ByKey is of the access key that opens the upload, so that CreateUpload refuses what
	// completing it would. It is not read back.
	ByKey KeyTTL
}

// Part is a stored part of an open upload. BlobID is empty for zero bytes.
type Part struct {
	UploadID  lethe.ID
	Number    int // 1..10000
	BlobID    lethe.ID
	Size      int64
	ETag      string // hex MD5
	Digest    string // hex SHA-256
	Checksums map[string]string
	CreatedAt lethe.Time
}

// TrashEntry is a deleted or replaced object that can still be restored. It keeps its
// reference to the content until PurgeAt: the end of the undo window, or of the object's own
// time to live if that is earlier.
type TrashEntry struct {
	ID        lethe.ID // identifies the entry to Restore and PurgeTrash
	Object    Object
	DeletedAt lethe.Time
	Op        lethe.ID     // the operation that deleted or replaced it
	By        lethe.Caller // its caller
	PurgeAt   lethe.Time
	EndedBy   lethe.Caller // the caller that asked for an early purge
	Reason    lethe.Reason // delete or overwrite
}

// From returns ErrNoSuchBucket unless the entry is from the bucket, or one of the same domain
// and name. domain is that of its content. An object without bytes shows none: then the
// bucket must be older than the entry.
func (e TrashEntry) From(b Bucket, domain string) error {
	if e.Object.ContentID != "" && domain == b.Domain || e.Object.ContentID == "" && b.CreatedAt <= e.DeletedAt {
		return nil
	}
	return fmt.Errorf("bucket %q is not the bucket that the object was deleted from: %w", b.Name, lethe.ErrNoSuchBucket)
}

// AccessKey is a client's credential. The root credential is not one.
type AccessKey struct {
	ID        string
	Secret    string   // needed in clear for SigV4; sealed in the database if a sealing key is set
	Owner     string   // account the key acts for; default: its own id
	Buckets   []string // names of buckets, "*" for all, AccountBuckets; empty: none
	ReadOnly  bool
	Settings  bool // may create and delete the buckets in its list, and change their settings
	CreatedAt lethe.Time
	// DefaultTTL and MaxTTL are for what it writes (KeyTTL); 0: those of the bucket.
	DefaultTTL, MaxTTL time.Duration
}

// AccountBuckets in a key's list stands for the buckets of its account: those that it
// creates and those that others grant. It is not a valid bucket name.
const AccountBuckets = "@account"

// Account reports whether the key is an account of its own, named by the key's id. An
// account may create and own buckets and be granted access to others.
func (k AccessKey) Account() bool {
	return slices.Contains(k.Buckets, AccountBuckets) && (k.Owner == "" || k.Owner == k.ID)
}

// Run is one pass of one routine.
type Run struct {
	ID         lethe.ID
	Routine    string
	Worker     string
	StartedAt  lethe.Time
	BeatAt     lethe.Time
	FinishedAt lethe.Time // 0: in progress, or its process died
	Outcome    string     // "ok", "failed: ...", "interrupted"
	Counts     map[string]int64
}

// Idle reports whether a run gets no line in the log: it found nothing, or only what is held, as each
// run before it has said. Routines that must be alone record even such runs, some every few seconds.
func (r Run) Idle() bool {
	return len(r.Counts) == 0 || r.Counts["held"] > 0 && len(r.Counts) == 1
}

// Outcome is what an operation recorded in its own transaction.
type Outcome struct {
	Op       lethe.ID
	What     string // "put", "delete", "complete", ...
	ObjectID lethe.ID
	At       lethe.Time
}

// Total is the exact number and bytes of blobs of one backend in one state.
type Total struct {
	Backend string
	State   lethe.State
	Blobs   int64
	Bytes   int64
}
