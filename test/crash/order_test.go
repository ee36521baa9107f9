package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// lab is objects and cleaner over a ledger file and a file system that loses
// what was not flushed. At every transition it cuts the power in thought: what
// refers to bytes must find them on the disk that is left, and what is unlinked
// must be condemned in the ledger file that is left.
type lab struct {
	fs      *strictfs.FS
	disk    blob.Store
	path    string // of the ledger
	db      *sqlledger.DB
	store   lethe.ID
	objects *object.Store
	clean   *routine.Clean
	ahead   atomic.Int64 // of the clock, in microseconds
	copies  int

	wrong    []string
	referred int // references to bytes that were looked at
	unlinked int // unlinks
	settled  int // rows removed
}

// Now implements lethe.Clock.
func (l *lab) Now() lethe.Time { return lethe.SystemClock{}.Now() + lethe.Time(l.ahead.Load()) }

// flaw is an order swapped on purpose.
type flaw int

const (
	sound  flaw = iota
	behind      // bytes are written after the commit that refers to them
	noSync      // bytes are written, and not flushed
	hasty       // bytes are unlinked before the transaction that condemns them
	early       // rows are settled before their bytes are unlinked
)

func newLab(t *testing.T, f flaw) *lab {
	t.Helper()
	l := &lab{fs: strictfs.New(nil), path: filepath.Join(t.TempDir(), "ledger.db")}
	disk, err := fsblob.OpenFS(l.fs, fsblob.Options{NoSync: f == noSync, Workers: 1})
	must(t, err)
	l.disk = disk
	l.db, err = sqlledger.Open(t.Context(), l.path, ledger.Options{Clock: l, ReadGrace: time.Minute})
	must(t, err)
	t.Cleanup(func() { must(t, l.db.Close()) })
	id, err := l.db.Identity(t.Context())
	must(t, err)
	l.store = id.ID
	_, err = l.db.AddBackend(t.Context(), ledger.Backend{ID: "main"})
	must(t, err)
	_, err = l.db.CreateBucket(t.Context(), ledger.Bucket{Name: "b", Owner: "o", Domain: "o"})
	must(t, err)
	var seen blob.Store = disk
	var ledger rows = watched{l.db, l}
	switch f {
	case behind:
		late := &writeBehind{Store: disk, held: map[string][]byte{}}
		seen, ledger = late, flushing{ledger, late}
	case hasty:
		ledger = hastening{ledger, l}
	case early:
		late := &unlinkBehind{Store: disk}
		seen, ledger = late, unlinking{ledger, late}
	}
	stores := map[string]blob.Store{"main": seen}
	l.objects, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(ledger), Backends: stores, StoreID: l.store, Clock: l, Small: 4 << 10, MinPart: 1,
	})
	must(t, err)
	l.clean = &routine.Clean{
		Ledger: ledger, Stores: stores, Store: l.store, Safety: reclaim.Safety{}.WithDefaults(), Limit: 100, Clock: l,
	}
	l.fs.SetHooks(strictfs.Hooks{Before: l.unlink})
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) violate(format string, a ...any) { l.wrong = append(l.wrong, fmt.Sprintf(format, a...)) }

// refer looks whether a blob would outlive a loss of power now.
func (l *lab) refer(id lethe.ID, size int64) {
	l.referred++
	left, err := fsblob.OpenFS(l.fs.CrashClone(0, rand.New(rand.NewPCG(1, 1))), fsblob.Options{})
	if err != nil {
		l.violate("the disk does not open: %v", err)
		return
	}
	info, err := left.Stat(context.Background(), lethe.BlobKey(l.store, id))
	if err != nil || info.Size != size {
		l.violate("a commit refers to blob %s, of which the disk has %d of %d bytes: %v", id, info.Size, size, err)
	}
}

// unlink looks whether what is about to be unlinked is condemned in the ledger's
// files as they are.
func (l *lab) unlink(op strictfs.Op) error {
	id, ok := lethe.ParseBlobKey(l.store, op.Path)
	if op.Kind != "remove" || !ok {
		return nil
	}
	l.unlinked++
	state, err := l.stateOnDisk(id)
	if err != nil || state != lethe.Condemned.String() {
		l.violate("blob %s is unlinked and %s in the ledger: %v", id, state, err)
	}
	return nil
}

// stateOnDisk reads a blob's state from a copy of the ledger's files, as the next
// process would find them.
func (l *lab) stateOnDisk(id lethe.ID) (state string, err error) {
	l.copies++
	path := fmt.Sprintf("%s-copy%d", l.path, l.copies)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(l.path + suffix)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(path+suffix, data, 0o600); err != nil {
			return "", err
		}
	}
	db, err := sqlledger.Open(context.Background(), path, ledger.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.BlobsByID(context.Background(), []lethe.ID{id})
	if err != nil || len(rows) != 1 {
		return "absent", err
	}
	return rows[0].State.String(), nil
}

// rows is what objects and the cleaner need of the ledger.
type rows interface {
	ledgertest.ObjectLedger
	routine.CleanLedger
}

// watched is the ledger, with a look at the disk before every transition that
// refers to bytes or forgets them.
type watched struct {
	rows
	lab *lab
}

func (w watched) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	for _, b := range c.Blobs {
		w.lab.refer(b.Blob, b.Size)
	}
	return w.rows.Commit(ctx, c)
}

func (w watched) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	w.lab.refer(c.Part.BlobID, c.Part.Size)
	return w.rows.CommitPart(ctx, c)
}

func (w watched) Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error) {
	left, err := fsblob.OpenFS(w.lab.fs.CrashClone(0, rand.New(rand.NewPCG(1, 1))), fsblob.Options{})
	if err != nil {
		return ledger.Settled{}, err
	}
	for _, item := range s.Items {
		w.lab.settled++
		if _, err := left.Stat(ctx, lethe.BlobKey(w.lab.store, item.ID)); item.Result == ledger.Gone && !errors.Is(err, blob.ErrNotExist) {
			w.lab.violate("blob %s is forgotten, and lies on the disk: %v", item.ID, err)
		}
	}
	return w.rows.Settle(ctx, s)
}

// writeBehind acknowledges what it has not written yet.
type writeBehind struct {
	blob.Store
	held map[string][]byte
}

// Put implements blob.Store, too early.
func (w *writeBehind) Put(_ context.Context, key string, r io.Reader, _ int64) error {
	data, err := io.ReadAll(r)
	w.held[key] = data
	return err
}

// flushing writes what was acknowledged, after the commit.
type flushing struct {
	rows
	store *writeBehind
}

func (f flushing) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	out, err := f.rows.Commit(ctx, c)
	for key, data := range f.store.held {
		delete(f.store.held, key)
		err = errors.Join(err, f.store.Store.Put(ctx, key, bytes.NewReader(data), int64(len(data))))
	}
	return out, err
}

// hastening unlinks what a deletion is about to condemn.
type hastening struct {
	rows
	lab *lab
}

func (h hastening) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	for _, item := range d.Items {
		res, err := h.Resolve(ctx, d.Bucket, item.Key)
		if err != nil {
			return ledger.Deletions{}, err
		}
		for _, seg := range res.Segments {
			if _, err := h.lab.disk.Delete(ctx, []string{lethe.BlobKey(h.lab.store, seg.Blobs[0].ID)}); err != nil {
				return ledger.Deletions{}, err
			}
		}
	}
	return h.rows.Delete(ctx, d)
}

// unlinkBehind acknowledges deletes that it has not made yet.
type unlinkBehind struct {
	blob.Store
	held []string
}

// Delete implements blob.Store, too early.
func (u *unlinkBehind) Delete(_ context.Context, keys []string) ([]blob.Result, error) {
	u.held = append(u.held, keys...)
	out := make([]blob.Result, len(keys))
	for i, key := range keys {
		out[i].Key = key
	}
	return out, nil
}

// unlinking makes the deletes after the rows are gone.
type unlinking struct {
	rows
	store *unlinkBehind
}

func (u unlinking) Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error) {
	out, err := u.rows.Settle(ctx, s)
	_, derr := u.store.Store.Delete(ctx, u.store.held)
	return out, errors.Join(err, derr)
}

// live lets objects come and go, in all ways that write bytes, and cleans up.
func (l *lab) live(ctx context.Context) error {
	put := func(key string, n, size int) error {
		data := body(uint64(n), size)
		_, err := l.objects.Put(ctx, object.PutRequest{Bucket: "b", Key: key, Body: bytes.NewReader(data), Size: int64(size)})
		return err
	}
	remove := func(key string) error {
		_, err := l.objects.Delete(ctx, object.DeleteRequest{Bucket: "b", Items: []ledger.DeleteItem{{Key: key}}})
		return err
	}
	steps := []func() error{
		func() error { return put("small", 1, 1000) },
		func() error { return put("large", 2, 20_000) },
		func() error { return put("kept", 1, 1000) },
		func() error { return put("large", 3, 30_000) },
		func() error { return l.multipart(ctx) },
		func() error { return remove("small") },
		func() error { return remove("parts") },
		func() error { return remove("large") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	l.ahead.Add(time.Hour.Microseconds())
	var counts reclaim.Counts
	pass := l.clean.Pass("w")
	for more := true; more; {
		var err error
		if more, err = pass(ctx, counts.Add); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) multipart(ctx context.Context) error {
	up, err := l.objects.CreateUpload(ctx, object.UploadRequest{Bucket: "b", Key: "parts"})
	if err != nil {
		return err
	}
	done := object.CompleteRequest{Bucket: "b", Key: "parts", Upload: up.ID}
	for n := 1; n <= 2; n++ {
		data := body(uint64(10+n), n*5000)
		part, err := l.objects.PutPart(ctx, object.PartRequest{
			Bucket: "b", Key: "parts", Upload: up.ID, Number: n, Body: bytes.NewReader(data), Size: int64(len(data)),
		})
		if err != nil {
			return err
		}
		done.Parts = append(done.Parts, ledger.PartName{Number: n, ETag: part.ETag})
	}
	_, err = l.objects.Complete(ctx, done)
	return err
}

// TestBytesBeforeRowsBeforeUnlinks shows the order across both worlds: bytes are
// durable before anything refers to them, condemned is durable before the
// unlink, and the unlink before the row goes.
func TestBytesBeforeRowsBeforeUnlinks(t *testing.T) {
	l := newLab(t, sound)
	must(t, l.live(t.Context()))
	if len(l.wrong) > 0 {
		t.Errorf("wrong order:\n%s", strings.Join(l.wrong, "\n"))
	}
	if l.referred < 5 || l.unlinked != 4 || l.settled != 4 {
		t.Errorf("looked at %d references, %d unlinks, %d settled rows", l.referred, l.unlinked, l.settled)
	}
}

// TestASwappedOrderIsSeen shows that the test above can fail.
func TestASwappedOrderIsSeen(t *testing.T) {
	for f, want := range map[flaw]string{
		behind: "a commit refers to blob", noSync: "a commit refers to blob", hasty: "is unlinked and live", early: "is forgotten, and lies on the disk",
	} {
		l := newLab(t, f)
		if err := l.live(t.Context()); err != nil {
			t.Logf("flaw %d: %v", f, err)
		}
		if !strings.Contains(strings.Join(l.wrong, "\n"), want) {
			t.Errorf("flaw %d was not seen as %q, but: %v", f, want, l.wrong)
		}
	}
}
