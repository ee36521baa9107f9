package routine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// VerifyLedger is what verify recounts and marks.
type VerifyLedger interface {
	// Recount recomputes references, counters and state rules from the rows in
	// one snapshot and returns every difference; there should be none.
	Recount(ctx context.Context) ([]ledger.Discrepancy, error)
	Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error)
	Marker
	// CheckBodies compares the inline bytes of a page of contents with their digests.
	CheckBodies(ctx context.Context, after lethe.ID, limit int) (ledger.BodyCheck, error)
	// BlobsByID returns the rows that exist, in any order.
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	// BlockSums returns the sums of the blocks of a blob from first to last, both
	// included. It returns none unless all of them are recorded.
	BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error)
	// NoteBlocks records the sums of a live blob of size bytes that was read and
	// matched its digest, replacing those recorded before. It reports whether it
	// did: not if the blob is not live any more.
	NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error)
	ReceiptReader
}

// Marker records what was found of the bytes of live blobs. Rows that are not live
// any more are left alone; both methods return how many rows they changed.
type Marker interface {
	MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error)
	// MarkSound records that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, ids []lethe.ID, ago time.Duration) (int, error)
}

// Verify recounts the ledger and compares rows with bytes, as fsck does for a file
// system. On a sound store it finds nothing. It marks live blobs that are missing
// or damaged as suspect, and deletes nothing.
type Verify struct {
	Ledger VerifyLedger
	Stores map[string]blob.Store
	Store  lethe.ID
	// Checksums reads every live blob and all inline bytes, and compares their digests;
	// without it only suspect blobs are read. Blobs that are read get the sums of their blocks. An
	// interrupted pass is continued by the next one.
	Checksums bool
	Limit     int // rows per step
	Events    *reclaim.Events
	// Keep is how long receipts are kept. The chain may begin after a head that an
	// earlier pass recorded only if that was at least so long ago.
	Keep  time.Duration
	Clock lethe.Clock
	// Boot runs on while the machine is suspended, and never jumps (default
	// lethe.Monotonic). It measures the age of a verification from the start of the
	// read.
	Boot lethe.Clock
	// Report, if set, receives every problem as it is found.
	Report func(reclaim.Problem)

	mu      sync.Mutex
	stopped map[string]lethe.ID // backend -> last row of an interrupted walk
	head    receipt.Head        // of the receipts, as the last pass found it
	headAt  lethe.Time          // when that was
}

// Name returns "verify", or "checksums" if it reads all blobs.
func (v *Verify) Name() string {
	if v.Checksums {
		return "checksums"
	}
	return "verify"
}

// Plan returns nothing: verify has no backlog.
func (*Verify) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass recounts, recomputes the chain of receipts, goes through the rows of each
// backend, and then through the keys of each backend.
func (v *Verify) Pass(string) reclaim.Step {
	stages := []reclaim.Step{v.books, v.receipts()}
	if v.Checksums {
		stages = append(stages, v.bodies())
	}
	for _, id := range slices.Sorted(maps.Keys(v.Stores)) {
		stages = append(stages, v.rows(id), v.keys(id))
	}
	return inSequence(stages...)
}

func (v *Verify) problem(add reclaim.Add, p reclaim.Problem) {
	add("problems", 1)
	add(p.Kind, 1)
	v.Events.EmitFound(p)
	if v.Report != nil {
		v.Report(p)
	}
}

func (v *Verify) books(ctx context.Context, add reclaim.Add) (bool, error) {
	found, err := v.Ledger.Recount(ctx)
	if err != nil {
		return false, fmt.Errorf("reclaim: recount: %w", err)
	}
	for _, d := range found {
		v.problem(add, reclaim.Problem{Kind: "books", Name: d.Name, Detail: fmt.Sprintf("%s is %s, should be %s", d.What, d.Have, d.Want)})
	}
	return false, nil
}

// receipts recomputes the chain of receipts, a segment in each step, and compares
// it with the head that the pass before found.
func (v *Verify) receipts() reclaim.Step {
	w := ChainWalk{Ledger: v.Ledger, Store: v.Store}
	v.mu.Lock()
	if v.head.Seq > 0 {
		w.Noted = map[receipt.Head]string{v.head: "an earlier check"}
	}
	v.mu.Unlock()
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		before := w.Checked().Receipts
		head, more, err := w.Next(ctx)
		if n := w.Checked().Receipts - before; n > 0 {
			add(reclaim.Items, n)
			add("receipts_checked", n)
		}
		var broken *receipt.Broken
		if errors.As(err, &broken) {
			v.problem(add, reclaim.Problem{Kind: "receipts", Name: fmt.Sprintf("seal %d", broken.Seq), Detail: broken.What})
			return false, nil
		}
		if err == nil && !more {
			v.heads(add, w.Checked(), head)
		}
		return more, err
	}
}

// heads records where the chain ends, if it continues from the earlier end.
func (v *Verify) heads(add reclaim.Add, walked receipt.Checker, head receipt.Head) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var now lethe.Time
	if v.Clock != nil {
		now = v.Clock.Now()
	}
	if lost := walked.Unheld(); len(lost) > 0 && now.Sub(v.headAt) < v.Keep {
		v.problem(add, reclaim.Problem{Kind: "receipts", Name: fmt.Sprintf("seal %d", lost[0].Seq), Detail: fmt.Sprintf(
			"an earlier check recorded it, and the chain begins after it: receipts until %s are claimed to have expired",
			lethe.Time(walked.Until).Time().Format(time.RFC3339))})
		return
	}
	v.head, v.headAt = head, now
}

// bodies compares the bytes that lie in the ledger with their digests.
func (v *Verify) bodies() reclaim.Step {
	after := v.resume(ledger.InLedger)
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		page, err := v.Ledger.CheckBodies(ctx, after, v.Limit)
		if err != nil {
			return false, fmt.Errorf("reclaim: check inline bytes: %w", err)
		}
		add(reclaim.Items, page.Contents)
		add("inline", page.Contents)
		add("bytes", page.Bytes)
		for _, d := range page.Wrong {
			v.problem(add, reclaim.Problem{Kind: "damaged", Name: d.Name, Detail: "its bytes in the ledger are " + d.Have + ", should be " + d.Want})
		}
		after = page.Last
		v.stop(ledger.InLedger, after)
		return after != "", nil
	}
}

// rows compares live rows with the bytes: each must exist with its size, and with
// Checksums with its digest.
func (v *Verify) rows(backend string) reclaim.Step {
	q := ledger.BlobQuery{Backend: backend, States: []lethe.State{lethe.Live}, Limit: v.Limit, After: v.resume(backend)}
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		began := v.boot()
		blobs, err := v.Ledger.Blobs(ctx, q)
		if err != nil {
			return false, err
		}
		if len(blobs) == 0 {
			v.stop(backend, "")
			return false, nil
		}
		var bad []lethe.ID
		var good []ledger.Blob
		for _, b := range blobs {
			p := v.inspect(ctx, b)
			if ctx.Err() != nil {
				return false, ctx.Err() // the failure proves nothing about the bytes
			}
			add(reclaim.Items, 1)
			add("rows", 1)
			add("bytes", b.Size)
			switch {
			case p == nil && (b.Suspect || v.Checksums):
				good = append(good, b)
			case p != nil && (p.Kind == "unreadable" || p.Kind == "sums"):
				v.problem(add, *p)
			case p != nil:
				still, err := v.stillLive(ctx, b.ID)
				if err != nil {
					return false, err
				}
				if !still {
					continue // it was deleted meanwhile
				}
				bad = append(bad, b.ID)
				v.problem(add, *p)
			}
		}
		if err := v.mark(ctx, began, bad, good); err != nil {
			return false, err
		}
		q.After = blobs[len(blobs)-1].ID
		v.stop(backend, q.After)
		return true, nil
	}
}

// resume is where the walk over a backend's rows begins: at its first row, or with
// Checksums where the last walk was interrupted.
func (v *Verify) resume(backend string) lethe.ID {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.Checksums {
		return ""
	}
	return v.stopped[backend]
}

func (v *Verify) stop(backend string, after lethe.ID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stopped == nil {
		v.stopped = make(map[string]lethe.ID)
	}
	v.stopped[backend] = after
}

// boot is the time of the clock that runs on while the machine is suspended.
func (v *Verify) boot() lethe.Time { return cmp.Or[lethe.Clock](v.Boot, lethe.Monotonic{}).Now() }

// mark records the findings of reads since began.
func (v *Verify) mark(ctx context.Context, began lethe.Time, bad []lethe.ID, good []ledger.Blob) error {
	if len(bad) > 0 {
		if _, err := v.Ledger.MarkSuspect(ctx, bad, "verify"); err != nil {
			return fmt.Errorf("reclaim: mark suspect: %w", err)
		}
	}
	sound, err := v.stillSound(ctx, good)
	if err != nil {
		return err
	}
	if len(sound) > 0 {
		if _, err := v.Ledger.MarkSound(ctx, sound, v.boot().Sub(began)); err != nil {
			return fmt.Errorf("reclaim: mark sound: %w", err)
		}
	}
	return nil
}

// stillSound leaves out blobs that became suspect since they were read: reading a
// page may take long, and the earlier finding is older.
func (v *Verify) stillSound(ctx context.Context, read []ledger.Blob) ([]lethe.ID, error) {
	if len(read) == 0 {
		return nil, nil
	}
	suspected := make(map[lethe.ID]bool, len(read))
	all := make([]lethe.ID, len(read))
	for i, b := range read {
		all[i], suspected[b.ID] = b.ID, b.Suspect
	}
	now, err := v.Ledger.BlobsByID(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("reclaim: read rows again: %w", err)
	}
	sound := make([]lethe.ID, 0, len(now))
	for _, b := range now {
		if !b.Suspect || suspected[b.ID] {
			sound = append(sound, b.ID)
		}
	}
	return sound, nil
}

// stillLive re-reads a row after its bytes were not found.
func (v *Verify) stillLive(ctx context.Context, id lethe.ID) (bool, error) {
	now, err := v.Ledger.BlobsByID(ctx, []lethe.ID{id})
	if err != nil {
		return false, fmt.Errorf("reclaim: read a row again: %w", err)
	}
	return len(now) == 1 && now[0].State == lethe.Live, nil
}

func (v *Verify) inspect(ctx context.Context, b ledger.Blob) *reclaim.Problem {
	p := &reclaim.Problem{Backend: b.Backend, Name: "blob " + string(b.ID)}
	key := lethe.BlobKey(v.Store, b.ID)
	info, err := v.Stores[b.Backend].Stat(ctx, key)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		p.Kind, p.Detail = "missing", "live row without bytes"
		return p
	case err != nil:
		p.Kind, p.Detail = "unreadable", err.Error()
		return p
	case info.Size != b.Size:
		p.Kind, p.Detail = "damaged", fmt.Sprintf("%s, should be %d", words.Plural(info.Size, "byte", "bytes"), b.Size)
		return p
	case !v.Checksums && !b.Suspect || b.Digest == "":
		return nil // only its digest clears a blob of suspicion
	}
	have, err := readSums(ctx, v.Stores[b.Backend], key, cmp.Or(b.Block, lethe.BlockSize))
	switch {
	case err != nil:
		p.Kind, p.Detail = "unreadable", err.Error()
	case have.Digest != b.Digest:
		p.Kind, p.Detail = "damaged", "digest "+have.Digest+", should be "+b.Digest
	default:
		p.Kind, p.Detail, err = v.sums(ctx, b, have.Blocks)
		if err != nil {
			p.Kind, p.Detail = "unreadable", err.Error()
		}
	}
	if p.Kind == "" {
		return nil
	}
	return p
}

// sums compares the sums of a blob's blocks with those of its bytes, which match
// its digest, and records these where there are none, or others.
func (v *Verify) sums(ctx context.Context, b ledger.Blob, want lethe.BlockSums) (kind, detail string, err error) {
	if want.Size == 0 {
		return "", "", nil
	}
	if b.Block > 0 {
		known, err := v.Ledger.BlockSums(ctx, b.ID, 0, int64(len(want.Sums)-1))
		if err != nil || slices.Equal(known, want.Sums) {
			return "", "", err
		}
		kind, detail = "sums", "the block sums do not match its bytes, which match its digest; they were recomputed"
	}
	_, err = v.Ledger.NoteBlocks(ctx, b.ID, b.Size, want)
	return kind, detail, err
}

// errPage ends a listing after one page.
var errPage = errors.New("page is full")

// keys looks for keys without a row: the listing first, then the look-up, so that
// what is written meanwhile has its row.
func (v *Verify) keys(backend string) reclaim.Step {
	after := ""
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		var ids []lethe.ID
		n := 0
		err := v.Stores[backend].List(ctx, "", after, func(i blob.Info) error {
			after = i.Key
			n++
			switch id, ok := lethe.ParseBlobKey(v.Store, i.Key); {
			case ok:
				ids = append(ids, id)
			case !pairing.IsKey(v.Store, i.Key):
				v.problem(add, reclaim.Problem{Kind: "foreign", Backend: backend, Name: i.Key, Detail: "not a name of this store; left alone"})
			}
			if n >= v.Limit {
				return errPage
			}
			return nil
		})
		if err != nil && !errors.Is(err, errPage) {
			return false, fmt.Errorf("reclaim: list %s: %w", backend, err)
		}
		add(reclaim.Items, int64(n))
		add("keys", int64(n))
		return errors.Is(err, errPage), v.unexplained(ctx, backend, ids, add)
	}
}

// unexplained reports the ids that have no row although their bytes still lie
// there.
func (v *Verify) unexplained(ctx context.Context, backend string, ids []lethe.ID, add reclaim.Add) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := v.Ledger.BlobsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("reclaim: look up keys of %s: %w", backend, err)
	}
	known := make(map[lethe.ID]bool, len(rows))
	for _, b := range rows {
		known[b.ID] = b.Backend == backend
	}
	for _, id := range ids {
		if known[id] {
			continue
		}
		key := lethe.BlobKey(v.Store, id)
		if _, err := v.Stores[backend].Stat(ctx, key); errors.Is(err, blob.ErrNotExist) {
			continue // settled between the listing and the look-up
		}
		v.problem(add, reclaim.Problem{Kind: "orphan", Backend: backend, Name: key, Detail: "bytes without a row"})
	}
	return nil
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Verify) WhySafe() string { return "it reads, and marks what is missing" }
