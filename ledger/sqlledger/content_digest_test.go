package sqlledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var digestRows = engine.RegisterFor(sqldb.SQLiteName, `SELECT content_id FROM digests d WHERE d.prefix >= '' ORDER BY prefix, domain`)

// digests returns which contents digests lead to.
func (l *fixture) digests() (found []lethe.ID) {
	l.t.Helper()
	l.ok(l.read(l.ctx, "digests", func(x *tx) (err error) {
		found, err = all(x, sqldb.One[lethe.ID], digestRows)
		return err
	}))
	return found
}

// inlineTTL commits a body that lives so long; 0: forever.
func (l *fixture) inlineTTL(key, body string, ttl time.Duration) ledger.Committed {
	l.t.Helper()
	c := l.inlineCommit(key, body)
	c.TTL = ttl
	out, err := l.Commit(l.ctx, c)
	l.ok(err)
	return out
}

// sweep sweeps all digests in steps of so many, and returns how many it removed.
func (l *fixture) sweep(limit int) (n int) {
	l.t.Helper()
	at := ""
	for range 1000 {
		next, some, err := l.SweepDigests(l.ctx, at, limit)
		l.ok(err)
		if n, at = n+some, next; at == "" {
			return n
		}
	}
	l.t.Fatal("the sweep does not end")
	return n
}

// TestDigestOfAnEndedContent: the digest of a content that ended leads to none, and to the next
// content of the same bytes from its first put on, whose row no sweep removes.
func TestDigestOfAnEndedContent(t *testing.T) {
	l := newLedger(t)
	first := l.inlineTTL("a", "body", 0)
	l.remove("a")
	if got := l.digests(); !slices.Equal(got, []lethe.ID{first.Object.ContentID}) {
		t.Fatalf("the digest leads to %v after its content ended", got)
	}
	second := l.inlineTTL("b", "body", 0)
	third := l.inlineTTL("c", "body", 0)
	if second.Duplicate || !third.Duplicate || third.Object.ContentID != second.Object.ContentID {
		t.Fatalf("made %+v and %+v", second, third)
	}
	l.change(sweepDigests, firstDigest, "g") // by a look before the second put
	if got := l.digests(); !slices.Equal(got, []lethe.ID{second.Object.ContentID}) {
		t.Errorf("the digest leads to %v, not to %s", got, second.Object.ContentID)
	}
}

// TestSweepDigests: a sweep removes what ended contents left, wherever it begins, if that is a
// quarter at least, and nothing else.
func TestSweepDigests(t *testing.T) {
	l := newLedger(t)
	var lasting []lethe.ID
	for i := range 100 {
		ttl := time.Duration(0)
		if i%5 < 2 {
			ttl = time.Hour
		}
		if o := l.inlineTTL(fmt.Sprint(i), fmt.Sprint("body ", i), ttl); ttl == 0 {
			lasting = append(lasting, o.Object.ContentID)
		}
	}
	if n := l.sweep(1000); n != 0 {
		t.Errorf("swept %d while none had ended", n)
	}
	l.clock.Advance(2 * time.Hour)
	_, err := l.Expire(l.ctx, ledger.Batch{Limit: 100})
	l.ok(err)
	if n := l.sweep(1000); n != 40 {
		t.Errorf("swept %d of 40", n)
	}
	got := l.digests()
	slices.Sort(got)
	slices.Sort(lasting)
	if !slices.Equal(got, lasting) {
		t.Errorf("%d digests are left for %d contents", len(got), len(lasting))
	}
	for i := range 14 {
		l.remove(fmt.Sprint(5*i + 2))
	}
	if n := l.sweep(1000); n != 0 {
		t.Errorf("swept %d of 60, less than a quarter", n)
	}
	if o := l.inlineTTL("again", "body 3", 0); !o.Duplicate {
		t.Error("a sweep lost the digest of a content")
	}
}

// TestSweepDigestsInSteps: a sweep in small steps ends, and removes all where nothing lives.
func TestSweepDigestsInSteps(t *testing.T) {
	l := newLedger(t)
	for i := range 50 {
		l.inlineTTL(fmt.Sprint(i), fmt.Sprint("body ", i), time.Hour)
	}
	l.clock.Advance(2 * time.Hour)
	_, err := l.Expire(l.ctx, ledger.Batch{Limit: 100})
	l.ok(err)
	if n := l.sweep(7); n != 50 || len(l.digests()) != 0 {
		t.Errorf("swept %d of 50, %d are left", n, len(l.digests()))
	}
}

// TestDigestsThatBeginAlike: contents whose digests begin alike are contents of their own.
func TestDigestsThatBeginAlike(t *testing.T) {
	l := newLedger(t)
	digests := []string{strings.Repeat("a", 64), strings.Repeat("a", 63) + "b"}
	ids := map[lethe.ID]bool{}
	for i := range 4 {
		c := l.inlineCommit(fmt.Sprint(i), fmt.Sprint("body ", i%2))
		c.Content.Digest = digests[i%2]
		c.Inline = ledger.NewBody(digests[i%2], c.Inline.Bytes)
		o, err := l.Commit(l.ctx, c)
		l.ok(err)
		ids[o.Object.ContentID] = true
		r, err := l.Resolve(l.ctx, "b", fmt.Sprint(i))
		l.ok(err)
		if want := fmt.Sprint("body ", i%2); string(r.Inline.Bytes) != want {
			t.Errorf("object %d has the bytes %q, not %q", i, r.Inline.Bytes, want)
		}
	}
	if len(ids) != 4 {
		t.Errorf("made %d contents, not 4: one of a beginning is found at a time", len(ids))
	}
}

// TestDigestPlans: digests are found and swept by their key.
func TestDigestPlans(t *testing.T) {
	db := openMemory(t)
	for text, want := range map[string]string{
		underKey:          "SEARCH d USING PRIMARY KEY (prefix=? AND domain=?)",
		knownContent.file: "SEARCH d USING PRIMARY KEY (prefix=? AND domain=?)",
		pageDigests:       "SEARCH d USING PRIMARY KEY (prefix>?)",
		sweepDigests:      "SEARCH d USING PRIMARY KEY (prefix>? AND prefix<?)",
	} {
		if got := strings.Join(plan(t, db, text), "\n"); !strings.Contains(got, want) {
			t.Errorf("no %q in the plan of %s:\n%s", want, text, got)
		}
	}
}
