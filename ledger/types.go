package ledger

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Store identifies a ledger and the epoch of its pairing with the backends.
type Store struct {
	ID        lethe.ID // begins every blob's name; forever the same
	DB        lethe.ID // this database; new after a restore
	Life      string   // which run of which PostgreSQL server answered; empty: no server
	CreatedAt lethe.Time
}

// Backend is a place that holds bytes, as the ledger knows it.
type Backend struct {
	ID        string // the operator's name for it
	Quota     int64  // bytes; 0 means no quota
	Epoch     int64  // last epoch confirmed on the backend (docs/protocol.md, rule 13)
	Intended  int64  // epoch about to be written there; >= Epoch
	Accepted  int64  // epoch under which a person last gave it to this ledger; 0: none did
	Held      string // why deletes on it are stopped, for people to read; empty: they are not
	HeldFor   HeldFor
	Draining  bool // it is being emptied: nothing new is begun there
	CreatedAt lethe.Time
}

// HeldFor is what the hold on the deletes of a backend is about; empty: there is none.
type HeldFor string

// What holds are about.
const (
	HeldByPerson   HeldFor = "person"  // somebody has stopped them
	HeldForLedger  HeldFor = "ledger"  // the ledger may not be the one that the backend belongs to
	HeldForBackend HeldFor = "backend" // what lies there is older than the ledger, or cannot be read
	HeldForAbsence HeldFor = "absence" // it carries no epoch; ends once it does again
)

// BackendHold is why the deletes on a backend are to be stopped, and what that is about; the
// zero one: they are not.
type BackendHold struct {
	For    HeldFor
	Reason string
}

// BucketSettings is what an operator may change about a bucket. Durations are
// kept in microseconds; zero means none (or the store's default).
type BucketSettings struct {
	DefaultTTL   time.Duration // given to objects that bring none
	MaxTTL       time.Duration // longest life of an object; 0: unlimited
	QuotaBytes   int64         // logical bytes; 0: unlimited
	QuotaObjects int64         // objects; 0: unlimited
	Undo         time.Duration // how long deleted and replaced objects stay in the trash
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
	// Objects and Bytes are the exact logical totals (rows in objects, due ones
	// included until they are reclaimed; trash excluded).
	Objects, Bytes int64
	// Holds is how many holds are set in the bucket (Hold).
	Holds int64
	// Documents are what CreateBucket writes with the bucket, by kind: who may do what
	// in it holds from its first moment. They are not read back with it.
	Documents map[string][]byte
	// Most is how many buckets CreateBucket lets the owner have, with this one; 0: any
	// number. It is not read back.
	Most int
}

// Attrs is what a client sent along with an object and gets back with it. It is
// stored as one JSON document.
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
	// ACL is the object's own access control list; nil: what its bucket grants
	// holds. The ledger keeps it and does not read it.
	ACL *ACL `json:"acl,omitempty"`
}

// Listed is a without its parts, metadata and grants: a page of a thousand objects with a
// thousand parts each would hold hundreds of megabytes.
func (a Attrs) Listed() Attrs {
	a.Parts, a.User, a.ACL = nil, nil, nil
	return a
}

// ACL is an access control list of S3's; an empty one grants nothing to others.
type ACL struct {
	Grants []Grant `json:"g,omitempty"`
}

// Grant allows one thing to an account, or to one of S3's groups, AllUsers and
// AuthenticatedUsers.
type Grant struct {
	Account    string `json:"a,omitempty"`
	Group      string `json:"gr,omitempty"`
	Permission string `json:"p"` // READ, WRITE, READ_ACP, WRITE_ACP or FULL_CONTROL
}

// PartAttrs is what is kept of a part after its upload was completed.
type PartAttrs struct {
	Number    int               `json:"n"`
	Size      int64             `json:"s"`
	Checksums map[string]string `json:"ck,omitempty"`
}

// Object is what a client sees: one key of one bucket.
type Object struct {
	ID         lethe.ID // this version of the key; the id of the operation that wrote it
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
	// Rule is that rule's ID, for who reads or writes one object.
	Rule  string
	Attrs Attrs
	Tags  map[string]string
}

// DueAt returns the earlier of the two instants that end the object, 0 if none.
func (o Object) DueAt() lethe.Time {
	switch {
	case o.TTLAt == 0:
		return o.RuleAt
	case o.RuleAt == 0:
		return o.TTLAt
	}
	return min(o.TTLAt, o.RuleAt)
}

// ContentKey is the identity of a content: the same bytes in the same dedup
// domain, put together in the same way.
type ContentKey struct {
	Domain string
	Kind   lethe.ContentKind
	Digest string // lower-case hex SHA-256, see lethe.ContentKind
	Size   int64
}

// Content is the bytes of one or many objects, once.
type Content struct {
	ID lethe.ID
	ContentKey
	Refs      int64 // object rows and trash rows that point to it
	Closed    bool  // takes no more references (MaxRefs reached); a sibling opens
	CreatedAt lethe.Time
}

// Blob is one physical thing on one backend: a (replica, segment) of a content,
// or a stored part of an upload.
type Blob struct {
	ID        lethe.ID
	Backend   string
	State     lethe.State
	Size      int64  // bytes; reserved while pending, exact afterwards
	Digest    string // hex SHA-256 of the blob's own bytes; empty while pending unless fixed beforehand
	CRC32C    uint32 // of the blob's own bytes (Castagnoli); 0: not known
	Block     int64  // bytes of each block whose sums the ledger has; 0: not known, or it is one block
	ContentID lethe.ID
	Segment   int // 0-based position in the content
	Replica   int
	UploadID  lethe.ID
	Part      int // part number while owned by an upload
	CreatedAt lethe.Time
	BeatAt    lethe.Time // pending: last heartbeat of the writer
	// DiedAt is when the last reference went (an expired object: its due time);
	// the histogram from due to gone starts here.
	DiedAt lethe.Time
	Reason lethe.Reason
	// DueAt: condemned blobs are deleted from this instant on.
	DueAt lethe.Time
	// LateUntil: an upload of unknown outcome may land until then; the row stays
	// until a delete has succeeded after it (docs/protocol.md, rule 9).
	LateUntil  lethe.Time
	Attempts   int
	LastError  string
	Suspect    bool // found missing or damaged; does not count as a replica
	VerifiedAt lethe.Time
	Claim      Claim
}

// Claim is the stamp of a worker on a row. The zero value is "not claimed".
type Claim struct {
	Worker string
	Fence  int64 // grows with every claim; a settle names it
	At     lethe.Time
}

// Upload is an open multipart upload.
type Upload struct {
	ID        lethe.ID
	BucketID  lethe.ID
	Bucket    string
	Key       string
	Owner     string
	Attrs     Attrs
	Tags      map[string]string
	TTL       time.Duration // relative time to live, counted from completion; 0: none
	TTLAt     lethe.Time    // absolute time to live; 0: none
	CreatedAt lethe.Time
	// TouchedAt is the last time a part was stored; staleness counts from here.
	TouchedAt lethe.Time
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

// TrashEntry is a deleted or replaced object that can still be restored. It
// keeps its reference to the content until PurgeAt: the end of the undo window, or
// of the object's own time if that is earlier.
type TrashEntry struct {
	ID        lethe.ID // unique; names the entry to restore or purge
	Object    Object
	DeletedAt lethe.Time
	Op        lethe.ID     // the operation that deleted or replaced it
	By        lethe.Caller // on whose behalf
	PurgeAt   lethe.Time
	EndedBy   lethe.Caller // who asked for it to be purged before its time
	Reason    lethe.Reason // delete or overwrite
}

// AccessKey is a client's credential beside the root's.
type AccessKey struct {
	ID        string
	Secret    string   // needed in clear for SigV4; sealed in the database if a sealing key is set
	Owner     string   // account the key acts for; default: its own id
	Buckets   []string // names it may use, * all, AccountBuckets; empty: none
	ReadOnly  bool
	Settings  bool // it may change the settings of the buckets in its list, make and delete them
	CreatedAt lethe.Time
}

// AccountBuckets in a key's list stands for the buckets of its account: those that
// it makes, and what others grant it. No bucket has this name.
const AccountBuckets = "@account"

// Account reports whether the key is an account of its own, named by the key's id, which
// may make and own buckets and be granted others'.
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
	FinishedAt lethe.Time // 0: in progress (or its process died)
	Outcome    string     // "ok", "failed: ...", "interrupted"
	Counts     map[string]int64
}

// Outcome is what an operation recorded about itself in its own transaction.
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
