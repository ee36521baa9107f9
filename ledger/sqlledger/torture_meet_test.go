package sqlledger

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	history "github.com/lethe-storage/lethe/test/linearizable"
)

// tortureCounts count what has to have happened.
type tortureCounts struct{ in, out, copies, trims, parts, completions, held, rules atomic.Int64 }

// rival does something with a key that all clients write and read, and records it.
func (h *hand) rival() {
	key, value := h.contest.Next(h.dice.IntN(3))
	o := history.Op{Client: h.number, Call: lethe.Monotonic{}.Now()}
	happened := h.compete(key, value, &o)
	o.Return = lethe.Monotonic{}.Now()
	if happened {
		h.contest.Record(key, o)
	}
}

// compete records in o what was done and the result, and reports whether to record it: an
// operation refused before it could do anything is not recorded.
func (h *hand) compete(key string, value int64, o *history.Op) bool {
	switch h.dice.IntN(5) {
	case 0, 1:
		o.Kind = history.Read
		r, err := h.db.Resolve(h.ctx, "plain", key)
		if err == nil {
			n, known := h.written.Load(r.Object.ID)
			if !known {
				h.Errorf("%s is version %s, which nobody has written", key, r.Object.ID)
				return false
			}
			o.Value = n.(int64)
		}
		h.fine(err)
		return err == nil || errors.Is(err, lethe.ErrNoSuchKey)
	case 2:
		o.Kind = history.Write
		op := h.id()
		out, err := h.db.Delete(h.ctx, ledger.Deletion{Op: op, Bucket: "plain", Items: []ledger.DeleteItem{{Key: key}}})
		if err = h.settled(op, err); err == nil && len(out.Items) > 0 {
			err = out.Items[0].Err
		}
		h.fine(err)
		return h.took(err, false, o)
	}
	c := h.commitOf("plain", key)
	o.Kind, o.Value = history.Write, value
	if h.dice.IntN(3) == 0 {
		o.Kind, c.If.IfNoneMatch = history.Create, "*"
	}
	h.written.Store(c.Op, value)
	promised, err := h.begin(c)
	if o.Unknown = err == nil && promised && h.dice.IntN(4) == 0; o.Unknown {
		return true // gone without a word: the reaper's to finish
	}
	if err == nil {
		_, err = h.db.Commit(h.ctx, c)
		err = h.settled(c.Op, err)
		h.fine(err)
	}
	if o.Refused = errors.Is(err, lethe.ErrPreconditionFailed); o.Refused {
		return true
	}
	return h.took(err, promised, o)
}

// took reports whether a write that ended so can have changed anything, and in o whether
// that is not known: a reaper may still finish one that is promised.
func (h *hand) took(err error, promised bool, o *history.Op) bool {
	refused := lethe.Refused(err) || errors.Is(err, lethe.ErrUnavailable) && !errors.Is(err, lethe.ErrUnknownOutcome)
	o.Unknown = err != nil && (promised || !refused)
	return err == nil || o.Unknown
}

// sharedUploads are uploads that several clients work on at once.
type sharedUploads struct {
	mu   sync.Mutex
	list [3]ledger.Upload
}

// take returns the upload in a place, made by the caller if there is none.
func (s *sharedUploads) take(i int, create func() (ledger.Upload, error)) (u ledger.Upload, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[i].ID == "" {
		s.list[i], err = create()
	}
	return s.list[i], err
}

// drop makes room for another one.
func (s *sharedUploads) drop(i int, id lethe.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[i].ID == id {
		s.list[i] = ledger.Upload{}
	}
}

// together does something with an upload that others work on.
func (h *hand) together() {
	i := h.dice.IntN(len(h.shared.list))
	u, err := h.shared.take(i, func() (ledger.Upload, error) {
		bucket, key := h.key()
		return h.db.CreateUpload(h.ctx, ledger.Upload{Bucket: bucket, Key: key})
	})
	if !h.fine(err) {
		return
	}
	ended := false
	switch h.dice.IntN(12) {
	case 0:
		ended = h.abort(u)
	case 1:
		ended = h.fine(h.db.AbortStale(h.ctx, u.ID, ledger.Stale{Age: time.Millisecond}))
	case 2, 3:
		parts, err := h.db.Parts(h.ctx, u.ID, 0, 0)
		if !h.fine(err) || len(parts) == 0 {
			return
		}
		var names []ledger.PartName
		for _, p := range parts {
			names = append(names, ledger.PartName{Number: p.Number, ETag: p.ETag})
		}
		if ended = h.complete(u, names); ended {
			h.counts.completions.Add(1)
		}
	default:
		if _, ok := h.part(u, 1+h.dice.IntN(3)); ok {
			h.counts.parts.Add(1)
		}
	}
	if _, err := h.db.UploadByID(h.ctx, u.ID); ended || errors.Is(err, lethe.ErrNoSuchUpload) {
		h.shared.drop(i, u.ID)
	}
}

// hold holds a key for a while: the version there when the hold is set stays until it is
// released, expired or not.
func (h *hand) hold() {
	bucket, key := h.key()
	if _, taken := h.holding.LoadOrStore(bucket+"/"+key, true); taken {
		return
	}
	defer h.holding.Delete(bucket + "/" + key)
	hold := ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: key, By: h.name}
	_, err := h.db.AddHold(h.ctx, hold)
	set := h.fine(err)
	before, err := h.db.ExplainKey(h.ctx, bucket, key)
	was := h.fine(err) && before.Object != nil
	for range 5 {
		h.look()
	}
	after, err := h.db.ExplainKey(h.ctx, bucket, key)
	switch is := h.fine(err); {
	case !set || !was || !is:
	case after.Object == nil || after.Object.ID != before.Object.ID:
		h.Errorf("%s/%s was held as version %s, and is %+v", bucket, key, before.Object.ID, after.Object)
	default:
		h.counts.held.Add(1)
	}
	for {
		err := h.db.ReleaseHold(h.ctx, hold)
		if err == nil || errors.Is(err, ledger.ErrNoSuchHold) {
			return
		}
		if !errors.Is(err, lethe.ErrUnavailable) && !errors.Is(err, lethe.ErrUnknownOutcome) {
			h.Error(err)
			return
		}
	}
}

// rule changes the rules of a bucket: some of its keys end at once, or nothing does.
func (h *hand) rule() {
	var rules lifecycle.Rules
	if h.dice.IntN(2) == 0 {
		rules = lifecycle.Rules{{ID: "past", Prefix: "key1", Date: lethe.SystemClock{}.Now().Add(-48 * time.Hour)}}
	}
	_, err := h.db.SetRules(h.ctx, ledger.RulesChange{Bucket: "ruled", By: h.name, Rules: rules})
	if h.fine(err) {
		h.counts.rules.Add(1)
	}
}

// place is a step of placement: it claims what is queued, and copies or trims it.
func (h *hand) place() {
	p, err := h.db.ClaimPlacements(h.ctx, ledger.PlacementClaim{Worker: h.name, Limit: 4, Lease: 50 * time.Millisecond})
	if !h.fine(err) {
		return
	}
	var results []ledger.PlacementResult
	for _, s := range p.Items {
		if h.dice.IntN(8) == 0 {
			continue // its claim ends by itself
		}
		h.arrange(s, p.Fence)
		results = append(results, ledger.PlacementResult{ID: s.ID, Done: h.dice.IntN(2) == 0, RetryAt: p.Now})
	}
	if len(results) > 0 {
		_, err = h.db.SettlePlacements(h.ctx, p.Fence, results)
		h.fine(err)
	}
}

// arrange copies one of a subject's blobs to another backend, or, if there are copies
// of it, reads one and trims the others.
func (h *hand) arrange(s ledger.Placement, fence int64) {
	live := slices.DeleteFunc(slices.Clone(s.Blobs), func(b ledger.Blob) bool { return b.State != lethe.Live })
	if len(live) == 0 {
		return
	}
	src := live[h.dice.IntN(len(live))]
	var others []lethe.ID
	for _, b := range live {
		if b.Segment == src.Segment && b.ID != src.ID {
			others = append(others, b.ID)
		}
	}
	const lease = 50 * time.Millisecond
	if len(others) > 0 && h.dice.IntN(2) == 0 {
		if _, err := h.db.MarkSound(h.ctx, []lethe.ID{src.ID}, 0); !h.fine(err) {
			return
		}
		n, err := h.db.TrimCopies(h.ctx, ledger.Trim{Content: s.ID, Blobs: others, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease})
		if h.fine(err) && n > 0 {
			h.counts.trims.Add(1)
		}
		return
	}
	b, err := h.db.BeginCopy(h.ctx, ledger.CopyIntent{ID: h.id(), Backend: h.backend(), Source: src.ID, Fence: fence, Lease: lease})
	if !h.fine(err) || h.dice.IntN(8) == 0 {
		return // it dies, and the copy is the reaper's
	}
	err = h.db.CommitCopy(h.ctx, ledger.CopyCommit{
		Blob: b.ID, Source: src.ID, Digest: src.Digest, Late: h.dice.IntN(4) == 0, Fence: fence, Lease: lease,
	})
	if h.fine(err) {
		h.counts.copies.Add(1)
	}
}

// misplace queues contents, and parts of the uploads that are shared.
func (h *hand) misplace() {
	list, err := h.db.PlacedContents(h.ctx, "", 6)
	if !h.fine(err) {
		return
	}
	var subjects []ledger.Subject
	for _, p := range list {
		subjects = append(subjects, p.Subject)
	}
	u, err := h.shared.take(h.dice.IntN(len(h.shared.list)), func() (ledger.Upload, error) { return ledger.Upload{}, nil })
	if err == nil && u.ID != "" {
		parts, err := h.db.Parts(h.ctx, u.ID, 0, 0)
		h.fine(err)
		for _, p := range parts {
			subjects = append(subjects, ledger.Subject{ID: p.BlobID, Part: true, Leave: "tape"})
		}
	}
	_, err = h.db.QueuePlacements(h.ctx, subjects)
	h.fine(err)
}
