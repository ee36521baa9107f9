package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// fillKeys puts empty objects under keys; those of hidden have expired when it returns.
func fillKeys(t testing.TB, db *DB, clock *clocktest.Clock, keys []string, hidden func(string) bool) {
	t.Helper()
	for _, k := range keys {
		c := ledger.Commit{Op: lethe.RandomID(clock.Now()), What: "put", Object: ledger.Object{Bucket: "b", Key: k}}
		if hidden(k) {
			c.TTL = time.Second
		}
		if _, err := db.Commit(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(time.Second)
}

// listed pages through a listing and returns its entries in order, common
// prefixes marked by "*".
func listed(t *testing.T, db *DB, q ledger.ListQuery) (out []string) {
	t.Helper()
	for {
		page, err := db.List(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, o := range page.Objects {
			entries = append(entries, o.Key)
		}
		for _, p := range page.Prefixes {
			entries = append(entries, p+"*")
		}
		slices.SortFunc(entries, func(a, b string) int {
			return strings.Compare(strings.TrimSuffix(a, "*"), strings.TrimSuffix(b, "*"))
		})
		if out = append(out, entries...); len(entries) > q.Limit {
			t.Fatalf("page of %d for %+v", len(entries), q)
		}
		if !page.More {
			return out
		}
		if page.Next <= q.After && (page.Next == q.After || !strings.HasPrefix(q.After, page.Next)) {
			t.Fatalf("no progress behind %q: next %q", q.After, page.Next)
		}
		q.After = page.Next
	}
}

// expected is the listing by definition.
func expected(visible []string, q ledger.ListQuery) (out []string) {
	for _, k := range visible {
		if k <= q.After || !strings.HasPrefix(k, q.Prefix) {
			continue
		}
		entry := k
		if i := strings.Index(k[len(q.Prefix):], q.Delimiter); q.Delimiter != "" && i >= 0 {
			entry = k[:len(q.Prefix)+i+len(q.Delimiter)] + "*"
		}
		if entry == q.After+"*" || len(out) > 0 && out[len(out)-1] == entry {
			continue
		}
		out = append(out, entry)
	}
	return out
}

func TestListingIsWhatItsDefinitionSays(t *testing.T) {
	clock := newTestClock()
	db := openTest(t, Memory, ledger.Options{Clock: clock})
	setUp(t, db)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "/", "/", "é", "\U0010FFFF", "\uD7FF", "\uFFFF", " ", "%"}
	all := map[string]bool{}
	for len(all) < 400 {
		var key strings.Builder
		for range 1 + random.IntN(5) {
			key.WriteString(parts[random.IntN(len(parts))])
		}
		all[key.String()] = random.IntN(3) == 0
	}
	var keys, visible []string
	for k, hidden := range all {
		keys = append(keys, k)
		if !hidden {
			visible = append(visible, k)
		}
	}
	slices.Sort(keys)
	slices.Sort(visible)
	fillKeys(t, db, clock, keys, func(k string) bool { return all[k] })
	for range 500 {
		q := ledger.ListQuery{Bucket: "b", Limit: 1 + random.IntN(30)}
		if random.IntN(2) == 0 {
			q.Delimiter = []string{"/", "a", "é", "//", "\U0010FFFF"}[random.IntN(5)]
		}
		if random.IntN(2) == 0 {
			q.Prefix = string([]rune(keys[random.IntN(len(keys))])[:1])
		}
		if random.IntN(3) == 0 {
			q.After = keys[random.IntN(len(keys))]
		}
		if got, want := listed(t, db, q), expected(visible, q); !slices.Equal(got, want) {
			t.Fatalf("%+v:\n got %q\nwant %q", q, got, want)
		}
	}
}

// TestListingReadsLittle: common prefixes are skipped, and keys that are hidden
// cost a bounded number of rows for each page.
func TestListingReadsLittle(t *testing.T) {
	clock := newTestClock()
	db := openTest(t, Memory, ledger.Options{Clock: clock})
	setUp(t, db)
	var keys []string
	for i := range 3000 {
		keys = append(keys, fmt.Sprintf("many/%04d", i), fmt.Sprintf("zhidden%05d", i))
	}
	fillKeys(t, db, clock, append(keys, "one/x", "z"), func(k string) bool { return strings.HasPrefix(k, "zh") })
	err := db.read(context.Background(), "list", func(x *tx) error {
		b, err := x.bucket("b")
		if err != nil {
			return err
		}
		l := listing{t: x, q: ledger.ListQuery{Bucket: "b", Delimiter: "/"}, bucket: b.ID, limit: 3}
		page, err := l.run()
		if err == nil && (len(page.Prefixes) != 2 || len(page.Objects) != 1 || page.More || l.read > 3*walkOn+3000+10) {
			t.Errorf("%+v after %d rows", page, l.read)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListingStopsAmongHidden: a page ends empty rather than read without limit, and the
// next one continues.
func TestListingStopsAmongHidden(t *testing.T) {
	clock := newTestClock()
	db := openTest(t, Memory, ledger.Options{Clock: clock})
	setUp(t, db)
	if err := db.write(context.Background(), "fill", func(x *tx) error {
		b, err := x.bucket("b")
		for i := 0; i <= maxScan+1 && err == nil; i++ {
			err = x.insertObject(&ledger.Object{BucketID: b.ID, Key: fmt.Sprintf("k%06d", i), ID: "x", TTLAt: 1})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	fillKeys(t, db, clock, []string{"last"}, func(string) bool { return false })
	page, err := db.List(context.Background(), ledger.ListQuery{Bucket: "b", Limit: 1})
	if err != nil || len(page.Objects) != 0 || !page.More || page.Next != fmt.Sprintf("k%06d", maxScan-1) {
		t.Errorf("%+v %v", page, err)
	}
	if got := listed(t, db, ledger.ListQuery{Bucket: "b", Limit: 1}); !slices.Equal(got, []string{"last"}) {
		t.Error(got)
	}
}

func TestListingOfNothing(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	if _, err := db.List(ctx, ledger.ListQuery{Bucket: "b", Limit: 1}); !errors.Is(err, lethe.ErrNoSuchBucket) {
		t.Error(err)
	}
	setUp(t, db)
	mustPut(t, db, "k", "d")
	for _, q := range []ledger.ListQuery{{Limit: 0}, {Limit: 5, Prefix: "\xff"}, {Limit: 5, After: "k"}, {Limit: 5, Prefix: "\U0010FFFF", After: "z"}} {
		q.Bucket = "b"
		if page, err := db.List(ctx, q); err != nil || len(page.Objects)+len(page.Prefixes) != 0 || page.More {
			t.Errorf("%+v: %+v %v", q, page, err)
		}
	}
}

func TestFollowing(t *testing.T) {
	for prefix, want := range map[string]string{
		"": "", "a": "b", "a/": "a0", "a\U0010FFFF": "b", "\U0010FFFF": "", "\uD7FF": "\uE000", "é": "ê", "\x7f": "\u0080",
	} {
		if got := following(prefix); got != want {
			t.Errorf("following(%q) = %q, want %q", prefix, got, want)
		}
	}
}
