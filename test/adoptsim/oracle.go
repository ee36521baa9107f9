package adoptsim

import (
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// paste is what the application has of one: as its transactions left it.
type paste struct {
	number  int // no two have the same, whatever their keys
	content string
	end     lethe.Time
}

// oracle knows what has to hold.
type oracle struct {
	w      *world
	pastes map[string]*paste
	// removed are pastes that Settle took away, by their numbers, and when.
	removed map[int]lethe.Time
	// dropped is when a worker dropped a key of the cache last.
	dropped map[string]lethe.Time
	// claims is when each row was claimed, as it was before Settle.
	claims map[string]lethe.Time
	// claimedAt is when each row was claimed last, however coarse its stamp is.
	claimedAt map[string]lethe.Time

	numbers, uploads, tokens int
	put                      map[string]int  // the upload that an object is of
	owned                    map[int]bool    // uploads whose transaction was committed
	forgotten                map[string]bool // objects whose rows the application removed
	miscounted               map[string]bool // contents whose counts were made wrong
	shared                   map[string]bool // contents that another table names
}

func newOracle(w *world) oracle {
	return oracle{
		w: w, pastes: map[string]*paste{}, removed: map[int]lethe.Time{}, dropped: map[string]lethe.Time{}, claims: map[string]lethe.Time{}, claimedAt: map[string]lethe.Time{},
		put: map[string]int{}, owned: map[int]bool{}, forgotten: map[string]bool{}, miscounted: map[string]bool{}, shared: map[string]bool{},
	}
}

// body returns what a content is of: it may have a number as well.
func body(content string) string {
	name, _, _ := strings.Cut(content, "#")
	return name
}

func (o *oracle) created(key, content string, end lethe.Time) {
	o.numbers++
	o.pastes[key] = &paste{o.numbers, content, end}
}

// nextEnd returns the paste that ends next.
func (o *oracle) nextEnd() (key string, end lethe.Time) {
	for i := range pastes {
		k := fmt.Sprintf("p%d", i)
		if p := o.pastes[k]; p != nil && p.end > o.w.now && (key == "" || p.end < end) {
			key, end = k, p.end
		}
	}
	return key, end
}

// settles notes what is claimed right before rows are settled.
func (o *oracle) settles() {
	clear(o.claims)
	for _, r := range o.w.db.Rows() {
		if r.Status == memadopt.Claimed {
			o.claims[r.Key] = r.At
		}
	}
}

// claimed notes a claim.
func (o *oracle) claimed(c adopt.Claim) {
	for _, r := range c.Rows {
		o.claimedAt[r.Key] = c.At
	}
}

// settled counts the rows that went in a settle of an older claim of the same stamp.
func (o *oracle) settled(c adopt.Claim) {
	left := map[string]bool{}
	for _, r := range o.w.db.Rows() {
		left[r.Key] = r.Status != memadopt.Deleted
	}
	for _, r := range c.Rows {
		if o.claims[r.Key] != 0 && !left[r.Key] && o.claimedAt[r.Key] != c.At {
			o.w.counts["settled another's claim"]++
		}
	}
}

// confirmed: outcomes change only marks of their own fence.
func (o *oracle) confirmed(fence int64, before []memadopt.Mark) error {
	now := map[string]memadopt.Mark{}
	for _, m := range o.w.db.Marks() {
		now[m.Content] = m
	}
	for _, m := range before {
		if m.Fence != fence && now[m.Content] != m {
			return fmt.Errorf("the mark of %s was changed by a worker that has it no more", m.Content)
		}
	}
	return nil
}

// marked: no object is condemned that a hold keeps.
func (o *oracle) marked(m adopt.Marked) error {
	for _, c := range m.Contents {
		if h := o.w.keeper.holds().Object(c.Object); h != nil {
			return fmt.Errorf("object %s was condemned, and %s", c.Object, h.Why())
		}
	}
	return nil
}

// drifts: only counts that were made wrong are reported as wrong.
func (o *oracle) drifts(contents []string) {
	for _, c := range contents {
		if !o.miscounted[c] {
			o.w.fail(fmt.Errorf("the count of %s is reported as wrong, and nobody made it so", c))
		}
		o.w.counts["drifted"]++
	}
}

// check looks at everything after a step.
func (w *world) check(step string) {
	if w.err == nil {
		w.fail(w.site.holds(step))
	}
}

func (o *oracle) holds(step string) error {
	s := o.w.db.Snapshot()
	contents := map[string]memadopt.Content{}
	for _, c := range s.Contents {
		contents[c.Key] = c
	}
	references := map[string]int64{}
	rows := map[string]memadopt.Row{}
	for _, r := range s.Rows {
		if r.Status == memadopt.Deleted {
			continue
		}
		rows[r.Key] = r
		references[r.Content]++
		if err := o.readable(r, contents); err != nil {
			return err
		}
	}
	for c := range o.shared {
		references[c]++
		if err := o.readable(memadopt.Row{Key: "in another table", Content: c}, contents); err != nil {
			return err
		}
	}
	for _, c := range s.Contents {
		if c.Count != references[c.Key] && !o.miscounted[c.Key] {
			return fmt.Errorf("content %s counts %d references, and has %d", c.Key, c.Count, references[c.Key])
		}
	}
	if err := o.agree(step, rows); err != nil {
		return err
	}
	return o.cached(o.w.kind.leases && o.w.cfg.Site != Taken && o.w.cfg.Site != Coarse, 0)
}

// readable: what a row refers to is there, expired or not: its owner may extend it.
func (o *oracle) readable(r memadopt.Row, contents map[string]memadopt.Content) error {
	c, ok := contents[r.Content]
	if !ok {
		return fmt.Errorf("paste %s refers to content %s, which has no row", r.Key, r.Content)
	}
	if data, ok := o.w.objs.Bytes(c.Object); (!ok || string(data) != body(c.Key)) && !o.inQuarantine(c) {
		return fmt.Errorf("paste %s (%s) refers to content %s, whose object is gone", r.Key, r.Status, c.Key)
	}
	return nil
}

// agree: rows are as the application left them; only Settle removes some, and only
// those that have expired and whose copies were dropped under their claim.
func (o *oracle) agree(step string, rows map[string]memadopt.Row) error {
	for i := range pastes {
		key := fmt.Sprintf("p%d", i)
		p, known := o.pastes[key]
		r, there := rows[key]
		switch {
		case there && !known:
			return fmt.Errorf("paste %s is there, and nobody made it", key)
		case there && (body(r.Content) != p.content || r.End != p.end):
			return fmt.Errorf("paste %s is of %s until %s, and was made of %s until %s", key, r.Content, r.End, p.content, p.end)
		case there || !known:
		case o.w.keeper.holds().Row(key) != nil:
			return fmt.Errorf("paste %s went, and %s", key, o.w.keeper.holds().Row(key).Why())
		case step != o.ends() || p.end == 0 || p.end > o.w.now:
			return fmt.Errorf("paste %s went in %q, and lasts until %s", key, step, p.end)
		case o.w.cfg.Site != Taken && o.claims[key] == 0:
			return fmt.Errorf("paste %s went, and nobody had claimed it", key)
		case o.w.cfg.Site != Taken && o.dropped[cacheKey(key)] < o.claims[key]:
			return fmt.Errorf("paste %s went, and its copies were not dropped since it was claimed", key)
		default:
			o.removed[p.number] = o.w.now
			delete(o.pastes, key)
		}
	}
	return nil
}

// ends is the step that removes rows.
func (o *oracle) ends() string {
	if o.w.cfg.Site == Taken {
		return "take"
	}
	return "settle"
}

// cached: no copy is there of a paste that was removed by then; 0: by now, those aside that
// have a name which it was given after its claim. Without leases a reader may fill the cache
// late.
func (o *oracle) cached(strict bool, by lethe.Time) error {
	for i := range pastes {
		key := fmt.Sprintf("p%d", i)
		keys := []string{cacheKey(key)}
		for j := 0; by != 0 && j < names; j++ {
			keys = append(keys, nameKey(nameOf(key, j)))
		}
		for _, k := range keys {
			at, removed := o.removed[o.w.cache[k].copyOf]
			if strict && removed && (by == 0 || at <= by) {
				return fmt.Errorf("a copy of paste %s is in the cache under %s %s after it was removed", key, k, o.w.now.Sub(at))
			}
		}
	}
	return nil
}

// recached: after a pass that drops copies once more none is there of what had been
// removed for long enough when it began. Rows that are taken have copies until then; under
// leases none comes back.
func (o *oracle) recached(began lethe.Time) error {
	if o.w.cfg.Site == Taken && o.w.kind.leases {
		return o.cached(true, began)
	}
	return o.cached(true, began.Add(-o.w.grace.CacheAgain))
}
