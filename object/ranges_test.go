package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// harms are what may become of a file, given its bytes and those of another one.
var harms = map[string]func(data, other []byte) []byte{
	"first byte":      func(data, _ []byte) []byte { data[0] ^= 1; return data },
	"byte inside":     func(data, _ []byte) []byte { data[len(data)/2] ^= 0x80; return data },
	"last byte":       func(data, _ []byte) []byte { data[len(data)-1] ^= 1; return data },
	"one byte less":   func(data, _ []byte) []byte { return data[:len(data)-1] },
	"half of it":      func(data, _ []byte) []byte { return data[:len(data)/2] },
	"nothing left":    func([]byte, []byte) []byte { return nil },
	"one byte before": func(data, _ []byte) []byte { return append([]byte{0}, data...) },
	"bytes behind":    func(data, other []byte) []byte { return append(data, other...) },
	"zeros":           func(data, _ []byte) []byte { clear(data); return data },
	"another file":    func(_, other []byte) []byte { return other },
}

// bodiesOfSizes are objects from 1 kB to 30 MB, put or uploaded in parts.
func bodiesOfSizes() map[string][]string {
	return map[string][]string{
		"1 kB":    {noise(1000, 70)},
		"300 kB":  {noise(300<<10, 71)},
		"30 MB":   {noise(30_000_000, 72)},
		"3 parts": {noise(300<<10, 73), noise(1000, 74), noise(700_001, 75)},
	}
}

// files makes a world on folders, and returns where they are.
func files(t *testing.T) (*world, map[string]string) {
	roots, stores := map[string]string{}, map[string]blob.Store{}
	for _, id := range []string{"disk1", "disk2"} {
		roots[id] = t.TempDir()
		s, err := fsblob.Open(fsblob.Options{Root: roots[id], NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[id] = s
	}
	w := newWorld(t, func(o *object.Options) { o.Backends = stores; o.Small = 1 << 20 })
	w.second = stores["disk2"]
	return w, roots
}

// What is read of a file that was harmed, in whatever way and wherever, is right or
// fails; what was handed out before it failed is right; with a second copy all of it is
// right. What is copied from it likewise.
func TestHarmedFiles(t *testing.T) {
	for size, parts := range bodiesOfSizes() {
		for _, mode := range []string{"", "two copies", "without sums"} {
			if testing.Short() && size == "30 MB" {
				continue
			}
			t.Run(strings.TrimSpace(size+" "+mode), func(t *testing.T) {
				t.Parallel()
				harmEach(t, parts, mode)
			})
		}
	}
}

func harmEach(t *testing.T, parts []string, mode string) {
	w, roots := files(t)
	_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: "other", Owner: "bob"})
	w.must(err)
	store := w.store
	if mode == "two copies" {
		store = w.twice
	}
	o := store("k", parts...)
	w.ledger.old = mode == "without sums"
	whole := strings.Join(parts, "")
	for segment, start := 0, 0; segment < len(parts); segment++ {
		b := w.first(o, segment)
		path := filepath.Join(roots[b.Backend], w.key(b.ID))
		good, err := os.ReadFile(path)
		w.must(err)
		for name, harm := range harms {
			other := []byte(noise(len(good), 99))
			bad := harm(bytes.Clone(good), other)
			w.must(os.WriteFile(path, bad, 0o600))
			for _, r := range rangesOf(len(whole)) {
				touched := changed(good, bad, start, r)
				w.readHarmed(fmt.Sprintf("%s of segment %d, %v", name, segment, r), whole, r, touched && mode != "two copies", b)
			}
			if len(whole) < 2<<20 || mode == "" {
				w.copyHarmed(name, whole, mode == "two copies")
			}
			w.must(os.WriteFile(path, good, 0o600))
			_, err = w.db.MarkSound(w.ctx, []lethe.ID{b.ID}, 0)
			w.must(err)
		}
		start += len(good)
	}
}

// rangesOf are ranges at both ends and inside, and all of it; nil asks for it whole.
func rangesOf(n int) []*object.Range {
	some := int64(min(4096, n/3))
	return []*object.Range{
		nil, {Offset: 0, Length: int64(n)}, {Offset: 0, Length: 1}, {Offset: 0, Length: some}, {Offset: int64(n) / 2, Length: some},
		{Offset: int64(n) / 2, Length: 1}, {Offset: -some, Length: -1}, {Offset: -1, Length: -1}, {Offset: int64(n) / 3, Length: int64(n) / 3},
	}
}

// piece is what of a whole the range asks for; nil for all of it.
func piece(whole string, r *object.Range) string {
	if r == nil {
		return whole
	}
	from, to := r.Offset, int64(len(whole))
	if from < 0 {
		from += to
	}
	if r.Length >= 0 {
		to = min(to, from+r.Length)
	}
	return whole[from:to]
}

// changed reports whether what is read by the range, of a whole in which the file begins at
// start, is not what it was.
func changed(good, bad []byte, start int, r *object.Range) bool {
	if r == nil {
		r = &object.Range{Offset: 0, Length: 1 << 40}
	}
	from, to := int(r.Offset)-start, int(min(r.Offset+r.Length, 1<<40))-start
	if r.Offset < 0 {
		return false // from the end: whether it fails is not foretold
	}
	from, to = max(0, from), min(to, len(good))
	if from >= to {
		return false
	}
	if len(bad) < to {
		return true
	}
	return !bytes.Equal(good[from:to], bad[from:to])
}

func (w *world) readHarmed(what, whole string, r *object.Range, fails bool, b ledger.Blob) {
	w.t.Helper()
	want := piece(whole, r)
	got, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", Range: r})
	switch {
	case !strings.HasPrefix(want, got) || err == nil && got != want:
		w.t.Errorf("%s: wrong bytes (%d of %d), %v", what, len(got), len(want), err)
	case fails && err == nil:
		w.t.Errorf("%s: no error", what)
	case err != nil && !errors.Is(err, lethe.ErrCorrupt):
		w.t.Errorf("%s: %v", what, err)
	case err != nil && !w.suspect(b.ID):
		w.t.Errorf("%s: it is not suspect", what)
	}
}

// copyHarmed copies to another owner's bucket, and as a part by range: nothing wrong
// gets a digest of its own.
func (w *world) copyHarmed(what, whole string, fine bool) {
	w.t.Helper()
	res, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: "other", Key: "copy"})
	if fine {
		w.must(err)
	}
	if err == nil {
		got, err := w.read(object.GetRequest{Bucket: "other", Key: "copy"})
		if err != nil || got != whole || res.Object.Size != int64(len(whole)) {
			w.t.Errorf("%s: the copy has %d bytes, or others, %v", what, len(got), err)
		}
	}
	r := object.Range{Offset: int64(len(whole)) / 3, Length: int64(len(whole)) / 2}
	up := w.create("composed")
	part, err := w.CopyPart(w.ctx, object.PartCopyRequest{
		Bucket: bucket, Key: "composed", Upload: up.ID, Number: 1, SourceBucket: bucket, SourceKey: "k", Range: &r,
	})
	if fine {
		w.must(err)
	}
	if err == nil && part.ETag != etag(piece(whole, &r)) {
		w.t.Errorf("%s: a part was made of other bytes", what)
	}
	w.must(w.Abort(w.ctx, bucket, "composed", up.ID))
}

// first is the copy of a segment that is asked first once nothing is suspect.
func (w *world) first(o ledger.Object, segment int) ledger.Blob {
	w.t.Helper()
	for _, b := range w.copies(o) {
		if b.Segment == segment {
			return b
		}
	}
	w.t.Fatal("no copy")
	return ledger.Blob{}
}

func (w *world) suspect(id lethe.ID) bool {
	for _, b := range w.blobs() {
		if b.ID == id {
			return b.Suspect
		}
	}
	return false
}

// A blob from before there were sums is read whole once, however many clients ask for
// a piece of it at once; after that what they ask for is verified by block.
func TestSumsAreLearntOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *object.Options) { o.Background = true })
		whole := noise(2<<20, 80)
		w.ledger.forget(w.copies(w.put("k", whole))[0].ID)
		var gets atomic.Int64
		gate := make(chan struct{})
		w.faults["disk1"] = func(call blobtest.Call) blobtest.Fault {
			if call.Op == blobtest.OpGet && gets.Add(1) == 1 {
				<-gate
			}
			return blobtest.Fault{}
		}
		const clients = 8
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				r := object.Range{Offset: int64(i) * 1000, Length: 4096}
				got, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", Range: &r})
				if err != nil || got != piece(whole, &r) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		group.Wait()
		if n := gets.Load(); n != 1+clients {
			t.Errorf("%d clients read %d times", clients, n)
		}
		w.must(pieceOf(w, "k"))
		if n := gets.Load(); n != 2+clients {
			t.Errorf("afterwards one more read %d times", n-1-clients)
		}
	})
}

// pieceOf reads a piece, and returns what went wrong.
func pieceOf(w *world, key string) error {
	_, err := w.read(object.GetRequest{Bucket: bucket, Key: key, Range: &object.Range{Offset: 1 << 20, Length: 4096}})
	return err
}

// A client that goes away does not stop that sums are learnt: its next try finds them.
func TestSumsAreLearntForWhoHasGone(t *testing.T) {
	w := newWorld(t, nil)
	w.ledger.forget(w.copies(w.put("k", noise(1<<20, 81)))[0].ID)
	ctx, cancel := context.WithCancel(w.ctx)
	w.faults["disk1"] = func(blobtest.Call) blobtest.Fault { cancel(); return blobtest.Fault{} }
	_, err := w.Get(ctx, object.GetRequest{Bucket: bucket, Key: "k", Range: &object.Range{Offset: 5, Length: 5}})
	w.wants(err, context.Canceled)
	if w.ledger.count("NoteBlocks") != 1 {
		t.Error("its sums are not known")
	}
}

// Rows that are lost are made anew from the bytes, which have their digest.
func TestLostSums(t *testing.T) {
	w := newWorld(t, nil)
	whole := noise(1<<20, 82)
	w.put("k", whole)
	w.ledger.noSums = true
	r := object.Range{Offset: 300_000, Length: 300_000}
	got, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", Range: &r})
	if err != nil || got != piece(whole, &r) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n := w.ledger.count("NoteBlocks"); n != 1 {
		t.Errorf("sums were noted %d times", n)
	}
}

// The sums of what is read come with the answer where it lies. The ledger is asked for
// them only where they fill more than a row: once for what is read of a segment. None
// are learnt anew, and what they are of is handed out.
func TestWhatSumsCost(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Small = 1 << 20; o.MinPart = 1 })
	for key, c := range map[string]struct {
		parts        []int
		whole, piece int
	}{
		"small": {[]int{1000}, 0, 0}, "one block": {[]int{256 << 10}, 0, 0}, "held in memory": {[]int{1 << 20}, 0, 0},
		"one row": {[]int{16 << 20}, 0, 0}, "two rows": {[]int{16<<20 + 1}, 1, 1},
		"parts": {[]int{5 << 20, 5 << 20, 1000}, 0, 0}, "a large part": {[]int{5 << 20, 17 << 20}, 1, 0},
	} {
		var parts []string
		for i, size := range c.parts {
			parts = append(parts, noise(size, uint64(83+i)))
		}
		w.store(key, parts...)
		whole := strings.Join(parts, "")
		looks := func() int {
			return w.ledger.count("Resolve") + w.ledger.count("BlockSums") + w.ledger.count("NoteBlocks")
		}
		before := looks()
		w.has(key, whole)
		if n := looks() - before; n != 1+c.whole {
			t.Errorf("%s: %d looks for the whole", key, n)
		}
		for r, want := range map[object.Range]int{{Offset: 10, Length: 20}: c.piece, {Offset: -20, Length: -1}: c.whole} {
			before = looks()
			got, err := w.read(object.GetRequest{Bucket: bucket, Key: key, Range: &r})
			if err != nil || got != piece(whole, &r) {
				t.Errorf("%s, %v: %d bytes, %v", key, r, len(got), err)
			}
			if n := looks() - before; n != 1+want {
				t.Errorf("%s, %v: %d looks for a piece", key, r, n)
			}
		}
	}
}

// Blobs without sums are read a few at a time, however many are asked for; a client
// that goes away before its turn has nothing read, and others wait on.
func TestFewLearnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, blobs = 4, 10
		w := newWorld(t, func(o *object.Options) { o.Background = true })
		for i := range blobs {
			w.put(fmt.Sprint("k", i), noise(2<<20, uint64(90+i)))
		}
		w.ledger.old = true
		var gets atomic.Int64
		gate := make(chan struct{})
		for _, disk := range []string{"disk1", "disk2"} {
			w.faults[disk] = func(call blobtest.Call) blobtest.Fault {
				if call.Op == blobtest.OpGet {
					gets.Add(1)
				}
				return blobtest.Fault{Wait: gate}
			}
		}
		ctx, leave := context.WithCancel(w.ctx)
		var group sync.WaitGroup
		ask := func(ctx context.Context, i int) {
			group.Go(func() {
				r := object.GetRequest{Bucket: bucket, Key: fmt.Sprint("k", i), Range: &object.Range{Offset: 5, Length: 5}}
				rd, err := w.Get(ctx, r)
				if err == nil {
					rd.Body.Close()
				}
				if !errors.Is(err, ctx.Err()) {
					t.Errorf("k%d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		for i := range blobs {
			ask(ctx, i)
		}
		ask(w.ctx, blobs-1)
		if n := gets.Load(); n != most {
			t.Errorf("%d blobs are read at once", n)
		}
		leave()
		synctest.Wait()
		if n := gets.Load(); n != most {
			t.Errorf("%d blobs are read for clients that have gone", n-most)
		}
		close(gate)
		group.Wait()
		if n := gets.Load(); n != 2*(most+1) { // what was learnt, also of the last one, is asked for its piece
			t.Errorf("%d reads", n)
		}
	})
}
