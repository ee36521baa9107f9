package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// search looks for lost blobs among the orphans that the walks recorded on one backend. A
// restored ledger misses what was moved since the backup: the copy has another name, on another
// backend. Every orphan of a lost blob's size is read once, and again to be taken if its digest is
// the blob's.
type search struct {
	o        Options
	backend  string
	lost     map[int64][]ledger.Blob // by size; nil: not read yet
	known    map[string]string       // digests of the orphans that the last pass met and has read, by key
	met      map[string]string       // likewise of this pass
	after    string                  // key of the last orphan
	failures []error
}

// step looks at the next page of orphans.
func (s *search) step(ctx context.Context, add reclaim.Add) (more bool, err error) {
	if s.lost == nil {
		if may, err := s.may(ctx); err != nil || !may {
			return false, err
		}
		err = s.load(ctx)
		return len(s.lost) > 0, err
	}
	page, err := s.o.Ledger.Findings(ctx, ledger.FindingQuery{
		Backend: s.backend, Kind: ledger.FoundOrphan, AfterBackend: s.backend, AfterKey: s.after, Limit: s.o.Page,
	})
	if err != nil {
		return false, err
	}
	row, err := s.o.row(ctx, s.backend)
	if err != nil {
		return false, err
	}
	for _, f := range page {
		s.after = f.Key
		if s.o.Chosen != nil && !s.o.Chosen[Place{s.backend, f.Key, true}] || len(s.lost[f.Size]) == 0 {
			continue
		}
		if err := s.try(ctx, add, f, row.Epoch); err != nil {
			return false, err
		}
	}
	if len(page) == s.o.Page && len(s.lost) > 0 {
		return true, nil
	}
	return false, errors.Join(s.failures...)
}

// may reports whether orphans may be taken: the ledger misses bytes, and no other one deletes on
// the backend.
func (s *search) may(ctx context.Context) (bool, error) {
	if s.o.Misses == nil || s.o.Stores[s.backend] == nil {
		return false, nil
	}
	if why, err := s.o.Misses(ctx); why == "" || err != nil {
		return false, err
	}
	if row, err := s.o.row(ctx, s.backend); err != nil || s.o.Clock.Now() < row.AcceptedAt.Add(s.o.Wait) {
		return false, err
	}
	check := s.o.Pairing.Admit
	if s.o.DryRun {
		check = s.o.Pairing.Check
	}
	err := check(ctx, s.backend)
	if errors.Is(err, lethe.ErrBackendMismatch) || errors.Is(err, pairing.ErrNotQuiet) {
		return false, nil
	}
	return err == nil, err
}

// load reads which blobs are lost, of those that walks found missing or damaged.
func (s *search) load(ctx context.Context) error {
	s.lost = map[int64][]ledger.Blob{}
	for _, kind := range []ledger.FindingKind{ledger.FoundMissing, ledger.FoundSize} {
		q := ledger.FindingQuery{Kind: kind, Limit: s.o.Page}
		for more := true; more; {
			page, err := s.o.Ledger.Findings(ctx, q)
			if err != nil {
				return err
			}
			var ids []lethe.ID
			for _, f := range page {
				q.AfterBackend, q.AfterKey = f.Backend, f.Key
				if id, ok := lethe.ParseBlobKey(s.o.Store, f.Key); ok {
					ids = append(ids, id)
				}
			}
			standing, err := s.o.Ledger.Standings(ctx, ids, 1)
			if err != nil {
				return err
			}
			for _, b := range standing {
				if b.Copies == 0 && b.Blob.Suspect {
					s.lost[b.Blob.Size] = append(s.lost[b.Blob.Size], b.Blob)
				}
			}
			more = len(page) == s.o.Page
		}
	}
	return nil
}

// try reads an orphan, and takes it if it is a lost blob. One that cannot be read is left to the
// next run.
func (s *search) try(ctx context.Context, add reclaim.Add, f ledger.Finding, epoch int64) error {
	id, ok := lethe.ParseBlobKey(s.o.Store, f.Key)
	if !ok {
		return nil
	}
	if digest, ok := s.known[f.Key]; ok {
		s.met[f.Key] = digest
		if !slices.ContainsFunc(s.lost[f.Size], func(b ledger.Blob) bool { return b.Digest == digest }) {
			return nil
		}
	}
	block := cmp.Or(s.lost[f.Size][0].Block, lethe.BlockSize)
	began := s.o.Clock.Now()
	have, err := s.read(ctx, f, block)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case err != nil:
		s.failures = append(s.failures, fmt.Errorf("read orphan %s: %w", f.Key, err))
		return nil
	}
	s.met[f.Key] = have.Digest
	for _, lost := range slices.Clone(s.lost[f.Size]) {
		if lost.Digest != have.Digest {
			continue
		}
		if s.o.DryRun {
			s.took(add, f, lost)
			return nil
		}
		_, err := s.o.Ledger.TakeOrphan(ctx, ledger.Found{
			Lost: lost.ID, Orphan: id, Backend: s.backend, Epoch: epoch, Size: f.Size, Digest: have.Digest, Blocks: have.Blocks,
			Ago: s.o.Clock.Now().Sub(began), Wait: s.o.Wait,
		})
		switch {
		case errors.Is(err, lethe.ErrContentGone): // deleted, or healed meanwhile
			s.forget(lost)
		case errors.Is(err, lethe.ErrFenced): // the orphan has a row by now, or the pairing changed
			return nil
		case err != nil:
			return fmt.Errorf("take orphan %s for blob %s: %w", id, lost.ID, err)
		default:
			s.took(add, f, lost)
			return nil
		}
	}
	return nil
}

// read reads an orphan to its end, which is where it was when a walk found it.
func (s *search) read(ctx context.Context, f ledger.Finding, block int64) (blob.Sums, error) {
	if err := s.o.Call(ctx); err != nil {
		return blob.Sums{}, err
	}
	in, err := s.o.Stores[s.backend].Get(ctx, f.Key, 0, -1)
	if err != nil {
		return blob.Sums{}, err
	}
	defer in.Close()
	have, err := blob.SumsOf(io.LimitReader(in, f.Size+1), block)
	if err == nil && have.Size != f.Size {
		err = fmt.Errorf("it had %d bytes when it was found, and has others now", f.Size)
	}
	return have, err
}

func (s *search) took(add reclaim.Add, f ledger.Finding, lost ledger.Blob) {
	s.forget(lost)
	ch := Change{Finding: f, For: lost.ID}
	ch.Backend = s.backend
	if s.o.DryRun {
		add(WouldTake, 1)
		if s.o.Would != nil {
			s.o.Would(ch)
		}
		return
	}
	add(Taken, 1)
	s.o.Events.taken(ch)
	if s.o.Did != nil {
		s.o.Did(ch)
	}
}

// forget removes a blob that is not lost any more, with its other copies.
func (s *search) forget(lost ledger.Blob) {
	s.lost[lost.Size] = slices.DeleteFunc(s.lost[lost.Size], func(b ledger.Blob) bool {
		return b.ID == lost.ID || b.ContentID != "" && b.ContentID == lost.ContentID && b.Segment == lost.Segment
	})
	if len(s.lost[lost.Size]) == 0 {
		delete(s.lost, lost.Size)
	}
}
