package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

func listTests() []test {
	return []test{
		{name: "pages in byte order", run: listPages},
		{name: "prefix and delimiter", run: listTable},
		{name: "pages of common prefixes", run: listPrefixPages},
		{name: "what is past its time is not there", run: listHidden},
		{name: "limits", run: listLimits},
		{name: "every page size gives the same", run: listWalks},
		{name: "a big common prefix", run: listBigPrefix},
	}
}

// keys writes empty objects under keys.
func (w *world) keys(keys ...string) {
	w.Helper()
	for _, k := range keys {
		w.commit(w.reference(k, ""))
	}
}

func (w *world) list(q ledger.ListQuery) ledger.ListPage {
	w.Helper()
	q.Bucket = bucketName
	return must(w.List(w.ctx, q))(w)
}

// listed returns a page as text: keys, common prefixes in brackets, "+" for more.
func listed(p ledger.ListPage) string {
	out := names(p.Objects, func(o ledger.Object) string { return o.Key })
	out += names(p.Prefixes, func(p string) string { return "[" + p + "]" })
	if p.More {
		out += "+"
	}
	return out
}

func listPages(w *world) {
	w.keys("b", "a", "é", "e", "\U0001f600", "￿", "Z", "a/b")
	p := w.list(ledger.ListQuery{Limit: 5})
	equal(w, "page", listed(p), "Z;a;a/b;b;e;+")
	equal(w, "next", p.Next, "e")
	p = w.list(ledger.ListQuery{Limit: 5, After: p.Next})
	equal(w, "page", listed(p), "é;￿;\U0001f600;")
	equal(w, "next", p.Next, "")
	equal(w, "exactly full", listed(w.list(ledger.ListQuery{Limit: 8})), "Z;a;a/b;b;e;é;￿;\U0001f600;")
}

func listTable(w *world) {
	w.keys("a", "a/", "a/b", "a/b/c", "a/d", "a0", "b/x", "c", "d//e", "ä/x")
	for _, c := range []struct{ prefix, delimiter, after, want string }{
		{"", "/", "", "a;a0;c;[a/];[b/];[d/];[ä/];"},
		{"a", "/", "", "a;a0;[a/];"},
		{"a/", "/", "", "a/;a/d;a/b;[a/b/];"},
		{"a/", "", "", "a/;a/b;a/b/c;a/d;"},
		{"a/b", "", "", "a/b;a/b/c;"},
		{"d/", "/", "", "[d//];"},
		{"", "0", "", "a;a/;a/b;a/b/c;a/d;b/x;c;d//e;ä/x;[a0];"},
		{"", "/", "a/", "a0;c;[b/];[d/];[ä/];"},
		{"", "/", "a/b", "a0;c;[a/];[b/];[d/];[ä/];"},
		{"", "/", "a/z", "a0;c;[b/];[d/];[ä/];"},
		{"a/", "/", "a/", "a/b;a/d;[a/b/];"},
		{"a/", "/", "a/b/", "a/d;"},
		{"b", "", "a", "b/x;"},
		{"b", "", "c", ""},
		{"none", "/", "", ""},
		{"ä", "/", "", "[ä/];"},
		{"", "x", "", "a;a/;a/b;a/b/c;a/d;a0;c;d//e;[b/x];[ä/x];"},
		{"", "/x", "", "a;a/;a/b;a/b/c;a/d;a0;c;d//e;[b/x];[ä/x];"},
	} {
		q := ledger.ListQuery{Prefix: c.prefix, Delimiter: c.delimiter, After: c.after, Limit: 100}
		have := listed(w.list(q))
		if sorted(have) != sorted(c.want) {
			w.Errorf("%+v lists %s, want %s", q, have, c.want)
		}
	}
}

// sorted sorts the entries of a page's text.
func sorted(page string) string {
	list := strings.Split(page, ";")
	for i := range list {
		for j := range i {
			if list[i] < list[j] {
				list[i], list[j] = list[j], list[i]
			}
		}
	}
	return strings.Join(list, ";")
}

func listPrefixPages(w *world) {
	w.keys("a/1", "a/2", "b", "c/1", "c/2", "d")
	q := ledger.ListQuery{Delimiter: "/", Limit: 1}
	for _, want := range []string{"[a/];+", "b;+", "[c/];+", "d;"} {
		p := w.list(q)
		equal(w, "page", listed(p), want)
		q.After = p.Next
	}
}

// listHidden: hidden keys take no place, make no common prefix, and do not set More.
func listHidden(w *world) {
	for _, k := range []string{"a", "b/x", "z"} {
		w.putTTL(k, "", time.Minute)
	}
	w.keys("b/y", "c")
	w.later(time.Minute)
	equal(w, "page", listed(w.list(ledger.ListQuery{Delimiter: "/", Limit: 2})), "c;[b/];")
	w.remove("b/y")
	equal(w, "page", listed(w.list(ledger.ListQuery{Delimiter: "/", Limit: 2})), "c;")
}

func listLimits(w *world) {
	w.keys("a", "b")
	equal(w, "none", listed(w.list(ledger.ListQuery{})), "")
	equal(w, "negative", listed(w.list(ledger.ListQuery{Limit: -1})), "")
	for i := range 1001 {
		w.keys(fmt.Sprintf("k%04d", i))
	}
	p := w.list(ledger.ListQuery{Limit: 5000})
	if len(p.Objects) != 1000 || !p.More || p.Next != "k0997" {
		w.Fatalf("%d objects, more %v, next %s", len(p.Objects), p.More, p.Next)
	}
}

// listWalks: with pages of any size a walk sees every key once.
func listWalks(w *world) {
	keys := []string{"a", "a/", "a/1", "a/2", "a//", "b", "b/c/d", "b/c/e", "b/d", "c/x", "d", "é/1", "é/2"}
	w.keys(keys...)
	for _, q := range []ledger.ListQuery{{}, {Delimiter: "/"}, {Prefix: "b/", Delimiter: "/"}, {Prefix: "a", Delimiter: "/"}} {
		q.Limit = 100
		whole := w.list(q)
		for q.Limit = 1; q.Limit < 5; q.Limit++ {
			equal(w, fmt.Sprintf("%+v", q), listed(w.walk(q)), listed(whole))
		}
	}
}

// walk lists page by page.
func (w *world) walk(q ledger.ListQuery) (all ledger.ListPage) {
	w.Helper()
	for range 100 {
		p := w.list(q)
		all.Objects = append(all.Objects, p.Objects...)
		all.Prefixes = append(all.Prefixes, p.Prefixes...)
		if q.After = p.Next; !p.More {
			return all
		}
	}
	w.Fatalf("%+v has no end", q)
	return all
}

// listBigPrefix: common prefixes that are worth a seek.
func listBigPrefix(w *world) {
	for i := range 50 {
		w.keys(fmt.Sprintf("big/%02d", i), fmt.Sprintf("\U0010ffff/%02d", i))
	}
	w.keys("a", "bi", "big", "bigger", "c")
	equal(w, "page", listed(w.list(ledger.ListQuery{Delimiter: "/", Limit: 100})), "a;bi;big;bigger;c;[big/];[\U0010ffff/];")
	q := ledger.ListQuery{Delimiter: "/", Limit: 2}
	equal(w, "walk", listed(w.walk(q)), "a;bi;big;bigger;c;[big/];[\U0010ffff/];")
}
