package object_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
)

// mode is what a faulty ledger does to a call.
type mode int

const (
	pass       mode = iota
	refused         // nothing happens, ErrUnavailable
	lostDone        // it happens, ErrUnknownOutcome
	lostUndone      // nothing happens, ErrUnknownOutcome
)

// faultyLedger decides call by call what becomes of the writes of a ledger.
type faultyLedger struct {
	ledgertest.ObjectLedger
	mu     sync.Mutex
	decide func(method string) mode
	before func(method string)
	calls  map[string]int
	noted  int // rows that NoteReads changed
	// awaited: a client waited for the last NoteReads.
	awaited bool
	busy    int // evictions that find everything in use
	// old: what was written before there were CRCs; forgotten: of these blobs, until
	// their sums are noted. noSums: the rows of sums are lost.
	old, noSums bool
	forgotten   map[lethe.ID]bool
}

// fails lets the next calls of a method suffer the modes, in turn, then pass.
func (l *faultyLedger) fails(method string, modes ...mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide = func(m string) mode {
		if m != method || len(modes) == 0 {
			return pass
		}
		next := modes[0]
		modes = modes[1:]
		return next
	}
}

// on calls fn before each call of the method.
func (l *faultyLedger) on(method string, fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = func(m string) {
		if m == method {
			fn()
		}
	}
}

func (l *faultyLedger) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide, l.before = nil, nil
}

func (l *faultyLedger) count(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[method]
}

func (l *faultyLedger) begin(method string) mode {
	l.mu.Lock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	l.calls[method]++
	before, m := l.before, pass
	if l.decide != nil {
		m = l.decide(method)
	}
	l.mu.Unlock()
	if before != nil {
		before(method)
	}
	return m
}

func around[T any](l *faultyLedger, method string, call func() (T, error)) (T, error) {
	var none T
	switch l.begin(method) {
	case refused:
		return none, fmt.Errorf("%s: %w", method, lethe.ErrUnavailable)
	case lostUndone:
		return none, fmt.Errorf("%s: %w", method, lethe.ErrUnknownOutcome)
	case lostDone:
		if out, err := call(); err != nil {
			return out, err
		}
		return none, fmt.Errorf("%s: %w", method, lethe.ErrUnknownOutcome)
	}
	return call()
}

func aroundOnly(l *faultyLedger, method string, call func() error) error {
	_, err := around(l, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (l *faultyLedger) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	return around(l, "Begin", func() (ledger.Blob, error) { return l.ObjectLedger.Begin(ctx, in) })
}

func (l *faultyLedger) Beat(ctx context.Context, blob lethe.ID, size int64) error {
	return aroundOnly(l, "Beat", func() error { return l.ObjectLedger.Beat(ctx, blob, size) })
}

func (l *faultyLedger) Abandon(ctx context.Context, blob lethe.ID, late bool) error {
	return aroundOnly(l, "Abandon", func() error { return l.ObjectLedger.Abandon(ctx, blob, late) })
}

func (l *faultyLedger) ExtendGrace(ctx context.Context, content lethe.ID) error {
	return aroundOnly(l, "ExtendGrace", func() error { return l.ObjectLedger.ExtendGrace(ctx, content) })
}

func (l *faultyLedger) Outcome(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	switch l.begin("Outcome") {
	case refused, lostDone, lostUndone:
		return ledger.Outcome{}, false, lethe.ErrUnavailable
	}
	return l.ObjectLedger.Outcome(ctx, op)
}

func (l *faultyLedger) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	return around(l, "Commit", func() (ledger.Committed, error) { return l.ObjectLedger.Commit(ctx, c) })
}

func (l *faultyLedger) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	return around(l, "Delete", func() (ledger.Deletions, error) { return l.ObjectLedger.Delete(ctx, d) })
}

func (l *faultyLedger) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	return around(l, "Update", func() (ledger.Object, error) { return l.ObjectLedger.Update(ctx, u) })
}

func (l *faultyLedger) Resolve(ctx context.Context, bucket, key string) (ledger.Resolved, error) {
	res, err := around(l, "Resolve", func() (ledger.Resolved, error) { return l.ObjectLedger.Resolve(ctx, bucket, key) })
	res.Segments = slices.Clone(res.Segments) // the ledger's are shared with other readers
	for n := range res.Segments {
		seg := &res.Segments[n]
		seg.Blobs = slices.Clone(seg.Blobs)
		for i := range seg.Blobs {
			if l.old || l.forgets(seg.Blobs[i].ID) {
				seg.Blobs[i].CRC32C, seg.Blobs[i].Block, seg.Blocks = 0, 0, lethe.BlockSums{}
			}
		}
		if l.noSums {
			seg.Blocks = lethe.BlockSums{}
		}
	}
	return res, err
}

func (l *faultyLedger) StatObject(ctx context.Context, bucket, key string) (ledger.Resolved, error) {
	return around(l, "StatObject", func() (ledger.Resolved, error) { return l.ObjectLedger.StatObject(ctx, bucket, key) })
}

// forget lets a blob be one from before there were sums.
func (l *faultyLedger) forget(blob lethe.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = map[lethe.ID]bool{blob: true}
}

func (l *faultyLedger) forgets(blob lethe.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forgotten[blob]
}

func (l *faultyLedger) BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error) {
	return around(l, "BlockSums", func() ([]uint32, error) {
		if l.noSums {
			return nil, nil
		}
		return l.ObjectLedger.BlockSums(ctx, blob, from, to)
	})
}

func (l *faultyLedger) NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error) {
	return around(l, "NoteBlocks", func() (bool, error) {
		l.mu.Lock()
		delete(l.forgotten, blob)
		l.mu.Unlock()
		return l.ObjectLedger.NoteBlocks(ctx, blob, size, sums)
	})
}

func (l *faultyLedger) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	return around(l, "CommitPart", func() (ledger.Part, error) { return l.ObjectLedger.CommitPart(ctx, c) })
}

func (l *faultyLedger) Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error) {
	return around(l, "Complete", func() (ledger.Committed, error) { return l.ObjectLedger.Complete(ctx, c) })
}

func (l *faultyLedger) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	return aroundOnly(l, "AbortUpload", func() error { return l.ObjectLedger.AbortUpload(ctx, op, bucket, key, id) })
}

func (l *faultyLedger) Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (ledger.Object, error) {
	return around(l, "Restore", func() (ledger.Object, error) { return l.ObjectLedger.Restore(ctx, op, entry, overwrite) })
}

func (l *faultyLedger) CountRead(ctx context.Context, o ledger.Object) (ledger.Object, error) {
	return around(l, "CountRead", func() (ledger.Object, error) { return l.ObjectLedger.CountRead(ctx, o) })
}

func (l *faultyLedger) NoteReads(ctx context.Context, reads []ledger.Read, awaited bool) (int, error) {
	n, err := around(l, "NoteReads", func() (int, error) { return l.ObjectLedger.NoteReads(ctx, reads, awaited) })
	l.noted += n
	l.awaited = awaited
	return n, err
}

func (l *faultyLedger) Evict(ctx context.Context, r ledger.EvictRequest) (ledger.Evicted, error) {
	return around(l, "Evict", func() (ledger.Evicted, error) {
		if l.busy > 0 {
			l.busy--
			return ledger.Evicted{Reclaimed: ledger.Reclaimed{More: true}, Busy: 1, Next: r.After}, nil
		}
		return l.ObjectLedger.Evict(ctx, r)
	})
}
