package object

import (
	"cmp"
	"context"
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
	dropped int // reads for which there was no room
}

// used has a read of a version noted soon, if that would move its end far enough. The read does
// not wait for it.
func (s *Store) used(res ledger.Resolved) {
	o := &res.Object
	note, urgent := o.Notes(res.Evict, res.Now)
	if !note {
		return
	}
	s.notes.keep(ledger.Read{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: res.Now})
	if urgent && s.opt.NoteSoon != nil {
		s.opt.NoteSoon()
	}
}

// keep adds a read to those that wait.
func (n *notes) keep(r ledger.Read) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, there := n.waiting[r.ID]
	switch {
	case there && old.At >= r.At:
	case !there && len(n.waiting) >= maxNotes:
		n.dropped++
	default:
		n.waiting[r.ID] = r
	}
}

// pending returns the reads that wait, the oldest first, and how many were dropped since.
func (n *notes) pending() (reads []ledger.Read, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.waiting {
		reads = append(reads, r)
	}
	slices.SortFunc(reads, func(a, b ledger.Read) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	dropped, n.dropped = n.dropped, 0
	return reads, dropped
}

// noted removes reads that the ledger has, but for versions that were read again meanwhile.
func (n *notes) noted(reads []ledger.Read) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range reads {
		if n.waiting[r.ID].At == r.At {
			delete(n.waiting, r.ID)
		}
	}
}

// NoteReads notes the reads in the ledger that this process has served since the last call. It
// is to be called each minute, and when Options.NoteSoon says so. After an error the reads wait
// for the next call; they are lost with the process only. Two calls at once may note a read
// twice, which changes nothing: each returns when all that waited before it are noted.
func (s *Store) NoteReads(ctx context.Context) error {
	reads, dropped := s.notes.pending()
	if dropped > 0 && s.events.Unnoted != nil {
		s.events.Unnoted(dropped)
	}
	for batch := range slices.Chunk(reads, noteBatch) {
		if _, err := s.ledger.Reads.NoteReads(ctx, batch); err != nil {
			return err
		}
		s.notes.noted(batch)
	}
	return nil
}
