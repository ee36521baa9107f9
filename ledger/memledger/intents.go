package memledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Begin commits a pending row: ErrNoRoom, ErrBackendMismatch for an unknown backend,
// ErrNoSuchUpload, and ErrNoSuchBucket of a promotion.
func (db *DB) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Blob{}, err
	}
	defer db.mu.Unlock()
	b, p, err := db.intent(in)
	if err != nil {
		return ledger.Blob{}, fmt.Errorf("memledger: begin blob %s: %w", in.ID, err)
	}
	db.insert(b)
	if p != nil {
		db.promos[b.ID] = p
	}
	return b.Blob, nil
}

// intent checks an intent and makes its rows.
func (db *DB) intent(in ledger.Intent) (*blob, *promotion, error) {
	if in.Promotion != nil {
		if err := ledger.CheckKey(in.Promotion.Commit.Object.Key); err != nil {
			return nil, nil, err
		}
	}
	if in.Unknown && in.Promotion != nil {
		if err := db.unknown(in.Promotion.Commit); err != nil {
			return nil, nil, err
		}
	}
	if in.UploadID != "" && db.uploads[in.UploadID] == nil {
		return nil, nil, lethe.ErrNoSuchUpload
	}
	backend := db.backend(in.Backend)
	if backend == nil {
		return nil, nil, noBackend(in.Backend)
	}
	if err := backend.admits(in.Size); err != nil {
		return nil, nil, err
	}
	if db.byID[in.ID] != nil {
		return nil, nil, errors.New("the id is taken: every upload needs a new one")
	}
	b := &blob{backend: backend, Blob: ledger.Blob{
		ID: in.ID, Backend: in.Backend, State: lethe.Pending, Size: in.Size,
		UploadID: in.UploadID, Part: in.Part, CreatedAt: db.now, BeatAt: db.now,
	}}
	p, err := db.promotion(b, in.Promotion)
	return b, p, err
}

// promotion returns the promotion row of a new intent, if it has one.
func (db *DB) promotion(b *blob, p *ledger.Promotion) (*promotion, error) {
	if p == nil {
		return nil, nil
	}
	bucket, err := db.find(p.Commit.Object.Bucket)
	if err != nil {
		return nil, err
	}
	for _, up := range p.Commit.Blobs {
		if up.Blob == b.ID {
			b.Digest = up.Digest
		}
	}
	return &promotion{commit: cloneCommit(p.Commit), bucket: bucket, blob: b}, nil
}

func cloneCommit(c ledger.Commit) ledger.Commit {
	c.Object = c.Object.Clone()
	c.Blobs = append([]ledger.Uploaded(nil), c.Blobs...)
	if c.Source != nil {
		s := *c.Source
		c.Source = &s
	}
	if c.If.IfSize != nil {
		n := *c.If.IfSize
		c.If.IfSize = &n
	}
	return c
}

func (db *DB) forgetPromotion(blob lethe.ID) {
	if len(db.promos) > 0 {
		delete(db.promos, blob)
	}
}

// supersede removes the promotions of a key that is written or removed (docs/protocol.md,
// rule 19).
func (db *DB) supersede(b *bucket, key string) {
	for id, p := range db.promos {
		if p.bucket == b && p.commit.Object.Key == key {
			delete(db.promos, id)
		}
	}
}

// writing returns the pending blob of a writer at work: ErrReaped.
func (db *DB) writing(id lethe.ID) (*blob, error) {
	b := db.byID[id]
	if b == nil || b.State != lethe.Pending || b.Claim.Fence != 0 {
		return nil, fmt.Errorf("memledger: blob %s: %w", id, lethe.ErrReaped)
	}
	return b, nil
}

// Beat records a heartbeat of a pending row and grows its reservation: ErrReaped, ErrNoRoom.
func (db *DB) Beat(ctx context.Context, id lethe.ID, size int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.writing(id)
	if err != nil {
		return err
	}
	next := b.Blob
	if err := b.grows(size); err != nil {
		return err
	}
	next.BeatAt, next.Size = db.now, max(size, b.Size)
	db.set(b, next)
	return nil
}

// Abandon condemns a pending row that its writer gives up: ErrReaped.
func (db *DB) Abandon(ctx context.Context, id lethe.ID, late bool) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.writing(id)
	if err != nil {
		return err
	}
	db.condemn(b, death{reason: lethe.ReasonUploadOrphan, at: db.now, late: late})
	return nil
}

// Outcome returns what an operation did.
func (db *DB) Outcome(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Outcome{}, false, err
	}
	defer db.mu.Unlock()
	o := db.ops[op]
	if o == nil {
		return ledger.Outcome{}, false, nil
	}
	return *o, true, nil
}

// fresh returns an error if an operation is recorded already.
func (db *DB) fresh(op lethe.ID) error {
	if o := db.ops[op]; o != nil {
		return fmt.Errorf("memledger: operation %s was recorded before as %s", op, o.What)
	}
	return nil
}

// record stores what an operation did.
func (db *DB) record(op lethe.ID, what string, object lethe.ID) {
	if op == "" {
		return
	}
	o := &ledger.Outcome{Op: op, What: what, ObjectID: object, At: db.now}
	db.ops[op] = o
	db.opsByAt.put(o)
}

// ExtendGrace delays the deletion of a content's condemned, unclaimed blobs to at least a
// read grace from now.
func (db *DB) ExtendGrace(ctx context.Context, content lethe.ID) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	rows := db.byContent[content]
	if rows == nil {
		return nil
	}
	until := db.now.Add(db.opts.ReadGrace)
	for _, b := range append([]*blob(nil), rows.rows...) {
		if b.State == lethe.Condemned && b.Claim.Fence == 0 && b.DueAt < until {
			next := b.Blob
			next.DueAt = until
			db.set(b, next)
		}
	}
	return nil
}
