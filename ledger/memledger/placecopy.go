package memledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// BeginCopy commits the pending row of one more copy of a live blob:
// ErrContentGone, ErrNoRoom, ErrBackendMismatch, ErrFenced.
func (db *DB) BeginCopy(ctx context.Context, in ledger.CopyIntent) (ledger.Blob, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Blob{}, err
	}
	defer db.mu.Unlock()
	src, err := db.copySource(in.Source, in.Inline)
	if err != nil {
		return ledger.Blob{}, err
	}
	if in.Inline != "" {
		src.CRC32C = in.CRC32C
	}
	to := db.backend(in.Backend)
	if to == nil {
		return ledger.Blob{}, noBackend(in.Backend)
	}
	if err := to.admits(src.Size); err != nil {
		return ledger.Blob{}, err
	}
	if db.byID[in.ID] != nil {
		return ledger.Blob{}, fmt.Errorf("memledger: begin copy %s: the id is taken", in.ID)
	}
	b := &blob{backend: to, Blob: in.Copy(src.Blob, db.now)}
	if src.ContentID != "" {
		b.Replica = db.nextReplica(db.contentOf(src.ContentID))
	}
	if in.Inline == "" {
		if err := db.keepSubject(src.Blob, in.Fence, in.Lease); err != nil {
			return ledger.Blob{}, err
		}
	}
	db.insert(b)
	return b.Blob, nil
}

// admits returns ErrNoRoom for new bytes on a backend that is draining, or beyond its quota.
func (b *backend) admits(n int64) error {
	if b.Draining {
		return fmt.Errorf("memledger: backend %s is being drained: %w", b.ID, lethe.ErrNoRoom)
	}
	return b.room(n)
}

// copied returns a live blob to copy.
func (db *DB) copied(id lethe.ID) (*blob, error) {
	b := db.byID[id]
	if b == nil || b.State != lethe.Live || b.ContentID != "" && db.contentOf(b.ContentID) == nil {
		return nil, fmt.Errorf("memledger: blob %s is not live: %w", id, lethe.ErrContentGone)
	}
	return b, nil
}

// copySource returns what is copied: a live blob, or an inline content as one.
func (db *DB) copySource(id, inline lethe.ID) (*blob, error) {
	if inline == "" {
		return db.copied(id)
	}
	c := db.contentOf(inline)
	if c == nil || !c.Inline {
		return nil, fmt.Errorf("memledger: content %s does not lie in the ledger: %w", inline, lethe.ErrContentGone)
	}
	return &blob{Blob: ledger.Blob{ContentID: c.ID, Size: c.Size, Digest: c.Digest}}, nil
}

// keepSubject checks the claim on what the blob belongs to, and restarts its lease. It is
// the last check of a transition.
func (db *DB) keepSubject(b ledger.Blob, fence int64, lease time.Duration) error {
	subject := b.ContentID
	if subject == "" {
		subject = b.ID
	}
	m := db.places.rows[subject]
	if m == nil || fence == 0 || m.fence != fence {
		return fmt.Errorf("memledger: placement of %s: %w", subject, lethe.ErrFenced)
	}
	db.places.set(m, db.now.Add(lease), fence)
	return nil
}

// CommitCopy makes a pending copy live: ErrReaped, ErrContentGone,
// ErrDigestMismatch, ErrFenced.
func (db *DB) CommitCopy(ctx context.Context, c ledger.CopyCommit) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	src, err := db.copySource(c.Source, c.Inline)
	if err != nil {
		return err
	}
	b, err := db.writing(c.Blob)
	if err == nil {
		err = c.Check(b.Blob, src.Blob)
	}
	if err != nil {
		return err
	}
	part, err := db.partHeld(src)
	if err == nil && c.Inline == "" {
		err = db.keepSubject(src.Blob, c.Fence, c.Lease)
	}
	if err != nil {
		return err
	}
	next := b.Blob
	next.State = lethe.Live
	b.keepBlocks(&next, c.Blocks)
	if c.Late {
		next.LateUntil = db.now.Add(db.opts.LateWindow)
	}
	db.set(b, next)
	if c.Inline != "" {
		db.leaveLedger(db.contentOf(c.Inline))
	}
	if part != nil {
		part.BlobID = b.ID
		db.condemn(src, death{reason: lethe.ReasonRebalance, at: db.now})
	}
	return nil
}

// partHeld returns the part whose bytes the blob holds; nil for a content's blob.
func (db *DB) partHeld(b *blob) (*ledger.Part, error) {
	if b.UploadID == "" {
		return nil, nil
	}
	u := db.uploads[b.UploadID]
	if u == nil {
		return nil, fmt.Errorf("memledger: upload %s: %w", b.UploadID, lethe.ErrContentGone)
	}
	p := u.part(b.Part)
	if p == nil || p.BlobID != b.ID {
		return nil, fmt.Errorf("memledger: part %d was stored again: %w", b.Part, lethe.ErrContentGone)
	}
	return p, nil
}

// TrimCopies condemns live copies of a content, each beside a verified one that
// stays (docs/protocol.md, rule 17): ErrPreconditionFailed, ErrContentGone, ErrFenced.
func (db *DB) TrimCopies(ctx context.Context, r ledger.Trim) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	if db.contentOf(r.Content) == nil {
		return 0, fmt.Errorf("memledger: trim copies of content %s: %w", r.Content, lethe.ErrContentGone)
	}
	var leave []*blob
	for _, b := range db.byContent[r.Content].rows {
		if b.State != lethe.Live || !slices.Contains(r.Blobs, b.ID) {
			continue
		}
		if !db.soundBeside(b, r.Blobs) {
			return 0, fmt.Errorf("memledger: segment %d has no verified copy beside these: %w", b.Segment, lethe.ErrPreconditionFailed)
		}
		leave = append(leave, b)
	}
	if err := db.keepSubject(ledger.Blob{ContentID: r.Content}, r.Fence, r.Lease); err != nil {
		return 0, err
	}
	for _, b := range leave {
		db.condemn(b, death{reason: r.Reason, at: db.now})
	}
	return len(leave), nil
}

// soundBeside reports whether a copy of the blob's segment stays that is live, not suspect,
// and was verified recently.
func (db *DB) soundBeside(b *blob, leaving []lethe.ID) bool {
	since := db.opts.ReadSince(db.now)
	return slices.ContainsFunc(db.byContent[b.ContentID].rows, func(x *blob) bool {
		return x.Segment == b.Segment && x.State == lethe.Live && !x.Suspect && !slices.Contains(leaving, x.ID) &&
			x.VerifiedAt > max(since, x.backend.trustedSince)
	})
}

// SetDraining begins or ends the draining of a backend: ErrBackendMismatch.
func (db *DB) SetDraining(ctx context.Context, name string, draining bool) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(name)
	if b == nil {
		return noBackend(name)
	}
	b.Draining = draining
	return nil
}

// RemoveBackend removes a drained backend: ErrBackendMismatch, ErrBackendInUse.
func (db *DB) RemoveBackend(ctx context.Context, name string) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(name)
	switch {
	case b == nil:
		return noBackend(name)
	case !b.Draining:
		return fmt.Errorf("memledger: %w: %s is not being drained; drain it first", lethe.ErrBackendInUse, name)
	}
	var left []string
	for _, s := range lethe.States {
		if t := b.totals[s]; t.Blobs > 0 {
			left = append(left, fmt.Sprintf("%d %s of %d bytes", t.Blobs, s, t.Bytes))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("memledger: %w: %s still holds %s", lethe.ErrBackendInUse, name, strings.Join(left, ", "))
	}
	db.backends.drop(b)
	db.forgetWalks(name)
	for _, k := range []ledger.LimitKind{ledger.LimitClock, ledger.LimitDeletes} {
		delete(db.limits, limitKey{k, name})
	}
	return nil
}
