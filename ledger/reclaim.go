package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Batch bounds one step of a routine.
type Batch struct {
	Limit    int        // rows
	MaxBlobs int        // blobs condemned, but for a copy that inline bytes may have; a single object may exceed it
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
	// Inline counts contents whose bytes lay in the ledger, and went in the transaction.
	Inline      int
	InlineBytes int64
	Dropped     []lethe.ID // contents without references, for caches to drop
	// Rules counts the objects that lifecycle rules ended, by bucket and rule.
	Rules []RuleLoss
	// ReadObjects and ReadBytes count those that their last read ended.
	ReadObjects int
	ReadBytes   int64
	// IdleObjects and IdleBytes count those that their idle time ended.
	IdleObjects int
	IdleBytes   int64
	// Reapplied counts objects that were due by a rule that is no longer in force. They
	// stay, and the current rules are applied to them.
	Reapplied int
	// Deferred counts rows that were due and are deferred: held, or beyond a limit.
	Deferred int
	// Tripped are the limits that tripped in this step.
	Tripped []LimitState
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

// CountItself counts one object that ended by itself, for the reason.
func (r *Reclaimed) CountItself(why lethe.Reason, size int64) {
	switch why {
	case lethe.ReasonRead:
		r.ReadObjects++
		r.ReadBytes += size
	case lethe.ReasonIdle:
		r.IdleObjects++
		r.IdleBytes += size
	}
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
	Count   int64
	Bytes   int64
	Oldest  lethe.Time // earliest due time; 0 if nothing is due
	NextDue lethe.Time // earliest due time in the future; 0 if none
	// Scheduled is what is not yet due, without what holds keep of the first MaxDepth of it;
	// counted up to MaxScheduled.
	Scheduled int64
	// Held are due rows that holds keep: open uploads, and of other rows those that no pass
	// has deferred yet.
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
	// Tripped is the limit that tripped in this claim; nil if none did.
	Tripped *LimitState
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

// EndedClaims counts claims of a process that is gone.
type EndedClaims struct {
	Blobs      []Recovered
	Placements int64
	Events     int64
}
