package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// errSlow: who asked about epochs does not wait any longer.
var errSlow = errors.New("took too long")

// forkSeam is a ledger as its processes see it: what changes it is an effect, the rest
// only looks.
type forkSeam struct {
	*memledger.DB
	f    *forks
	side *side
}

// change is a method that changes the ledger. What would land late is lost.
func change[T any](s *forkSeam, step Step, detail string, fn func() (T, error)) (T, error) {
	var zero T
	a, w := s.f.cur, s.f.World
	if a == nil {
		return fn()
	}
	fault := a.arrive(step, s.side.name+" "+detail)
	w.cur = a
	switch fault {
	case NotDone:
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnavailable)
	case Undone, Late:
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	out, err := fn()
	switch {
	case fault == CrashAfter:
		a.proc.die()
		panic(errCrash)
	case fault == DoneError && err == nil:
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	return out, err
}

func (s *forkSeam) does(step Step, detail string, fn func() error) error {
	_, err := change(s, step, detail, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// Identity tells, as a database server does, in which life of it one is.
func (s *forkSeam) Identity(ctx context.Context) (ledger.Store, error) {
	is, err := s.DB.Identity(ctx)
	is.Life = s.side.life
	return is, err
}

func (s *forkSeam) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	return s.does("set-epoch", fmt.Sprint(backend, intended, epoch), func() error { return s.DB.SetEpoch(ctx, backend, intended, epoch) })
}

func (s *forkSeam) IntendEpoch(ctx context.Context, seen ledger.Backend, epoch int64) error {
	return s.does("set-epoch", fmt.Sprint("intend ", seen.ID, epoch), func() error { return s.DB.IntendEpoch(ctx, seen, epoch) })
}

func (s *forkSeam) AcceptEpoch(ctx context.Context, backend string, epoch int64) error {
	return s.does("set-epoch", fmt.Sprint("accept ", backend, epoch), func() error { return s.DB.AcceptEpoch(ctx, backend, epoch) })
}

func (s *forkSeam) ChangeHold(ctx context.Context, seen ledger.Backend, to ledger.BackendHold) error {
	return s.does("hold-backend", seen.ID+" "+to.Reason, func() error {
		err := s.DB.ChangeHold(ctx, seen, to)
		if err != nil {
			s.f.look(s.f.cur).fenced = true
		}
		return err
	})
}

func (s *forkSeam) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	return change(s, "begin", string(in.ID), func() (ledger.Blob, error) { return s.DB.Begin(ctx, in) })
}

func (s *forkSeam) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	return change(s, "commit", string(c.Op), func() (ledger.Committed, error) { return s.DB.Commit(ctx, c) })
}

func (s *forkSeam) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	return change(s, "delete", string(d.Op), func() (ledger.Deletions, error) { return s.DB.Delete(ctx, d) })
}

func (s *forkSeam) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	return change(s, "update", string(u.Op), func() (ledger.Object, error) { return s.DB.Update(ctx, u) })
}

func (s *forkSeam) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return change(s, "expire", "", func() (ledger.Reclaimed, error) { return s.DB.Expire(ctx, b) })
}

func (s *forkSeam) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	return change(s, "claim", r.Backend, func() (ledger.Claimed, error) { return s.DB.ClaimCondemned(ctx, r) })
}

func (s *forkSeam) Settle(ctx context.Context, t ledger.Settlement) (ledger.Settled, error) {
	return change(s, "settle", fmt.Sprintf("fence %d, %d items", t.Fence, len(t.Items)), func() (ledger.Settled, error) {
		s.f.fail(s.f.settled(s.side, t))
		return s.DB.Settle(ctx, t)
	})
}

func (s *forkSeam) MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error) {
	return change(s, "mark", fmt.Sprint(ids), func() (int, error) {
		s.f.fail(s.f.missed(s.side, ids))
		return s.DB.MarkSuspect(ctx, ids, why)
	})
}

// forkDisk is a backend as the processes of one ledger see it.
type forkDisk struct {
	f    *forks
	id   string
	side *side
}

// shelf is what lies in the backend's place now.
func (d *forkDisk) shelf() *memblob.Store {
	if other := d.f.away[d.id].other; other != nil {
		return other
	}
	return d.f.disks[d.id]
}

// arrive is an effect on the backend; its error is that of a fault without one.
func (d *forkDisk) arrive(ctx context.Context, step Step, detail string) (Fault, error) {
	a, w := d.f.cur, d.f.World
	if a == nil {
		return None, nil
	}
	began := w.now
	fault := a.arrive(step, d.id+":"+detail)
	w.cur = a
	switch {
	case fault == NotDone:
		return fault, fmt.Errorf("sim: %s: %w", step, blob.ErrNotDone)
	case fault == Down:
		return fault, fmt.Errorf("sim: %s: %w: %w", step, blob.ErrDown, blob.ErrNotDone)
	case fault == Undone:
		return fault, fmt.Errorf("sim: %s: %w", step, blob.ErrUnknown)
	case w.isEpoch(detail) && w.now.Sub(began) > beat/2: // what asks about epochs has so much time
		return fault, fmt.Errorf("sim: %s: %w: %w", step, errSlow, blob.ErrNotDone)
	}
	if err := blob.Check(ctx); err != nil && (step == "put" || step == "unlink") {
		return fault, fmt.Errorf("sim: %s: %w: %w", step, err, blob.ErrNotDone)
	}
	return fault, nil
}

// ended ends an effect that happened.
func (d *forkDisk) ended(fault Fault, err error) error {
	switch {
	case fault == CrashAfter:
		d.f.cur.proc.die()
		panic(errCrash)
	case fault == DoneError && err == nil:
		return fmt.Errorf("sim: answer lost: %w", blob.ErrUnknown)
	}
	return err
}

// confirmed says that the ledger has confirmed an epoch, or one beyond it. Who was asked to
// write it before, and does so on a disk that lies in the backend's place by now, gives that to
// the ledger, or has it taken for an older copy: nothing keeps that from happening (protocol.md
// names it), so that it does not happen here.
func (d *forkDisk) confirmed(key string) bool {
	return d.f.isEpoch(key) && key <= d.f.epochKey(d.side.row(d.id).Epoch)
}

func (d *forkDisk) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	data, err := io.ReadAll(blob.Exactly(ctx, r, size))
	if err != nil {
		return fmt.Errorf("sim: put: %w: %w", blob.ErrNotDone, err)
	}
	fault, err := d.arrive(ctx, "put", key)
	if err != nil {
		return err
	}
	shelf := d.shelf()
	if shelf != d.f.disks[d.id] {
		d.f.gone[blobID(d.f.store, key)] = true // a disk that is taken away takes it along
		if d.confirmed(key) {
			return fmt.Errorf("sim: put: an epoch that another has confirmed meanwhile: %w", blob.ErrNotDone)
		}
	}
	put := func() error { return shelf.Put(context.Background(), key, bytes.NewReader(data), int64(len(data))) }
	switch fault {
	case Late:
		d.f.later("put "+key, safety.LateWindow/2, func() { _ = put() })
		return fmt.Errorf("sim: put: %w", blob.ErrUnknown)
	case Partial:
		data = data[:len(data)/2]
		_ = put()
		return fmt.Errorf("sim: put: torn: %w", blob.ErrUnknown)
	}
	if err = put(); err == nil && d.f.isEpoch(key) {
		d.f.look(d.f.cur).wrote = d.f.turn
	}
	return d.ended(fault, err)
}

func (d *forkDisk) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if _, err := d.arrive(ctx, "get", key); err != nil {
		return nil, err
	}
	body, err := d.shelf().Get(ctx, key, offset, length)
	return body, d.absent(err)
}

func (d *forkDisk) Stat(ctx context.Context, key string) (blob.Info, error) {
	if _, err := d.arrive(ctx, "stat", key); err != nil {
		return blob.Info{}, err
	}
	info, err := d.shelf().Stat(ctx, key)
	return info, d.absent(err)
}

// absent notes when somebody was told last that something does not lie there.
func (d *forkDisk) absent(err error) error {
	if err != nil {
		d.f.look(d.f.cur).absent = d.f.turn
	}
	return err
}

func (d *forkDisk) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	if _, err := d.arrive(ctx, "walk-keys", prefix); err != nil {
		return err
	}
	return d.shelf().List(ctx, prefix, after, fn)
}

func (d *forkDisk) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	fault, err := d.arrive(ctx, "unlink", fmt.Sprint(keys))
	if err != nil {
		return nil, err
	}
	shelf := d.shelf()
	if !d.f.isEpoch(keys[0]) && shelf == d.f.disks[d.id] {
		d.f.fail(d.f.deleting(d.side, d.id, keys))
	}
	if fault == Late || fault == Partial || d.f.tardy != nil && !d.f.isEpoch(keys[0]) && d.f.tardy() {
		d.f.later(fmt.Sprint("unlink ", keys), safety.LateWindow, func() { _, _ = shelf.Delete(context.Background(), keys) })
		return nil, fmt.Errorf("sim: unlink: %w", blob.ErrUnknown)
	}
	results, err := shelf.Delete(context.Background(), keys)
	for _, r := range results {
		_ = d.absent(r.Err)
	}
	return results, d.ended(fault, err)
}
