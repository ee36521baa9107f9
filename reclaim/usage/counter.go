package usage

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// The bounds of the classes.
var (
	sizeBounds = []int64{4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 0}
	ageBounds  = []int64{1 * 86400, 7 * 86400, 30 * 86400, 90 * 86400, 365 * 86400, 0}
)

const (
	// maxDue bounds the calendar's entries. Beyond it rules are not told apart.
	maxDue = 4000
	// maxShared bounds the contents whose references are remembered, until all were met.
	maxShared = 50_000
)

// counter adds up objects in the order of their keys.
type counter struct {
	now   lethe.Time
	rules lifecycle.Rules
	out   Summary
	due   map[dueKey]*Due
	known map[lethe.ID]*shared // contents with references that were not met yet
	open  []*branch            // the prefixes that contain the current key, from the root on
	heavy heaviest
}

type dueKey struct {
	day  lethe.Time
	by   ledger.Cause
	rule string
}

// branch is a prefix that is being counted.
type branch struct {
	Prefix
	part float64 // of Stored, below a byte
}

func newCounter(prefix string, now lethe.Time, rules lifecycle.Rules) *counter {
	c := &counter{now: now, rules: rules, due: map[dueKey]*Due{}, known: map[lethe.ID]*shared{}, open: []*branch{{Prefix: Prefix{Prefix: prefix}}}}
	c.out = Summary{TakenAt: now, Prefix: prefix, Rules: rules.Digest(), Sizes: classes(sizeBounds), Ages: classes(ageBounds)}
	return c
}

func classes(bounds []int64) (out []Class) {
	for _, b := range bounds {
		out = append(out, Class{Below: b})
	}
	return out
}

// object adds an object. Its key comes after those added before.
func (c *counter) object(u ledger.ObjectUse) {
	end, one := u.EndsAt(c.now, c.rules), Amount{1, u.Size}
	c.enter(u.Key)
	b := c.open[len(c.open)-1]
	b.Add(one)
	b.share(u.Size, u.Refs)
	b.Newest = max(b.Newest, u.ModifiedAt)
	if b.Oldest == 0 || u.ModifiedAt < b.Oldest {
		b.Oldest = u.ModifiedAt
	}
	size, age := classOf(c.out.Sizes, u.Size), classOf(c.out.Ages, int64(c.now.Sub(u.ModifiedAt)/time.Second))
	size.Add(one)
	age.Add(one)
	if end.At == 0 {
		b.WithoutEnd.Add(one)
		size.WithoutEnd.Add(one)
		age.WithoutEnd.Add(one)
	}
	if u.Held {
		c.out.Held.Add(one)
	}
	c.ends(row{end, one, u.BlobBytes, u.ContentID, u.Refs, u.Held})
}

// trash adds a trash entry.
func (c *counter) trash(u ledger.TrashUse) {
	one := Amount{1, u.Size}
	c.out.Trash.Add(one)
	c.ends(row{ledger.Ending{At: u.PurgeAt, By: ledger.EndsByUndo}, one, u.BlobBytes, u.ContentID, u.Refs, u.Held})
}

// upload adds an incomplete upload. Its At is when it is abandoned.
func (c *counter) upload(u ledger.OverdueUpload) {
	one := Amount{1, u.Bytes}
	c.out.Uploads.Add(one)
	c.ends(row{u.Ends(c.rules), one, u.Bytes, "", 1, u.Held})
}

// row is a row with its end.
type row struct {
	ledger.Ending
	Amount
	frees   int64 // bytes of all copies, with the last reference
	content lethe.ID
	refs    int64
	held    bool
}

// ends adds a row to the day on which it goes.
func (c *counter) ends(r row) {
	k, within := c.dayOf(r.Ending)
	switch {
	case within && r.held:
		c.entry(k).Held.Add(r.Amount)
	case within:
		d := c.entry(k)
		d.Add(r.Amount)
		if r.refs == 1 {
			d.Freed += r.frees
		}
	case r.At != 0:
		c.out.Later.Add(r.Amount)
	}
	if r.refs > 1 {
		c.meet(r, k, within)
	}
}

// dayOf returns the calendar's entry of an end, and whether it has one.
func (c *counter) dayOf(e ledger.Ending) (k dueKey, within bool) {
	k = dueKey{midnight(e.At), e.By, e.Rule}
	switch {
	case e.At == 0:
		return k, false
	case e.At <= c.now:
		k.day = 0
	}
	return k, k.day < midnight(c.now).Add(Days*day)
}

// entry returns an entry of the calendar.
func (c *counter) entry(k dueKey) *Due {
	if c.due[k] == nil && len(c.due) >= maxDue {
		k.rule = ""
	}
	if c.due[k] == nil {
		c.due[k] = &Due{Day: k.day, By: k.by, Rule: k.rule}
	}
	return c.due[k]
}

// share adds an object's part of bytes that are stored once.
func (b *branch) share(size, refs int64) {
	b.Stored += size / refs
	b.part += float64(size%refs) / float64(refs)
}

// enter closes the prefixes that do not contain the key, and opens those that do.
func (c *counter) enter(key string) {
	for !strings.HasPrefix(key, c.open[len(c.open)-1].Prefix.Prefix) {
		c.leave()
	}
	for len(c.open) <= MaxDepth {
		at := len(c.open[len(c.open)-1].Prefix.Prefix)
		i := strings.IndexByte(key[at:], '/')
		if i < 0 {
			return
		}
		c.open = append(c.open, &branch{Prefix: Prefix{Prefix: key[:at+i+1]}})
	}
}

// leave closes the last prefix that is open.
func (c *counter) leave() {
	last := len(c.open) - 1
	b, up := c.open[last], c.open[last-1]
	c.open = c.open[:last]
	up.Add(b.Amount)
	up.WithoutEnd.Add(b.WithoutEnd)
	up.Stored += b.Stored
	up.part += b.part
	up.Newest = max(up.Newest, b.Newest)
	if up.Oldest == 0 || b.Oldest < up.Oldest {
		up.Oldest = b.Oldest
	}
	up.Below++
	c.heavy.offer(b.done())
}

// done returns the prefix with whole bytes.
func (b *branch) done() Prefix {
	p := b.Prefix
	p.Stored += int64(math.Round(b.part))
	return p
}

// summary returns the result.
func (c *counter) summary() Summary {
	for len(c.open) > 1 {
		c.leave()
	}
	for _, x := range c.known {
		c.unsure(x)
	}
	out, root := c.out, c.open[0].done()
	out.Totals, out.Below = root.Totals, root.Below
	out.Prefixes = slices.SortedFunc(slices.Values(c.heavy), func(p, q Prefix) int { return cmp.Compare(p.Prefix, q.Prefix) })
	for _, d := range c.due {
		out.Due = append(out.Due, *d)
	}
	slices.SortFunc(out.Due, func(x, y Due) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.By, y.By), cmp.Compare(x.Rule, y.Rule))
	})
	return out
}

func classOf(list []Class, v int64) *Class {
	for i := range list {
		if list[i].Below == 0 || v < list[i].Below {
			return &list[i]
		}
	}
	return &list[len(list)-1]
}

// heaviest are the MaxPrefixes heaviest prefixes, a heap with the lightest on top.
type heaviest []Prefix

// offer keeps a prefix if it is one of the heaviest so far.
func (h *heaviest) offer(p Prefix) {
	if len(*h) < MaxPrefixes {
		heap.Push(h, p)
	} else if p.compare((*h)[0]) < 0 {
		(*h)[0] = p
		heap.Fix(h, 0)
	}
}

// Len implements heap.Interface.
func (h heaviest) Len() int { return len(h) }

// Less implements heap.Interface.
func (h heaviest) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }

// Swap implements heap.Interface.
func (h heaviest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *heaviest) Push(x any) { *h = append(*h, x.(Prefix)) }

// Pop implements heap.Interface.
func (h *heaviest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
