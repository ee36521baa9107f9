package sqlledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// inlineCommit returns a commit whose bytes go into the ledger.
func (l *fixture) inlineCommit(key, body string) ledger.Commit {
	b := ledger.Body{Bytes: []byte(body)}
	b = ledger.NewBody(b.Hash(), b.Bytes)
	c := commitOf(l.DB, key, ledger.Uploaded{Size: int64(len(body))})
	c.Blobs, c.Inline = nil, b
	c.Content = ledger.ContentKey{Kind: lethe.Whole, Digest: b.Digest, Size: int64(len(body))}
	return c
}

// change runs a statement past the ledger's methods.
func (l *fixture) change(query string, args ...any) {
	l.t.Helper()
	l.ok(l.write(l.ctx, "damage", func(x *tx) error {
		_, err := x.Exec(query, args...)
		return err
	}))
}

var (
	damageBody  = register(`UPDATE bodies SET head = ?2 WHERE no = (SELECT body_no FROM contents WHERE id = ?1)`)
	otherBody   = register(`UPDATE contents SET body_no = ?2 WHERE id = ?1`)
	emptyBodies = register(`DELETE FROM bodies`)
	loseBody    = register(`DELETE FROM bodies WHERE no = (SELECT body_no FROM contents WHERE id = ?1)`)
	strayBody   = register(`INSERT INTO bodies (crc32c, head, tail) VALUES (0, ?1, ?1)`)
)

// TestDamagedInlineBytes: readers see that inline bytes are damaged, a check finds it, and
// whoever writes the same bytes again mends them for all.
func TestDamagedInlineBytes(t *testing.T) {
	l := newLedger(t)
	first, err := l.Commit(l.ctx, l.inlineCommit("a", "body"))
	l.ok(err)
	l.change(damageBody, first.Object.ContentID, []byte("b0dy"))
	r, err := l.Resolve(l.ctx, "b", "a")
	l.ok(err)
	l.refused(r.Inline.Check(r.Object.Size), lethe.ErrCorrupt)
	page, err := l.CheckBodies(l.ctx, "", 10)
	l.ok(err)
	if page.Last != first.Object.ContentID || page.Contents != 1 || page.Bytes != 4 || len(page.Wrong) != 1 || page.Wrong[0].Name != "content "+string(first.Object.ContentID) {
		t.Fatalf("found %+v", page)
	}
	again, err := l.Commit(l.ctx, l.inlineCommit("b", "body"))
	l.ok(err)
	if !again.Duplicate || again.Object.ContentID != first.Object.ContentID {
		t.Fatalf("made %+v", again)
	}
	r, err = l.Resolve(l.ctx, "b", "a")
	l.ok(err)
	l.ok(r.Inline.Check(r.Object.Size))
}

// TestDamagedInlineBytesAreNotReferredTo: without its bytes, nothing new refers to a damaged
// inline content. An upload of them takes its place, for all that refer to it.
func TestDamagedInlineBytesAreNotReferredTo(t *testing.T) {
	l := newLedger(t)
	first, err := l.Commit(l.ctx, l.inlineCommit("a", "body"))
	l.ok(err)
	l.change(damageBody, first.Object.ContentID, []byte("b0dy"))
	known := l.inlineCommit("b", "body")
	known.Inline = ledger.Body{}
	_, err = l.Commit(l.ctx, known)
	l.refused(err, lethe.ErrContentGone)
	copied := l.inlineCommit("c", "body")
	copied.Inline, copied.Source = ledger.Body{}, &ledger.Source{Bucket: "b", Key: "a", ID: first.Object.ID}
	_, err = l.Commit(l.ctx, copied)
	l.refused(err, lethe.ErrContentGone)
	up := l.inlineCommit("d", "body")
	up.Inline, up.Blobs = ledger.Body{}, []ledger.Uploaded{{Blob: l.begin(4), Size: 4, Digest: up.Content.Digest}}
	made, err := l.Commit(l.ctx, up)
	l.ok(err)
	if made.Duplicate || made.Object.ContentID != first.Object.ContentID {
		t.Fatalf("made %+v", made)
	}
	for _, key := range []string{"a", "d"} {
		r, err := l.Resolve(l.ctx, "b", key)
		l.ok(err)
		if r.Inline.Inline() || len(r.Segments) != 1 || r.Segments[0].Blobs[0].ID != up.Blobs[0].Blob {
			t.Errorf("%s lies in %+v", key, r)
		}
	}
}

// TestBytesOfAnotherContent: a content that names the row of another one by damage does not
// hand out its bytes.
func TestBytesOfAnotherContent(t *testing.T) {
	l := newLedger(t)
	one, err := l.Commit(l.ctx, l.inlineCommit("a", "body"))
	l.ok(err)
	_, err = l.Commit(l.ctx, l.inlineCommit("b", "wrong"))
	l.ok(err)
	l.change(otherBody, one.Object.ContentID, 2)
	r, err := l.Resolve(l.ctx, "b", "a")
	l.ok(err)
	l.refused(r.Inline.Check(int64(len(r.Inline.Bytes))), lethe.ErrCorrupt)
	l.change(otherBody, one.Object.ContentID, 1)
}

// TestRecountInline: a recount finds inline contents without bytes, and bytes without one.
// What has lost its bytes can be deleted nonetheless.
func TestRecountInline(t *testing.T) {
	l := newLedger(t)
	o, err := l.Commit(l.ctx, l.inlineCommit("a", "body"))
	l.ok(err)
	l.change(strayBody, []byte("stray"))
	l.change(loseBody, o.Object.ContentID)
	found, err := l.Recount(l.ctx)
	l.ok(err)
	if len(found) != 2 || found[0].What != "inline bytes" || found[1].What != "inline bytes" || found[0].Name == found[1].Name {
		t.Fatalf("found %+v", found)
	}
	l.change(emptyBodies)
	l.remove("a") // although its bytes are missing
}

// TestMissingInlineBytes: whoever writes bytes again whose row is missing brings them back.
func TestMissingInlineBytes(t *testing.T) {
	l := newLedger(t)
	first, err := l.Commit(l.ctx, l.inlineCommit("a", "body"))
	l.ok(err)
	l.change(loseBody, first.Object.ContentID)
	_, err = l.Commit(l.ctx, l.inlineCommit("b", "body"))
	l.ok(err)
	r, err := l.Resolve(l.ctx, "b", "a")
	l.ok(err)
	l.ok(r.Inline.Check(r.Object.Size))
}

// TestPlacedBesideInline: a walk of the contents on backends passes any number of inline ones,
// a page in a transaction.
func TestPlacedBesideInline(t *testing.T) {
	l := newLedger(t)
	l.recountPage = 2
	reads := 0
	l.OnTransactions(func(ctx context.Context, _ string) (context.Context, func(Transaction)) {
		return ctx, func(Transaction) { reads++ }
	})
	var want []lethe.ID
	for _, key := range []string{"a", "b", "c", "D", "e", "F", "G", "h"} {
		l.clock.Advance(time.Second)
		if strings.ToLower(key) == key {
			_, err := l.Commit(l.ctx, l.inlineCommit(key, key))
			l.ok(err)
			continue
		}
		want = append(want, l.putTTL(key, key, 0).Object.ContentID)
	}
	for limit, pages := range map[int]int{0: 5, 1: 2, 2: 3, 3: 4, 9: 5} {
		reads = 0
		list, err := l.PlacedContents(l.ctx, "", limit)
		l.ok(err)
		if reads != pages {
			t.Errorf("up to %d contents took %d transactions, want %d", limit, reads, pages)
		}
		var have []lethe.ID
		for _, p := range list {
			have = append(have, p.ID)
		}
		if some := want[:min(len(want), int(bounded(limit)))]; !slices.Equal(have, some) {
			t.Errorf("of at most %d, found %v, want %v", limit, have, some)
		}
	}
}

// TestLostInlineBytes: a content whose bytes were lost takes none from another one, neither
// when it is read nor when it is mended or goes.
func TestLostInlineBytes(t *testing.T) {
	l := newLedger(t)
	lost, err := l.Commit(l.ctx, l.inlineCommit("a", "lost"))
	l.ok(err)
	l.change(loseBody, lost.Object.ContentID)
	_, err = l.Commit(l.ctx, l.inlineCommit("b", "next"))
	l.ok(err)
	if r, err := l.Resolve(l.ctx, "b", "a"); !errors.Is(err, lethe.ErrCorrupt) {
		t.Errorf("read %q, %v, want an error", r.Inline.Bytes, err)
	}
	_, err = l.Commit(l.ctx, l.inlineCommit("c", "lost"))
	l.ok(err)
	l.remove("a")
	l.remove("c")
	r, err := l.Resolve(l.ctx, "b", "b")
	l.ok(err)
	if string(r.Inline.Bytes) != "next" {
		t.Errorf("read %q, want the bytes of its own content", r.Inline.Bytes)
	}
}

// TestStatReadsNoBytes: looking an object up does not read the bytes that lie in the ledger.
func TestStatReadsNoBytes(t *testing.T) {
	l := newLedger(t)
	body := strings.Repeat("x", ledger.MaxInline)
	want, err := l.Commit(l.ctx, l.inlineCommit("a", body))
	l.ok(err)
	visited := func(look func()) int64 {
		before, err := l.PagesVisited(l.ctx)
		l.ok(err)
		look()
		after, err := l.PagesVisited(l.ctx)
		l.ok(err)
		return after - before
	}
	stat := visited(func() {
		r, err := l.StatObject(l.ctx, "b", "a")
		l.ok(err)
		if o := r.Object; o.ID != want.Object.ID || o.Size != ledger.MaxInline {
			t.Errorf("found %+v", o)
		}
	})
	whole := visited(func() {
		_, err := l.Resolve(l.ctx, "b", "a")
		l.ok(err)
	})
	if stat >= whole-ledger.MaxInline/8192 {
		t.Errorf("a look visited %d pages, with the bytes %d", stat, whole)
	}
}
