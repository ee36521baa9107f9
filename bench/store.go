package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// laterClock is the machine's clock, set forward.
type laterClock struct{ by atomic.Int64 }

func (c *laterClock) Now() lethe.Time {
	return lethe.SystemClock{}.Now().Add(time.Duration(c.by.Load()))
}

// store is a ledger and a backend at work, with everything counted.
type store struct {
	clock   laterClock
	db      *sqlledger.DB
	id      lethe.ID
	calls   *blobtest.Counting
	pairing *pairing.Pairing // nil: the backend holds nothing
	watch   stopwatch
	flushes atomic.Int64
	// of stores on servers
	requests atomic.Int64 // to the S3 service
	cache    *countedCache
	closers  []io.Closer
}

func openStore(ctx context.Context, dir string, readGrace time.Duration) (s *store, err error) {
	s = &store{}
	if s.db, err = sqlledger.Open(ctx, LedgerPath(dir), ledger.Options{Clock: &s.clock, ReadGrace: max(readGrace, 1)}); err != nil {
		return nil, err
	}
	files, err := fsblob.Open(fsblob.Options{Root: blobPath(dir), OnSync: func(string) { s.flushes.Add(1) }})
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.calls, s.closers = blobtest.NewCounting(files), []io.Closer{files}
	id, err := s.db.Identity(ctx)
	s.id = id.ID
	s.pair()
	return s, err
}

// pair has each batch of deletes ask first whether ledger and backend belong together.
func (s *store) pair() {
	s.pairing = &pairing.Pairing{Ledger: s.db, Stores: map[string]blob.Store{backendID: s.calls}, Clock: &s.clock}
}

// admit is what clean asks; it has begun, as when a server starts.
func (s *store) admit(ctx context.Context) (func(context.Context, string) error, error) {
	if s.pairing == nil {
		return nil, nil
	}
	return s.pairing.Admit, s.pairing.Advance(ctx, backendID)
}

func (s *store) stores() map[string]blob.Store {
	return map[string]blob.Store{backendID: timedStore{s.calls, &s.watch}}
}

func (s *store) ledger() timedLedger { return timedLedger{s.db, &s.watch} }

func (s *store) close() error {
	err := s.db.Close()
	for _, c := range s.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// audit recounts the ledger: the books must be exact, and hold as many objects
// and blobs as are given.
func (s *store) audit(ctx context.Context, objects, blobs int64) error {
	wrong, err := s.db.Recount(ctx)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("bench: the recount finds %d differences, the first: %v", len(wrong), wrong[0])
	}
	b, err := s.db.Bucket(ctx, "bench")
	if err != nil {
		return err
	}
	totals, err := s.db.Totals(ctx)
	for _, t := range totals {
		if t.Backend != ledger.InLedger {
			blobs -= t.Blobs
		}
	}
	if err == nil && (b.Objects != objects || blobs != 0) {
		err = fmt.Errorf("bench: %d objects are left instead of %d, and %d blobs too few", b.Objects, objects, blobs)
	}
	return err
}

// epochs is the folder of what says whose the backend is, which is no blob.
const epochs = "epoch"

// countFiles counts the blobs below a folder.
func countFiles(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // all contents lie in the ledger
	}
	for _, e := range entries {
		if !e.IsDir() {
			n++
			continue
		}
		if e.Name() == epochs {
			continue
		}
		below, err := countFiles(dir + "/" + e.Name())
		if n += below; err != nil {
			return n, err
		}
	}
	return n, err
}
