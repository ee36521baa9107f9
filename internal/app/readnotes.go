package app

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// noteEvery is how often reads are noted, and a margin of the idle time covers it
	// (ledger.IdleMargin).
	noteEvery = time.Minute
	// noteTogether is how long reads that are to be noted soon wait for others.
	noteTogether = 100 * time.Millisecond
	// noteAgain is when reads that the ledger has refused are noted again.
	noteAgain = 2 * time.Second
	// noteLast is how long the last notes of a process that stops may take.
	noteLast = 10 * time.Second
)

// noteReads notes what was read in the ledger, each minute, and soon where an object would end
// before, until ctx ends.
func (s *Store) noteReads(ctx context.Context) {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.noteSoon:
			if lethe.Sleep(ctx, noteTogether) != nil {
				return
			}
		}
		if err := s.Objects.NoteReads(ctx); err != nil && ctx.Err() == nil {
			s.opt.Log.Warn("reads could not be noted, and are kept for the next try", "error", err)
			time.AfterFunc(noteAgain, s.hurryNotes)
		}
	}
}

// noteNow notes what was read, if this process serves objects.
func (s *Store) noteNow(ctx context.Context) error {
	if s.Objects == nil {
		return nil
	}
	return s.Objects.NoteReads(ctx)
}

// hurryNotes has reads noted soon.
func (s *Store) hurryNotes() {
	select {
	case s.noteSoon <- struct{}{}:
	default:
	}
}

// lastNotes notes what was read before the ledger is closed.
func (s *Store) lastNotes() error {
	ctx, cancel := context.WithTimeout(context.Background(), noteLast)
	defer cancel()
	if err := s.Objects.NoteReads(ctx); err != nil {
		return fmt.Errorf("the last reads could not be noted, so objects that are kept while they are read may end a minute too early: %w", err)
	}
	return nil
}
