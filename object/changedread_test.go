package object_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// moving is what placement asks of a ledger to move a content.
type moving interface {
	QueuePlacements(context.Context, []ledger.Subject) (int, error)
	ClaimPlacements(context.Context, ledger.PlacementClaim) (ledger.Placements, error)
	BeginCopy(context.Context, ledger.CopyIntent) (ledger.Blob, error)
	CommitCopy(context.Context, ledger.CopyCommit) error
	TrimCopies(context.Context, ledger.Trim) (int, error)
}

// move brings segments of a content to another disk as placement does, and lets the
// old copies go: their read grace passes, and nobody extends it.
func (w *world) move(content lethe.ID, to string, segments ...int) {
	w.t.Helper()
	l := w.db.(moving)
	_, err := l.QueuePlacements(w.ctx, []ledger.Subject{{ID: content}})
	w.must(err)
	claim, err := l.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Limit: 1, Lease: time.Minute})
	w.must(err)
	if len(claim.Items) != 1 || claim.Items[0].ID != content {
		w.t.Fatalf("claimed %+v", claim.Items)
	}
	var old, made []lethe.ID
	for _, n := range segments {
		for _, src := range claim.Items[0].Blobs {
			if src.Segment == n && src.State == lethe.Live {
				old, made = append(old, src.ID), append(made, w.blobCopied(src, to, claim.Fence))
			}
		}
	}
	_, err = w.db.MarkSound(w.ctx, made, 0) // read back: it is verified
	w.must(err)
	n, err := l.TrimCopies(w.ctx, ledger.Trim{Content: content, Blobs: old, Reason: lethe.ReasonRebalance, Fence: claim.Fence, Lease: time.Minute})
	w.must(err)
	if n != len(old) || n != len(segments) {
		w.t.Fatalf("%d of %d copies were trimmed", n, len(old))
	}
	w.clock.Advance(grace)
	for disk := range w.backends {
		w.clean(disk)
	}
}

// blobCopied makes one more copy of a blob.
func (w *world) blobCopied(src ledger.Blob, to string, fence int64) lethe.ID {
	w.t.Helper()
	random := sha256.Sum256([]byte(string(src.ID) + to))
	l, id := w.db.(moving), lethe.NewID(w.clock.Now(), bytes.NewReader(random[:]))
	_, err := l.BeginCopy(w.ctx, ledger.CopyIntent{ID: id, Backend: to, Source: src.ID, Fence: fence, Lease: time.Minute})
	w.must(err)
	data, ok := w.backends[src.Backend].Bytes(w.key(src.ID))
	if !ok {
		w.t.Fatal("no bytes to copy")
	}
	w.must(w.backends[to].Put(w.ctx, w.key(id), bytes.NewReader(data), src.Size))
	w.must(l.CommitCopy(w.ctx, ledger.CopyCommit{Blob: id, Source: src.ID, Digest: src.Digest, Fence: fence, Lease: time.Minute}))
	return id
}

// opens begins to read the object of "parts" and reads its first n bytes.
func (w *world) opens(n int) (*object.Reader, string) {
	w.t.Helper()
	rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.must(err)
	got := make([]byte, n)
	_, err = io.ReadFull(rd.Body, got)
	w.must(err)
	return rd, string(got)
}

// A later segment is moved while the first is read: the reader asks the ledger again
// and goes on where the bytes lie now (docs/protocol.md, rule 18), as often as that happens.
func TestSegmentsMovedWhileTheyAreRead(t *testing.T) {
	parts := layouts["parts"]
	whole := strings.Join(parts, "")
	for name, c := range map[string]struct {
		segments []int
		then     string // where the last segment is moved after that
	}{"the last": {[]int{2}, "disk1"}, "the next": {[]int{1}, "disk2"}, "all others": {[]int{1, 2}, "disk1"}, "all": {[]int{0, 1, 2}, "disk1"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			o := w.store("k", parts...)
			rd, got := w.opens(1000)
			w.move(o.ContentID, "disk2", c.segments...)
			next := make([]byte, len(parts[0])-1000+3) // into the second segment
			_, err := io.ReadFull(rd.Body, next)
			w.must(err)
			w.move(o.ContentID, c.then, 2)
			rest, err := io.ReadAll(rd.Body)
			w.must(err)
			if got+string(next)+string(rest) != whole {
				t.Errorf("%d bytes of %d, or wrong ones", len(got)+len(next)+len(rest), len(whole))
			}
			w.must(rd.Body.Close())
			w.has("k", whole)
			w.sound()
		})
	}
}

// What a reader has begun is read to its end where the same bytes lie under the key
// by then: under a version that differs in its attributes only, or was stored again.
func TestReadContinuesUnderAnotherVersionOfTheSameBytes(t *testing.T) {
	parts := layouts["parts"]
	for name, rewrite := range map[string]func(*world){
		"retagged": func(w *world) {
			_, err := w.Update(w.ctx, ledger.Update{Bucket: bucket, Key: "k", Tags: &map[string]string{"a": "b"}})
			w.must(err)
		},
		"stored again": func(w *world) { w.store("k", parts...) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			o := w.store("k", parts...)
			rd, got := w.opens(1000)
			rewrite(w)
			w.move(o.ContentID, "disk2", 1, 2)
			rest, err := io.ReadAll(rd.Body)
			w.must(err)
			if got+string(rest) != strings.Join(parts, "") {
				t.Error("wrong bytes")
			}
			w.must(rd.Body.Close())
		})
	}
}

// The version that is being read is replaced or removed, and nobody kept the
// segments that it still has to open: the reader is told so, and gets no byte of
// another version.
func TestReplacedWhileItIsRead(t *testing.T) {
	parts := layouts["parts"]
	for name, replace := range map[string]func(*world){
		"replaced": func(w *world) { w.store("k", parts[0], parts[1], noise(len(parts[2]), 99)) },
		"removed": func(w *world) {
			_, err := w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.store("k", parts...)
			rd, got := w.opens(1000)
			replace(w)
			w.reclaim()
			rest, err := io.ReadAll(rd.Body)
			w.wants(err, lethe.ErrUnavailable)
			if got += string(rest); got != parts[0] {
				t.Errorf("%d bytes, want the %d of the segment that was open", len(got), len(parts[0]))
			}
			if !strings.Contains(err.Error(), "replaced or removed while it was read") {
				t.Errorf("the reader is not told why: %v", err)
			}
			w.must(rd.Body.Close())
		})
	}
}
