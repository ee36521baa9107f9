package object

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// noteBatch is how many reads one transaction notes.
	noteBatch = 500
	// maxNotes is how many reads wait for their note at most. Each takes some 200 bytes.
	maxNotes = 100_000
)

// notes are the reads that are not noted in the ledger yet, the last of each version.
type notes struct {
	mu      sync.Mutex
	waiting map[lethe.ID]ledger.Read
	urgent  map[lethe.ID]ledger.Read // their ends come before the next batch may
	dropped int                      // reads for which there was no room
}

// used has a read of a version noted soon, if that would move its end far enough. The read does
// not wait for it.
func (s *Store) used(res ledger.Resolved) {
	o := &res.Object
	note, urgent := o.NeedsNote(res.Evict, res.Now)
	if !note {
		return
	}
	s.notes.keep(ledger.Read{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: res.Now}, urgent)
	if urgent && s.opt.NoteSoon != nil {
		s.opt.NoteSoon()
	}
}

// those returns the reads of a kind that wait. The caller has the lock.
func (n *notes) those(urgent bool) map[lethe.ID]ledger.Read {
	if urgent {
		return n.urgent
	}
	return n.waiting
}

// keep adds a read to those that wait.
func (n *notes) keep(r ledger.Read, urgent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := n.those(urgent)
	old, there := in[r.ID]
	switch {
	case there && old.At >= r.At:
	case !there && len(in) >= maxNotes:
		n.dropped++
	default:
		in[r.ID] = r
	}
}

// pending returns the reads that wait, the oldest first: urgent ones, or the others.
func (n *notes) pending(urgent bool) []ledger.Read {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := n.those(urgent)
	return slices.SortedFunc(maps.Values(in), func(a, b ledger.Read) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
}

// lost returns how many reads were dropped since the last call.
func (n *notes) lost() (dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	dropped, n.dropped = n.dropped, 0
	return dropped
}

// noted removes reads that the ledger has, but for versions that were read again meanwhile.
func (n *notes) noted(reads []ledger.Read) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, in := range []map[lethe.ID]ledger.Read{n.waiting, n.urgent} {
		for _, r := range reads {
			if in[r.ID].At == r.At {
				delete(in, r.ID)
			}
		}
	}
}

// NoteReads notes the reads in the ledger that this process has served since the last call:
// urgent ones first, also those that come meanwhile. It is to be called each minute, and when
// Options.NoteSoon says so. After an error the reads wait for the next call; they are lost with
// the process only. Two calls at once may note a read twice, which changes nothing: each returns
// when all that waited before it are noted.
func (s *Store) NoteReads(ctx context.Context) error { return s.noteReads(ctx, false) }

// noteReads is NoteReads, for a client that waits for it if awaited.
func (s *Store) noteReads(ctx context.Context, awaited bool) error {
	if dropped := s.notes.lost(); dropped > 0 && s.events.Unnoted != nil {
		s.events.Unnoted(dropped)
	}
	rest := s.notes.pending(false)
	if err := s.note(ctx, s.notes.pending(true), awaited); err != nil {
		return err
	}
	for batch := range slices.Chunk(rest, noteBatch) {
		if err := s.note(ctx, batch, awaited); err != nil {
			return err
		}
		if err := s.note(ctx, s.notes.pending(true), awaited); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) note(ctx context.Context, reads []ledger.Read, awaited bool) error {
	for batch := range slices.Chunk(reads, noteBatch) {
		if _, err := s.ledger.Reads.NoteReads(ctx, batch, awaited); err != nil {
			return err
		}
		s.notes.noted(batch)
	}
	return nil
}
