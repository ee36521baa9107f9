package reclaim_test

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
)

// check verifies, and returns the problems by kind and name.
func (w *world) check(checksums bool) (found []reclaim.Problem) {
	w.Helper()
	v := &reclaim.Verify{Ledger: w.ledger, Stores: w.stores, Store: w.store, Checksums: checksums, Limit: 2,
		Report: func(p reclaim.Problem) { found = append(found, p) }}
	got := w.pass(v)
	want(w, "problems", got["problems"], int64(len(found)))
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
		w.put(k, "bytes of "+k)
	}
	w.intent("pending", "bytes", false)
	w.upload(w.intent("sent", "bytes", false), "bytes")
	w.remove("a", "b")
	g := w.guard()
	w.must(g.Advance(w.ctx, "main"))
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
		"lost":      {func(w *world, b lethe.ID) { w.bytes.Lose(w.name(b)) }, false, "missing", true},
		"short":     {func(w *world, b lethe.ID) { w.bytes.Set(w.name(b), []byte("byt")) }, false, "damaged", true},
		"changed":   {func(w *world, b lethe.ID) { w.bytes.Set(w.name(b), []byte("bytez")) }, true, "damaged", true},
		"orphan":    {func(w *world, _ lethe.ID) { w.bytes.Set(w.name(w.id()), []byte("stray")) }, false, "orphan", false},
		"foreign":   {func(w *world, _ lethe.ID) { w.bytes.Set("somebody/else", []byte("x")) }, false, "foreign", false},
		"no answer": {func(w *world, _ lethe.ID) { w.onlyStatFails() }, false, "unreadable", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.put("a", "bytes")
			c.harm(w, b)
			before := w.bytes.Len()
			w.one(w.check(c.checksums), c.kind)
			row, _ := w.ledger.Blob(b)
			want(w, "suspect", row.Suspect, c.suspect)
			want(w, "blobs left", w.bytes.Len(), before)
		})
	}
}

func (w *world) onlyStatFails() {
	w.fault = func(c blobtest.Call) blobtest.Fault {
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
	b := w.put("a", "bytes")
	w.bytes.Set(w.name(b), []byte("bytez"))
	w.fault = func(c blobtest.Call) blobtest.Fault {
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
	b := w.put("a", "bytes")
	_, err := w.ledger.MarkSuspect(w.ctx, []lethe.ID{b}, "a test")
	w.must(err)
	if found := w.check(true); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	row, _ := w.ledger.Blob(b)
	want(w, "suspect", row.Suspect, false)
}

// Only the digest clears a blob of suspicion: one with changed bytes of the right
// size stays suspect, or what is written next would be thrown away for it.
func TestVerifyWithoutChecksumsClearsNoDamage(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", "bytes")
	w.bytes.Set(w.name(b), []byte("bytez"))
	w.one(w.check(true), "damaged")
	w.one(w.check(false), "damaged")
	row, _ := w.ledger.Blob(b)
	want(w, "suspect", row.Suspect, true)
}

// A blob that is deleted while it is verified is no loss.
func TestVerifyBesideADelete(t *testing.T) {
	w := newWorld(t)
	w.put("a", "bytes")
	done := false
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat && !done {
			done = true
			w.remove("a")
			want(w, "gone", w.pass(w.clean())["gone"], 1)
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
	w.put("a", "bytes")
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpList {
			return blobtest.Fault{Kind: blobtest.Partial, Keep: 1}
		}
		return blobtest.Fault{}
	}
	v := &reclaim.Verify{Ledger: w.ledger, Stores: w.stores, Store: w.store, Limit: 10}
	step := v.Pass("")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.ctx, &reclaim.Counts{})
	}
	if !blobtest.Injected(err) {
		t.Errorf("the pass ended with %v", err)
	}
}

// Differences in the ledger's counts are found by name.
func TestProblemsNameTheirPlace(t *testing.T) {
	p := reclaim.Problem{Kind: "missing", Backend: "main", Name: "blob 1", Detail: "live row without bytes"}
	want(newWorld(t), "text", p.String(), "missing: blob 1 on main: live row without bytes")
	p = reclaim.Problem{Kind: "books", Name: "content 1", Detail: "refs is 1, should be 2"}
	want(newWorld(t), "text", p.String(), "books: content 1: refs is 1, should be 2")
}

// mute is a ledger that does not answer queries for rows by id.
type mute struct {
	reclaim.VerifyLedger
	err error
}

func (m mute) BlobsByID(context.Context, []lethe.ID) ([]ledger.Blob, error) { return nil, m.err }

// Whether missing bytes still have a row must be known: a pass that could not find
// out fails.
func TestVerifyDoesNotPassOverWhatItCannotTell(t *testing.T) {
	w := newWorld(t)
	w.bytes.Lose(w.name(w.put("a", "bytes")))
	v := &reclaim.Verify{Ledger: mute{w.ledger, lethe.ErrUnavailable}, Stores: w.stores, Store: w.store, Limit: 2}
	step := v.Pass("test")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.ctx, &reclaim.Counts{})
	}
	if !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("the pass ended with %v, want %v", err, lethe.ErrUnavailable)
	}
}

// A verifier that was suspended during a read renews no trust: a copy is verified
// as of the start of the read.
func TestAVerifierThatSleptRenewsNothing(t *testing.T) {
	w := newWorld(t)
	id := w.put("k", "bytes")
	w.clock.Advance(time.Minute)
	began := w.clock.Now()
	w.fault = func(blobtest.Call) blobtest.Fault {
		w.clock.Advance(10 * time.Hour)
		return blobtest.Fault{}
	}
	w.pass(&reclaim.Verify{Ledger: w.ledger, Stores: w.stores, Store: w.store, Checksums: true, Limit: 2, Boot: w.clock})
	rows, err := w.ledger.BlobsByID(w.ctx, []lethe.ID{id})
	w.must(err)
	want(w, "verified", rows[0].VerifiedAt, began)
}
