package memblob

import (
	"slices"
	"sort"
	"strings"
)

// index keeps the keys in byte order. Changes are collected and merged when the
// order is needed, so that a Put or Delete costs no search, and a listing no full
// sort. A merged slice is never changed: a listing keeps its own.
type index struct {
	sorted  []string
	added   []string
	removed int
}

func (x *index) add(key string) { x.added = append(x.added, key) }

func (x *index) remove() { x.removed++ }

// scan returns the keys with the prefix that come after `after`, in byte order.
func (x *index) scan(prefix, after string, live func(string) bool) []string {
	x.merge(live)
	from := sort.Search(len(x.sorted), func(i int) bool {
		return x.sorted[i] > after && x.sorted[i] >= prefix
	})
	rest := x.sorted[from:]
	to := sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i], prefix) })
	return rest[:to]
}

func (x *index) merge(live func(string) bool) {
	if len(x.added) == 0 && x.removed == 0 {
		return
	}
	slices.Sort(x.added)
	merged := make([]string, 0, len(x.sorted)+len(x.added))
	old, fresh := x.sorted, x.added
	for len(old) > 0 || len(fresh) > 0 {
		var key string
		if len(fresh) == 0 || len(old) > 0 && old[0] <= fresh[0] {
			key, old = old[0], old[1:]
		} else {
			key, fresh = fresh[0], fresh[1:]
		}
		// A key put again after its deletion may be in both.
		twice := len(merged) > 0 && merged[len(merged)-1] == key
		if !twice && live(key) {
			merged = append(merged, key)
		}
	}
	x.sorted, x.added, x.removed = merged, nil, 0
}
