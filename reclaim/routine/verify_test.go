package routine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// check verifies, and returns the problems by kind and name.
func (w *world) check(checksums bool) (found []reclaim.Problem) {
	w.Helper()
	v := &routine.Verify{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Checksums: checksums, Limit: 2,
		Report: func(p reclaim.Problem) { found = append(found, p) }}
	got := w.Pass(v)
	reclaimtest.Want(w, "problems", got["problems"], int64(len(found)))
	return found
}

// one fails unless there is one problem, of the kind.
func (w *world) one(found []reclaim.Problem, kind string) {
	w.Helper()
	if len(found) != 1 || found[0].Kind != kind {
		w.Errorf("found %v, want one problem of kind %q", found, kind)
	}
}

// A sound store has no problems, whatever its blobs are going through.
func TestVerifyFindsNothing(t *testing.T) {
	w := newWorld(t)
	for _, k := range strings.Split("abcdefg", "") {
		w.Put(k, "bytes of "+k)
	}
	w.Intent("pending", "bytes", false)
	w.Upload(w.Intent("sent", "bytes", false), "bytes")
	w.Remove("a", "b")
	g := w.Pairing()
	w.Must(g.Advance(w.Ctx, "main"))
	if found := w.check(true); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestVerifyFindsHarm(t *testing.T) {
	for name, c := range map[string]struct {
		harm      func(w *world, b lethe.ID)
		checksums bool
		kind      string
		suspect   bool
	}{
		"lost":      {func(w *world, b lethe.ID) { w.Bytes.Lose(w.BlobName(b)) }, false, "missing", true},
		"short":     {func(w *world, b lethe.ID) { w.Bytes.Set(w.BlobName(b), []byte("byt")) }, false, "damaged", true},
		"changed":   {func(w *world, b lethe.ID) { w.Bytes.Set(w.BlobName(b), []byte("bytez")) }, true, "damaged", true},
		"orphan":    {func(w *world, _ lethe.ID) { w.Bytes.Set(w.BlobName(w.ID()), []byte("stray")) }, false, "orphan", false},
		"foreign":   {func(w *world, _ lethe.ID) { w.Bytes.Set("somebody/else", []byte("x")) }, false, "foreign", false},
		"no answer": {func(w *world, _ lethe.ID) { w.onlyStatFails() }, false, "unreadable", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.Put("a", "bytes")
			c.harm(w, b)
			before := w.Bytes.Len()
			w.one(w.check(c.checksums), c.kind)
			row, _ := w.Ledger.Blob(b)
			reclaimtest.Want(w, "suspect", row.Suspect, c.suspect)
			reclaimtest.Want(w, "blobs left", w.Bytes.Len(), before)
		})
	}
}

func (w *world) onlyStatFails() {
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat {
			return blobtest.Fault{Kind: blobtest.Down}
		}
		return blobtest.Fault{}
	}
}

// Without checksums changed bytes of the same size are not found, and the count of
// verified blobs is missing.
func TestVerifyWithoutChecksumsReadsNothing(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Bytes.Set(w.BlobName(b), []byte("bytez"))
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpGet {
			t.Error("bytes were read")
		}
		return blobtest.Fault{}
	}
	if found := w.check(false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// A suspect blob that is found sound again counts as a copy again.
func TestVerifyClearsSuspicion(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	_, err := w.Ledger.MarkSuspect(w.Ctx, []lethe.ID{b}, "a test")
	w.Must(err)
	if found := w.check(true); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "suspect", row.Suspect, false)
}

// Only the digest clears a blob of suspicion: one with changed bytes of the right
// size stays suspect, or what is written next would be thrown away for it.
func TestVerifyWithoutChecksumsClearsNoDamage(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Bytes.Set(w.BlobName(b), []byte("bytez"))
	w.one(w.check(true), "damaged")
	w.one(w.check(false), "damaged")
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "suspect", row.Suspect, true)
}

// A blob that is deleted while it is verified is no loss.
func TestVerifyBesideADelete(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes")
	done := false
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat && !done {
			done = true
			w.Remove("a")
			reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
		}
		return blobtest.Fault{}
	}
	if found := w.check(false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// A listing that ends early proves nothing: the pass fails instead of finding
// orphans, or nothing.
func TestVerifyRefusesBrokenListings(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes")
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpList {
			return blobtest.Fault{Kind: blobtest.Partial, Keep: 1}
		}
		return blobtest.Fault{}
	}
	v := &routine.Verify{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Limit: 10}
	step := v.Pass("")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.Ctx, func(string, int64) {})
	}
	if !blobtest.Injected(err) {
		t.Errorf("the pass ended with %v", err)
	}
}

// Differences in the ledger's counts are found by name.
func TestProblemsNameTheirPlace(t *testing.T) {
	p := reclaim.Problem{Kind: "missing", Backend: "main", Name: "blob 1", Detail: "live row without bytes"}
	reclaimtest.Want(newWorld(t), "text", p.String(), "missing: blob 1 on main: live row without bytes")
	p = reclaim.Problem{Kind: "books", Name: "content 1", Detail: "refs is 1, should be 2"}
	reclaimtest.Want(newWorld(t), "text", p.String(), "books: content 1: refs is 1, should be 2")
}

// mute is a ledger that does not answer queries for rows by id.
type mute struct {
	routine.VerifyLedger
	err error
}

func (m mute) BlobsByID(context.Context, []lethe.ID) ([]ledger.Blob, error) { return nil, m.err }

// Whether missing bytes still have a row must be known: a pass that could not find
// out fails.
func TestVerifyDoesNotPassOverWhatItCannotTell(t *testing.T) {
	w := newWorld(t)
	w.Bytes.Lose(w.BlobName(w.Put("a", "bytes")))
	v := &routine.Verify{Ledger: mute{w.Ledger, lethe.ErrUnavailable}, Stores: w.Stores, Store: w.Store, Limit: 2}
	step := v.Pass("test")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.Ctx, func(string, int64) {})
	}
	if !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("the pass ended with %v, want %v", err, lethe.ErrUnavailable)
	}
}

// A verifier that was suspended during a read renews no trust: a copy is verified
// as of the start of the read.
func TestAVerifierThatSleptRenewsNothing(t *testing.T) {
	w := newWorld(t)
	id := w.Put("k", "bytes")
	w.Clock.Advance(time.Minute)
	began := w.Clock.Now()
	w.Fault = func(blobtest.Call) blobtest.Fault {
		w.Clock.Advance(10 * time.Hour)
		return blobtest.Fault{}
	}
	w.Pass(&routine.Verify{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Checksums: true, Limit: 2, Boot: w.Clock})
	rows, err := w.Ledger.BlobsByID(w.Ctx, []lethe.ID{id})
	w.Must(err)
	reclaimtest.Want(w, "verified", rows[0].VerifiedAt, began)
}

// Bytes that lie in the ledger are read with checksums only, a page of contents in a step,
// and each counts as progress.
func TestVerifyReadsInlineBytes(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"a", "b", "c"} {
		c := w.Commit(key, key, "")
		c.Blobs, c.Inline = nil, ledger.NewBody(reclaimtest.Digest(key), []byte(key))
		_, err := w.Ledger.Commit(w.Ctx, c)
		w.Must(err)
	}
	r, err := w.Ledger.Resolve(w.Ctx, "b", "b")
	w.Must(err)
	r.Inline.Bytes[0] ^= 1
	if found := w.check(false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	v := &routine.Verify{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Checksums: true, Limit: 2, Boot: w.Clock}
	got := w.Pass(v)
	for name, want := range map[string]int64{"inline": 3, "bytes": 3, "problems": 1, "damaged": 1, reclaim.Items: 3} {
		reclaimtest.Want(w, name, got[name], want)
	}
}
