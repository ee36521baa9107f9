package usage_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/reclaim/usage"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const day = 24 * time.Hour

// world is a ledger with a random history in one bucket with an undo window.
type world struct {
	*testing.T
	*memledger.DB
	clock *clocktest.Clock
	rng   *rand.Rand
}

var rules = lifecycle.Rules{
	{ID: "logs", Prefix: "logs/", Days: 3}, {ID: "old", Prefix: "a/b/", Days: 40}, {ID: "soon", Tags: map[string]string{"t": "1"}, Days: 1},
	{ID: "uploads", Prefix: "logs/", AbortDays: 1}, {ID: "off", Prefix: "a", Days: 1, Disabled: true},
}

func newWorld(t *testing.T, seed uint64) *world {
	clock := clocktest.At(lethe.FromTime(time.Date(2031, 5, 4, 13, 2, 1, 0, time.UTC)))
	w := &world{T: t, clock: clock, rng: rand.New(rand.NewPCG(seed, 1)), DB: memledger.New(ledger.Options{Clock: clock, MaxRefs: 5})}
	ctx := t.Context()
	ok(t, second(w.AddBackend(ctx, ledger.Backend{ID: "disk"})))
	ok(t, second(w.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "o", BucketSettings: ledger.BucketSettings{Undo: 2 * day}})))
	ok(t, second(w.CreateBucket(ctx, ledger.Bucket{Name: "other", Owner: "o"})))
	return w
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

func (w *world) id() lethe.ID { return lethe.RandomID(w.clock.Now()) }

func (w *world) key() string {
	return []string{"", "a/", "a/b/", "a/b/c/", "a0/", "logs/", "logs/2031/"}[w.rng.IntN(7)] + fmt.Sprint(w.rng.IntN(12))
}

// put writes an object, often of bytes that others have.
func (w *world) put(bucket string) {
	body := w.rng.IntN(20)
	size := []int64{0, 1, 7, 5 << 10, 70 << 10, 2 << 20}[body%6]
	c := ledger.Commit{
		Op: w.id(), What: "put", Object: ledger.Object{Bucket: bucket, Key: w.key(), Size: size, ETag: "e", Tags: map[string]string{"t": fmt.Sprint(w.rng.IntN(8))}},
		Content: ledger.ContentKey{Domain: "o", Kind: lethe.Whole, Digest: fmt.Sprintf("%016d%048d", body, 0), Size: size},
	}
	if w.rng.IntN(3) == 0 {
		c.TTL = time.Duration(w.rng.IntN(100*24)) * time.Hour
	}
	if size > 0 {
		in, err := w.Begin(w.Context(), ledger.Intent{ID: w.id(), Backend: "disk", Size: size})
		ok(w.T, err)
		c.Blobs = []ledger.Uploaded{{Blob: in.ID, Size: size, Digest: c.Content.Digest, CRC32C: 1}}
	}
	ok(w.T, second(w.Commit(w.Context(), c)))
}

func (w *world) act() {
	ctx := w.Context()
	switch w.rng.IntN(10) {
	case 0:
		w.clock.Advance(time.Duration(w.rng.IntN(20)) * time.Hour)
	case 1:
		ok(w.T, second(w.Delete(ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: w.key()}}})))
	case 2:
		_, err := w.CreateUpload(ctx, ledger.Upload{Bucket: "b", Key: w.key(), Owner: "o"})
		ok(w.T, err)
	case 3:
		if w.rng.IntN(4) == 0 {
			ok(w.T, second(w.Expire(ctx, ledger.Batch{Limit: 100})))
		}
	case 4:
		w.put("other")
	default:
		w.put("b")
	}
}

// count walks over the bucket in pages.
func (w *world) count(prefix string, limit int) usage.Summary {
	walk := usage.Walk{Ledger: w, Bucket: "b", Prefix: prefix, Stale: ledger.Stale{Age: day}}
	for more := true; more; {
		var err error
		_, more, err = walk.Step(w.Context(), limit)
		ok(w.T, err)
	}
	return walk.Summary()
}

// TestCount compares a walk with a plain count of every row, in random histories.
func TestCount(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		for range 150 {
			w.act()
		}
		complete := slices.Clone(rules)
		ok(t, complete.Complete())
		ok(t, second(w.SetRules(t.Context(), ledger.RulesChange{Bucket: "b", Rules: complete}))) // in force, and not stamped
		for _, h := range []ledger.Hold{{Scope: ledger.HoldPrefix, Key: "a/b/c/"}, {Scope: ledger.HoldObject, Key: "3"}} {
			h.Bucket = "b"
			ok(t, second(w.AddHold(t.Context(), h)))
		}
		b, err := w.Rules(t.Context(), "b")
		ok(t, err)
		for _, prefix := range []string{"", "a/", "logs/2031/", "a", "nothing/"} {
			want := w.plainly(b.Rules, prefix)
			for _, limit := range []int{1, 7, 1000} {
				have := w.count(prefix, limit)
				evened(&have, want)
				if !reflect.DeepEqual(have, want) {
					t.Fatalf("seed %d, prefix %q, pages of %d: counted\n%+v\nwant\n%+v", seed, prefix, limit, have, want)
				}
			}
		}
		whole := w.count("", 1000)
		bucket, err := w.Bucket(t.Context(), "b")
		ok(t, err)
		if bucket.Objects != whole.Objects || bucket.Bytes != whole.Bytes {
			t.Fatalf("seed %d: the counters of the bucket have %d of %d, the count %d of %d", seed, bucket.Objects, bucket.Bytes, whole.Objects, whole.Bytes)
		}
	}
}

// evened removes differences of half a byte that was rounded up or down.
func evened(have *usage.Summary, want usage.Summary) {
	near := func(have *int64, want int64) {
		if d := *have - want; d >= -1 && d <= 1 {
			*have = want
		}
	}
	near(&have.Stored, want.Stored)
	for i := range min(len(have.Prefixes), len(want.Prefixes)) {
		near(&have.Prefixes[i].Stored, want.Prefixes[i].Stored)
	}
}

// plain counts every row by itself.
type plain struct {
	usage.Summary
	now    lethe.Time
	rules  lifecycle.Rules
	refs   map[lethe.ID]int64
	due    map[string]*usage.Due
	below  map[string]*usage.Prefix
	stored map[string]float64
	shared map[lethe.ID][]reference
}

// reference is a row that refers to a shared content.
type reference struct {
	at    lethe.Time
	key   string // of the calendar
	bytes int64
	stays bool
}

// plainly counts what is below a prefix.
func (w *world) plainly(rs lifecycle.Rules, prefix string) usage.Summary {
	c := plain{
		now: w.clock.Now(), rules: rs, refs: map[lethe.ID]int64{"": 1}, due: map[string]*usage.Due{},
		below: map[string]*usage.Prefix{prefix: {Prefix: prefix}}, stored: map[string]float64{}, shared: map[lethe.ID][]reference{},
		Summary: usage.Summary{TakenAt: w.clock.Now(), Prefix: prefix, Rules: rs.Digest()},
	}
	for _, n := range []int64{4096, 65536, 1 << 20, 16 << 20, 256 << 20, 0} {
		c.Sizes = append(c.Sizes, usage.Class{Below: n})
	}
	for _, d := range []int64{1, 7, 30, 90, 365, 0} {
		c.Ages = append(c.Ages, usage.Class{Below: d * 86400})
	}
	b, err := w.Bucket(w.Context(), "b")
	ok(w.T, err)
	for x := range w.EachContent() {
		c.refs[x.ID] = x.Refs
	}
	for o := range w.EachObject() {
		if o.BucketID == b.ID && strings.HasPrefix(o.Key, prefix) {
			c.object(o)
		}
	}
	for e := range w.EachTrash() {
		if e.Object.Bucket == "b" && strings.HasPrefix(e.Object.Key, prefix) {
			c.Trash.Add(usage.Amount{Objects: 1, Bytes: e.Object.Size})
			c.ends(ledger.Ending{At: e.PurgeAt, By: ledger.EndsByUndo}, e.Object.Size, e.Object.ContentID, isHeld(e.Object.Key))
		}
	}
	for u := range w.EachUpload() {
		if !strings.HasPrefix(u.Key, prefix) {
			continue
		}
		c.Uploads.Objects++
		end := ledger.Ending{At: u.TouchedAt.Add(day), By: ledger.EndsByAbort}
		if r, at := rs.Aborts(u.Key, u.CreatedAt); r != nil && at < end.At {
			end.At, end.Rule = at, r.ID
		}
		c.ends(end, 0, "", isHeld(u.Key))
	}
	c.free()
	return c.sorted()
}

func (c *plain) object(o *ledger.Object) {
	one, end, held := usage.Amount{Objects: 1, Bytes: o.Size}, o.EndsAt(c.now, c.rules), isHeld(o.Key)
	size := &c.Sizes[slices.IndexFunc(c.Sizes, func(x usage.Class) bool { return x.Below == 0 || o.Size < x.Below })]
	age := &c.Ages[slices.IndexFunc(c.Ages, func(x usage.Class) bool {
		return x.Below == 0 || c.now.Sub(o.ModifiedAt) < time.Duration(x.Below)*time.Second
	})]
	size.Add(one)
	age.Add(one)
	if end.At == 0 {
		size.WithoutEnd.Add(one)
		age.WithoutEnd.Add(one)
	}
	c.ends(end, o.Size, o.ContentID, held)
	if held {
		c.Held.Add(one)
	}
	for i := len(c.Prefix); i <= len(o.Key); i++ {
		p := o.Key[:i]
		if p != c.Prefix && !strings.HasSuffix(p, "/") {
			continue
		}
		if c.below[p] == nil {
			c.below[p] = &usage.Prefix{Prefix: p}
		}
		t := c.below[p]
		t.Add(one)
		c.stored[p] += float64(o.Size) / float64(c.refs[o.ContentID])
		if end.At == 0 {
			t.WithoutEnd.Add(one)
		}
		t.Newest = max(t.Newest, o.ModifiedAt)
		if t.Oldest == 0 || o.ModifiedAt < t.Oldest {
			t.Oldest = o.ModifiedAt
		}
	}
}

func (c *plain) ends(e ledger.Ending, bytes int64, content lethe.ID, held bool) {
	at, one := lethe.FromTime(e.At.Time().Truncate(day)), usage.Amount{Objects: 1, Bytes: bytes}
	if e.At <= c.now {
		at = 0
	}
	k := fmt.Sprint(at, e.By, e.Rule)
	switch {
	case e.At == 0:
		k = ""
	case at >= lethe.FromTime(c.now.Time().Truncate(day)).Add(usage.Days*day):
		c.Later.Add(one)
		k = ""
	case c.due[k] == nil:
		c.due[k] = &usage.Due{Day: at, By: e.By, Rule: e.Rule}
	}
	if k != "" && held {
		c.due[k].Held.Add(one)
	} else if k != "" {
		c.due[k].Add(one)
	}
	if content != "" {
		c.shared[content] = append(c.shared[content], reference{e.At, k, bytes, held || e.At == 0})
	}
}

// free adds what is freed with the last references.
func (c *plain) free() {
	for id, list := range c.shared {
		last, stays := list[0], false
		for _, r := range list {
			stays = stays || r.stays
			if r.at > last.at {
				last = r
			}
		}
		switch {
		case stays:
		case int64(len(list)) == c.refs[id]:
			if last.key != "" {
				c.due[last.key].Freed += last.bytes
			}
		default:
			for _, r := range list {
				if r.key != "" {
					c.due[r.key].AtLeast = true
				}
			}
		}
	}
}

func (c *plain) sorted() usage.Summary {
	for p, t := range c.below {
		t.Stored = int64(math.Round(c.stored[p]))
		for q := range c.below {
			if q != p && strings.HasPrefix(q, p) && !strings.Contains(strings.TrimSuffix(q[len(p):], "/"), "/") {
				t.Below++
			}
		}
		if p == c.Prefix {
			c.Totals, c.Below = t.Totals, t.Below
		} else {
			c.Prefixes = append(c.Prefixes, *t)
		}
	}
	slices.SortFunc(c.Prefixes, func(a, b usage.Prefix) int { return cmp.Compare(a.Prefix, b.Prefix) })
	for _, d := range c.due {
		c.Due = append(c.Due, *d)
	}
	slices.SortFunc(c.Due, func(a, b usage.Due) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.By, b.By), cmp.Compare(a.Rule, b.Rule))
	})
	return c.Summary
}

func isHeld(key string) bool { return strings.HasPrefix(key, "a/b/c/") || key == "3" }
