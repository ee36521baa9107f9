package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CondemnOrphans gives up to a batch of a walk's orphans a row, condemned:
// ErrBackendMismatch, ErrFenced, ErrClock.
func (db *DB) CondemnOrphans(ctx context.Context, r ledger.OrphanRequest) (ledger.Orphans, error) {
	out := ledger.Orphans{Last: r.After}
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.mu.Unlock()
	b, err := db.mayCondemn(r)
	if err != nil {
		return out, err
	}
	for _, f := range slices.Clone(db.findingsOf(r.Backend)) {
		ripe := f.Kind == ledger.FoundOrphan && f.Key > r.After && f.LastWalk == r.Walk && f.FirstWalk != f.LastWalk &&
			f.FirstAt <= db.now.Add(-r.Grace) && (r.Only == nil || slices.Contains(r.Only, f.Key))
		if !ripe {
			continue
		}
		if r.Limit > 0 && out.Seen == r.Limit {
			break
		}
		out.Seen++
		out.Last = f.Key
		db.condemnOrphan(b, f, r, &out)
	}
	slices.SortFunc(out.Blobs, func(a, b ledger.Blob) int { return compareIDs(a.ID, b.ID) })
	return out, nil
}

func (db *DB) mayCondemn(r ledger.OrphanRequest) (*backend, error) {
	if err := db.trustClock(); err != nil {
		return nil, err
	}
	b := db.backend(r.Backend)
	if b == nil {
		return nil, noBackend(r.Backend)
	}
	if err := r.Check(b.Backend, db.limitState(limitKey{ledger.LimitClock, r.Backend}).Reason); err != nil {
		return nil, err
	}
	w, err := db.walk(r.Walk)
	if err == nil {
		err = r.CheckWalk(*w)
	}
	return b, err
}

// trustClock returns ErrClock while the clock is in doubt.
func (db *DB) trustClock() error {
	if d := db.behind(); d > 0 {
		return fmt.Errorf("memledger: the machine's clock lies %s behind the ledger's: %w", d, lethe.ErrClock)
	}
	if d := db.ClockAhead(); d > 0 {
		return fmt.Errorf("memledger: the clock was set forward by %s: %w", d, lethe.ErrClock)
	}
	return nil
}

func (db *DB) condemnOrphan(b *backend, f *ledger.Finding, r ledger.OrphanRequest, out *ledger.Orphans) {
	id, ok := lethe.ParseBlobKey(db.store.ID, f.Key)
	if !ok || id.Made() > db.now.Add(-r.Grace) {
		return
	}
	db.walking.findings.drop(f)
	if db.byID[id] != nil {
		out.Explained++
		return
	}
	row := &blob{backend: b, Blob: ledger.Blob{
		ID: id, Backend: b.ID, State: lethe.Condemned, Size: f.Size, CreatedAt: db.now, BeatAt: db.now,
		DiedAt: db.now, Reason: lethe.ReasonOrphan, DueAt: db.now,
	}}
	db.insert(row)
	out.Blobs = append(out.Blobs, row.Blob)
}

// TakeOrphan makes an orphan the copy of a lost blob: ErrContentGone, ErrDigestMismatch,
// ErrBackendMismatch, ErrFenced, ErrClock.
func (db *DB) TakeOrphan(ctx context.Context, f ledger.Found) (ledger.Blob, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Blob{}, err
	}
	defer db.mu.Unlock()
	lost, err := db.copied(f.Lost)
	if err = cmp.Or(db.trustClock(), err); err != nil {
		return ledger.Blob{}, err
	}
	on, copies := db.backend(f.Backend), 0
	if on == nil {
		return ledger.Blob{}, noBackend(f.Backend)
	}
	if lost.ContentID != "" {
		copies = len(db.soundCopies(lost.ContentID, lost.Segment, lost.ID))
	}
	err = f.Check(lost.Blob, copies, on.Backend, db.limitState(limitKey{ledger.LimitClock, f.Backend}).Reason, db.now)
	if err == nil && db.byID[f.Orphan] != nil {
		err = fmt.Errorf("memledger: orphan %s has a row: %w", f.Orphan, lethe.ErrFenced)
	}
	part, gone := db.partHeld(lost)
	if err = cmp.Or(err, gone); err != nil {
		return ledger.Blob{}, err
	}
	b := &blob{backend: on, Blob: f.Copy(lost.Blob, db.now)}
	b.keepBlocks(&b.Blob, f.Blocks)
	if part == nil {
		b.Replica = db.nextReplica(db.contentOf(b.ContentID))
		db.place(b.ContentID)
	}
	db.insert(b)
	if part != nil {
		part.BlobID = b.ID
		db.condemn(lost, death{reason: lethe.ReasonRebalance, at: db.now})
	}
	for _, x := range slices.Clone(db.findingsOf(f.Backend)) {
		if x.Kind == ledger.FoundOrphan && x.Key == lethe.BlobKey(db.store.ID, f.Orphan) {
			db.walking.findings.drop(x)
		}
	}
	return b.Blob, nil
}

// Standings returns what depends on each of the blobs that are live.
func (db *DB) Standings(ctx context.Context, ids []lethe.ID, limit int) ([]ledger.Standing, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("memledger: standings: the limit must be above zero, not %d", limit)
	}
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Standing
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		b := db.byID[id]
		if b == nil || b.State != lethe.Live {
			continue
		}
		s := ledger.Standing{Blob: b.Blob, Objects: db.dependants(b)}
		if b.ContentID != "" {
			s.Copies = len(db.soundCopies(b.ContentID, b.Segment, b.ID))
		}
		if s.More = len(s.Objects) > limit; s.More {
			s.Objects = s.Objects[:limit]
		}
		out = append(out, s)
	}
	return out, nil
}

// dependants names what refers to a blob: objects by bucket and key, then trash entries.
func (db *DB) dependants(b *blob) (names []string) {
	if b.ContentID == "" {
		if u := db.uploads[b.UploadID]; u != nil {
			names = append(names, named(u.bucket.Name, u.Key)+" (an upload under way)")
		}
		return names
	}
	for _, in := range db.buckets.rows {
		for _, o := range in.objects.rows {
			if o.ContentID == b.ContentID {
				names = append(names, named(in.Name, o.Key))
			}
		}
	}
	for _, e := range db.trash.rows {
		if e.Object.ContentID == b.ContentID {
			names = append(names, e.Object.Bucket+"/"+e.Object.Key+" (in the trash)")
		}
	}
	return names
}

func named(bucket, key string) string {
	if bucket == "" {
		return key // the bucket was deleted
	}
	return bucket + "/" + key
}
