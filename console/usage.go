package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// byName is the order of names, as a listing has it. The others are those of api.UsageOrders.
const byName = "name"

// usageTable is a table of the pages of usage: what it is about, and how it is sorted.
type usageTable struct {
	Bucket, Prefix string // empty: of all buckets
	Sort           string
}

// url is the same page in another order.
func (t usageTable) url(sort string) string {
	if sort == "bytes" {
		sort = ""
	}
	return link("/usage", "bucket", t.Bucket, "prefix", t.Prefix, "sort", sort)
}

// usageOrder returns the order that is asked for.
func (v *visit) usageOrder() (string, error) {
	sort := cmp.Or(v.r.URL.Query().Get("sort"), "bytes")
	if api.UsageOrders[sort] == nil && sort != byName {
		return "", &api.Error{Code: "bad_request", Message: "sort by name, bytes, objects, without-end, growth or age"}
	}
	return sort, nil
}

// sortUsage sorts rows, the largest first; equal ones by their bytes.
func sortUsage[T any](list []T, by string, of func(T) (string, api.UsageTotals, *api.Growth)) {
	slices.SortStableFunc(list, func(a, b T) int {
		an, at, ag := of(a)
		bn, bt, bg := of(b)
		if by == byName {
			return strings.Compare(an, bn)
		}
		order := api.UsageOrders[by]
		return cmp.Or(cmp.Compare(order(bt, bg), order(at, ag)), cmp.Compare(bt.Bytes, at.Bytes), strings.Compare(an, bn))
	})
}

func (v *visit) usage() (templ.Component, error) {
	q := v.r.URL.Query()
	t := usageTable{Bucket: q.Get("bucket"), Prefix: q.Get("prefix")}
	var err error
	if t.Sort, err = v.usageOrder(); err != nil {
		return nil, err
	}
	v.sameAs(t.command()...)
	v.sameAs("usage", "--refresh")
	if t.Bucket == "" {
		all, err := api.Call[api.BucketUsages](v.as(), v.h.admin, "usage/buckets", api.BucketUsagesRequest{})
		if err != nil {
			return nil, err
		}
		sortUsage(all.Buckets, t.Sort, func(b api.BucketUsage) (string, api.UsageTotals, *api.Growth) {
			return b.Bucket, b.UsageTotals, b.Growth
		})
		return usagesPage(v.frame(), all, t), nil
	}
	u, err := api.Call[api.Usage](v.as(), v.h.admin, "usage", api.UsageRequest{Bucket: t.Bucket, Prefix: t.Prefix})
	if err != nil {
		return nil, err
	}
	sortUsage(u.Prefixes, t.Sort, func(p api.UsagePrefix) (string, api.UsageTotals, *api.Growth) {
		return p.Prefix, p.UsageTotals, p.Growth
	})
	v.nav, v.search, v.title = "/usage", s3Name(t.Bucket, t.Prefix), "Usage of "+s3Name(t.Bucket, t.Prefix)
	return usagePage(v.frame(), u, t), nil
}

// command lists the same in a shell. Only lethe du sorts by name.
func (t usageTable) command() []string {
	out := []string{"usage"}
	if t.Sort == byName {
		out = []string{"du"}
	}
	if t.Bucket != "" {
		out = append(out, s3Name(t.Bucket, t.Prefix))
	}
	if t.Sort != byName && t.Sort != "bytes" {
		out = append(out, "--sort", t.Sort)
	}
	return out
}

func (h *Handler) usageActions() []action {
	back := func(v *visit) string {
		q := v.r.URL.Query()
		return link("/usage", "bucket", q.Get("bucket"), "prefix", q.Get("prefix"), "sort", q.Get("sort"))
	}
	return []action{{"/usage/count", api.Operate, back, (*visit).countUsage}}
}

// countUsage counts all buckets.
func (v *visit) countUsage() (note, error) {
	_, err := v.h.admin.Reclaim(v.as(), api.ReclaimRequest{Only: []string{"usage"}}, func(api.Event) {})
	return note{Text: "All buckets were counted."}, err
}

// growthText says by how much something has grown.
func growthText(g *api.Growth) string {
	if g == nil {
		return "–"
	}
	text := words.Size(g.Bytes)
	if g.Bytes >= 0 {
		text = "+" + text
	}
	if g.AtLeast {
		text = "at least " + text
	}
	return text
}

// classText names a class of sizes or ages.
func classText(list []api.UsageClass, i int, of func(int64) string) string {
	switch {
	case list[i].Below > 0:
		return "below " + of(list[i].Below)
	case i > 0:
		return "from " + of(list[i-1].Below)
	}
	return "all"
}

func ageOf(s int64) string { return span(seconds(float64(s))) }
