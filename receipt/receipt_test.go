package receipt_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

const store = lethe.ID("store")

// some are receipts from a number on: of objects, and of their bytes.
func some(from, n int) (list []receipt.Receipt) {
	for i := from; i < from+n; i++ {
		content := lethe.ID(fmt.Sprint("content", i))
		list = append(list,
			receipt.Receipt{
				Kind: receipt.Object, At: receipt.Instant(i + 1), Reason: lethe.ReasonDelete, Size: int64(i), Content: content,
				Bucket: "bucket", Key: fmt.Sprint("key ", i%7, "\n\"{ü"), Version: lethe.ID(fmt.Sprint("v", i)), By: lethe.Caller{Key: "AKIA"},
			},
			receipt.Receipt{
				Kind: receipt.Bytes, At: receipt.Instant(i + 2), Reason: lethe.ReasonDelete, Size: int64(i), Content: content,
				Blob: lethe.ID(fmt.Sprint("blob", i)), Backend: "disk", How: receipt.Deleted,
			})
	}
	return list
}

// chain is segments of so many receipts each.
func chain(t *testing.T, sizes ...int) (out []receipt.Segment) {
	t.Helper()
	var last receipt.Seal
	for i, n := range sizes {
		s, err := receipt.Cut(store, last, []receipt.Batch{{ID: int64(i), Receipts: some(i*10_000, n)}}, lethe.Time(i+1)*1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		last, out = s.Seal, append(out, s)
	}
	return out
}

func check(list []receipt.Segment, noted ...receipt.Head) (receipt.Head, error) {
	c := receipt.Checker{Store: store, Noted: map[receipt.Head]string{}}
	for _, h := range noted {
		c.Noted[h] = "a note"
	}
	for _, s := range list {
		if err := c.Next(s.Seal, s.Pages); err != nil {
			return receipt.Head{}, err
		}
	}
	return c.End()
}

func TestChain(t *testing.T) {
	list := chain(t, 3, 1500, 1)
	if len(list[1].Pages) < 3 {
		t.Fatalf("3,000 receipts make %d pages", len(list[1].Pages))
	}
	head, err := check(list, list[0].Head(), list[2].Head())
	if err != nil || head != list[2].Head() {
		t.Fatalf("head %+v: %v", head, err)
	}
	list[0].Dropped, list[0].Pages = true, nil
	if _, err := check(list, list[0].Head()); err != nil {
		t.Errorf("from an anchor: %v", err)
	}
	if head, err := check(nil); err != nil || head != (receipt.Head{}) {
		t.Errorf("an empty chain: head %+v: %v", head, err)
	}
}

// rewritten is a way of rewriting a chain of three segments, and the seal at which
// it is found.
type rewritten struct {
	at     int64
	change func([]receipt.Segment) []receipt.Segment
}

// forged changes the receipts of the second segment's first page.
func forged(change func([]receipt.Receipt) []receipt.Receipt) rewritten {
	return second(func(s *receipt.Segment) {
		list, err := receipt.Decode(s.Pages[0].Body)
		if err == nil {
			s.Pages[0].Body, err = receipt.Encode(change(list))
		}
		if err != nil {
			panic(err)
		}
	})
}

// second changes the second segment in place.
func second(change func(*receipt.Segment)) rewritten {
	return rewritten{2, func(l []receipt.Segment) []receipt.Segment {
		change(&l[1])
		return l
	}}
}

// again cuts the segments after the first i once more, from other receipts.
func again(i int) rewritten {
	return rewritten{3, func(l []receipt.Segment) (out []receipt.Segment) {
		s, err := receipt.Cut(store, l[i-1].Seal, []receipt.Batch{{Receipts: some(7, 5)}}, 5)
		if err != nil {
			panic(err)
		}
		l[i] = s
		return l
	}}
}

var rewriting = map[string]rewritten{
	"a receipt says otherwise":             forged(func(r []receipt.Receipt) []receipt.Receipt { r[0].By.Key = "another"; return r }),
	"a receipt is missing":                 forged(func(r []receipt.Receipt) []receipt.Receipt { return r[1:] }),
	"a receipt was added":                  forged(func(r []receipt.Receipt) []receipt.Receipt { return append(r, some(99, 1)...) }),
	"a page that is not found by its name": second(func(s *receipt.Segment) { s.Pages[1].Lowest += 5 }),
	"a count of a page":                    second(func(s *receipt.Segment) { s.Pages[0].Count++ }),
	"a page is missing":                    second(func(s *receipt.Segment) { s.Pages = s.Pages[1:] }),
	"a page is damaged":                    second(func(s *receipt.Segment) { s.Pages[0].Body = s.Pages[0].Body[:100] }),
	"a time":                               second(func(s *receipt.Segment) { s.SealedAt++ }),
	"one says that it was dropped":         second(func(s *receipt.Segment) { s.Dropped, s.Pages = true, nil }),
	"receipts under the anchor": {1, func(l []receipt.Segment) []receipt.Segment {
		l[0].Dropped = true
		return l
	}},
	"a segment is missing":         {3, func(l []receipt.Segment) []receipt.Segment { return slices.Delete(l, 1, 2) }},
	"the first is missing":         {2, func(l []receipt.Segment) []receipt.Segment { return l[1:] }},
	"one was sealed anew":          again(1),
	"the last one was sealed anew": again(2),
	"it was cut short":             {2, func(l []receipt.Segment) []receipt.Segment { return l[:2] }},
}

// TestRewrittenChain: each way to rewrite a chain is found, at the seal concerned.
func TestRewrittenChain(t *testing.T) {
	for name, r := range rewriting {
		t.Run(name, func(t *testing.T) {
			list := chain(t, 3, 1500, 1)
			head := list[2].Head()
			_, err := check(r.change(list), head)
			var broken *receipt.Broken
			if !errors.As(err, &broken) || broken.Seq != r.at {
				t.Fatalf("answered %v, want a break at seal %d", err, r.at)
			}
		})
	}
}

// TestHeadBeforeTheAnchor: a head noted before the anchor proves nothing: any chain can
// follow once everything it covers is dropped.
func TestHeadBeforeTheAnchor(t *testing.T) {
	list := chain(t, 3, 5, 5)
	noted := list[0].Head()
	anchor := list[1]
	anchor.Dropped, anchor.Pages = true, nil
	for _, c := range []struct {
		chain  []receipt.Segment
		unheld int
	}{{list, 0}, {list[:1], 0}, {[]receipt.Segment{anchor}, 1}} {
		k := receipt.Checker{Store: store, Noted: map[receipt.Head]string{noted: "a note"}}
		for _, s := range c.chain {
			if err := k.Next(s.Seal, s.Pages); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.End(); err != nil || len(k.Unheld()) != c.unheld {
			t.Errorf("%d seals from %d on: %v, and %d heads are held against nothing", len(c.chain), c.chain[0].Seq, err, len(k.Unheld()))
		}
	}
}

// TestChainOfAnotherStore: the chain of another store fails the check.
func TestChainOfAnotherStore(t *testing.T) {
	s := chain(t, 1)[0]
	c := receipt.Checker{Store: "another"}
	if err := c.Next(s.Seal, s.Pages); err == nil {
		t.Fatal("the chain of another store holds")
	}
}

func TestEncode(t *testing.T) {
	for _, n := range []int{0, 1, 500} {
		list := some(0, n)
		body, err := receipt.Encode(list)
		if err != nil {
			t.Fatal(err)
		}
		back, err := receipt.Decode(body)
		if err != nil || !slices.Equal(back, list) {
			t.Fatalf("of %d receipts came back %d: %v", len(list), len(back), err)
		}
		if n == 500 && len(body)/len(list) > 60 {
			t.Errorf("%d bytes for %d receipts", len(body), len(list))
		}
	}
	for _, damaged := range []string{"{", "x", "{}\n{", strings.Repeat("\x28\xb5\x2f\xfd", 9)} {
		if _, err := receipt.Decode([]byte(damaged)); !errors.Is(err, lethe.ErrCorrupt) {
			t.Errorf("%q is decoded with %v", damaged, err)
		}
	}
}

// TestNames: names depend on how their parts are divided.
func TestNames(t *testing.T) {
	names := []receipt.Name{
		receipt.OfObject("a", "bc"), receipt.OfObject("ab", "c"), receipt.OfObject("", "abc"), receipt.OfContent("abc"), receipt.OfBlob("abc"),
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 5 {
		t.Error("two things have one name")
	}
}

func FuzzDecode(f *testing.F) {
	for _, n := range []int{1, 40} {
		body, err := receipt.Encode(some(0, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := receipt.Decode(body)
		if err != nil {
			return
		}
		once, err := receipt.Encode(list)
		if err != nil {
			t.Skip("a time that no text holds")
		}
		back, err := receipt.Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := receipt.Encode(back)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q is written anew as %q: %v", once, twice, err)
		}
	})
}

// TestSearch: a search in a page returns exactly the receipts of a name, whether there are
// many or none.
func TestSearch(t *testing.T) {
	for _, p := range chain(t, 1500)[0].Pages {
		list, err := receipt.Decode(p.Body)
		if err != nil {
			t.Fatal(err)
		}
		want := map[receipt.Name][]receipt.Receipt{p.Lowest - 1: nil, list[len(list)-1].Name() + 1: nil, list[0].Name() + 1: nil}
		for _, r := range list {
			want[r.Name()] = append(want[r.Name()], r)
		}
		for name, all := range want {
			got, err := receipt.Search(p.Body, name)
			if err != nil || !slices.Equal(got, all) {
				t.Fatalf("of %d receipts %d were found: %v", len(all), len(got), err)
			}
		}
	}
	if _, err := receipt.Search([]byte("{"), 5); !errors.Is(err, lethe.ErrCorrupt) {
		t.Errorf("a damaged page is searched with %v", err)
	}
}
