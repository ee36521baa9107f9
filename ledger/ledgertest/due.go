package ledgertest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func dueTests() []test {
	return []test{
		{name: "pages in the order in which they go", run: duePages},
		{name: "what goes with an object", run: dueFate},
		{name: "what a hold keeps", run: dueHeld},
		{name: "what will be due, wherever it waits", run: dueLater},
		{name: "trash that will be due, deferred or not", run: trashLater},
		{name: "rules that are reapplied while pages are read", run: reappliedBetweenPages},
		{name: "what is kept does not count as due or later", run: keptBacklogs},
		{name: "expire takes what is named", run: expireNamed},
		{name: "of two versions that are named the one that lies there was taken", run: twoVersionsNamed},
		{name: "an object without an id is taken by its name", run: expireNamedWithoutID},
		{name: "expire leaves what is not as it was named", run: expireNamedChanged},
		{name: "purge takes what is named", run: purgeNamed},
		{name: "clean claims what is named", run: claimNamed},
		{name: "reap claims what is named", run: reapNamed},
	}
}

// dueNames returns all pages.
func (w *world) dueNames(read func(ledger.DueQuery) (ledger.DuePage, error), limit int) (all []ledger.Named) {
	w.Helper()
	for q := (ledger.DueQuery{Limit: limit}); ; {
		p := must(read(q))(w)
		for _, d := range p.Rows {
			all = append(all, d.Named)
		}
		if !p.More {
			return all
		}
		q = p.Continue(q)
	}
}

func (w *world) dueObjects(q ledger.DueQuery) (ledger.DuePage, error) { return w.DueObjects(w.ctx, q) }

func duePages(w *world) {
	for i := range 7 {
		w.putTTL(fmt.Sprint("k", i), fmt.Sprint("body", i%2), time.Duration(1+i%2)*time.Minute)
	}
	w.putTTL("later", "body", time.Hour)
	w.put("stays", "body")
	w.later(2 * time.Minute)
	keys := func(list []ledger.Named) string { return names(list, func(n ledger.Named) string { return n.Key }) }
	for limit := range 9 {
		equal(w, fmt.Sprint("keys by ", limit), keys(w.dueNames(w.dueObjects, limit)), "k0;k2;k4;k6;k1;k3;k5;")
	}
}

func dueFate(w *world) {
	w.putTTL("alone", "body", time.Minute)
	w.putTTL("shared", "other", time.Minute)
	w.put("sharer", "other")
	w.putTTL("empty", "", time.Minute)
	w.later(time.Minute)
	for _, d := range must(w.DueObjects(w.ctx, ledger.DueQuery{}))(w).Rows {
		want := map[string]ledger.Due{
			"alone": {Size: 4, Refs: 1, Blobs: 1, BlobBytes: 4}, "shared": {Size: 5, Refs: 2, Blobs: 1, BlobBytes: 5}, "empty": {},
		}[d.Key]
		equal(w, "content of "+d.Key, d.Content != "", want.Refs > 0)
		want.Named, want.BucketName, want.Content, want.Ending = d.Named, bucketName, d.Content, ledger.Ending{At: w.now(), By: ledger.EndsByTTL}
		equal(w, d.Key, d, want)
	}
}

// dueHeld: a due row under a hold is marked as held, until it is deferred or the hold is
// released. An object is held by its bucket, a trash entry by the bucket that now has the
// name.
func dueHeld(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Minute})
	for _, k := range []string{"a", "b"} {
		w.put("gone-"+k, "body "+k)
		w.remove("gone-" + k)
		w.putTTL("due-"+k, "body "+k, time.Minute)
	}
	h := w.hold(ledger.HoldPrefix, "gone-a")
	i := w.hold(ledger.HoldObject, "due-b")
	w.later(time.Minute)
	of := func(read func(ledger.DueQuery) (ledger.DuePage, error)) (list []string) {
		for limit := 1; limit < 3; limit++ {
			for q := (ledger.DueQuery{Limit: limit}); ; {
				p := must(read(q))(w)
				for _, d := range p.Rows {
					if d.Held {
						list = append(list, cmp.Or(d.ObjectKey, d.Key))
					}
				}
				if q = p.Continue(q); !p.More {
					break
				}
			}
		}
		return list
	}
	trash := func(q ledger.DueQuery) (ledger.DuePage, error) { return w.DueTrash(w.ctx, q) }
	equal(w, "objects", fmt.Sprint(of(w.dueObjects)), "[due-b due-b]")
	equal(w, "entries", fmt.Sprint(of(trash)), "[gone-a gone-a]")
	w.release(h)
	w.release(i)
	equal(w, "objects once it is released", fmt.Sprint(of(w.dueObjects)), "[]")
	equal(w, "entries once it is released", fmt.Sprint(of(trash)), "[]")
}

func expireNamed(w *world) {
	for i := range 5 {
		w.putTTL(fmt.Sprint("k", i), fmt.Sprint("body", i), time.Minute)
	}
	w.later(time.Minute)
	due := w.dueNames(w.dueObjects, 0)
	only := []ledger.Named{due[3], due[1]}
	r := must(w.Expire(w.ctx, ledger.Batch{Only: only}))(w)
	equal(w, "taken", names(r.Taken, func(n ledger.Named) string { return n.Key }), "k1;k3;")
	equal(w, "objects", r.Objects, 2)
	equal(w, "left", len(w.dueNames(w.dueObjects, 0)), 3)
	equal(w, "taken again", must(w.Expire(w.ctx, ledger.Batch{Only: only}))(w).Objects, 0)
	equal(w, "nothing named", must(w.Expire(w.ctx, ledger.Batch{Only: []ledger.Named{}}))(w).Objects, 0)
	r = must(w.Expire(w.ctx, ledger.Batch{Only: due, Limit: 2}))(w)
	equal(w, "a batch", len(r.Taken), 2)
	equal(w, "more", r.More, true)
}

func twoVersionsNamed(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.later(time.Minute)
	there := must(w.DueObjects(w.ctx, ledger.DueQuery{}))(w).Rows[0].Named
	gone := ledger.Named{Bucket: there.Bucket, Key: there.Key, ID: w.id()}
	r := must(w.Expire(w.ctx, ledger.Batch{Only: []ledger.Named{there, gone}}))(w)
	equal(w, "taken", fmt.Sprint(r.Taken), fmt.Sprint([]ledger.Named{there}))
}

// expireNamedWithoutID: an object of an operation without an id is taken by its own name.
func expireNamedWithoutID(w *world) {
	c := w.written("k", "body")
	c.Op, c.TTL = "", time.Minute
	o := w.commit(c).Object
	w.later(time.Minute)
	name := ledger.Named{Bucket: o.BucketID, Key: o.Key}
	r := must(w.Expire(w.ctx, ledger.Batch{Only: []ledger.Named{name}}))(w)
	equal(w, "taken", fmt.Sprint(r.Taken), fmt.Sprint([]ledger.Named{name}))
}

// expireNamedChanged: another version, a longer life and an object that is not due do not
// match the name.
func expireNamedChanged(w *world) {
	for _, k := range []string{"again", "longer", "gone"} {
		w.putTTL(k, "body "+k, time.Minute)
	}
	early := w.putTTL("early", "body", time.Hour)
	w.later(time.Minute)
	only := w.dueNames(w.dueObjects, 0)
	only = append(only, ledger.Named{Bucket: early.BucketID, Key: early.Key, ID: early.ID})
	w.putTTL("again", "body again", time.Second)
	must(w.Expire(w.ctx, ledger.Batch{Only: []ledger.Named{only[1]}}))(w)
	w.later(time.Second)
	r := must(w.Expire(w.ctx, ledger.Batch{Only: only}))(w)
	for _, n := range r.Taken {
		if n.Key == "again" || n.Key == "early" {
			w.Fatalf("%s went, which is not what was named", n.Key)
		}
	}
	lies := must(w.ObjectsNamed(w.ctx, only))(w)
	if len(lies) != 2 || lies[0].ID == only[0].ID || lies[1].ID != early.ID || lies[1].At != early.TTLAt {
		w.Fatalf("there are %+v", lies)
	}
	left := w.dueNames(w.dueObjects, 0)
	if len(left) != 1 || left[0].Key != "again" {
		w.Fatalf("due are %v, want the version that was written since", left)
	}
}

func purgeNamed(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Minute})
	for i := range 3 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
		w.remove(fmt.Sprint("k", i))
	}
	read := func(q ledger.DueQuery) (ledger.DuePage, error) { return w.DueTrash(w.ctx, q) }
	equal(w, "due", len(w.dueNames(read, 1)), 0)
	w.later(time.Minute)
	due := w.dueNames(read, 1)
	equal(w, "due", len(due), 3)
	d := must(w.DueTrash(w.ctx, ledger.DueQuery{}))(w).Rows[0]
	equal(w, "entry", d.BucketName+"/"+d.ObjectKey[:1], bucketName+"/k")
	must(w.Restore(w.ctx, w.id(), due[0].ID, false))(w)
	r := must(w.Purge(w.ctx, ledger.Batch{Only: due[:2]}))(w)
	if len(r.Taken) != 1 || r.Taken[0] != due[1] || r.Objects != 1 {
		w.Fatalf("purged %+v", r)
	}
	equal(w, "due", len(w.dueNames(read, 0)), 1)
}

func claimNamed(w *world) {
	for i := range 3 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
	}
	w.remove("k0", "k1", "k2")
	q := ledger.DueQuery{Backend: disk}
	equal(w, "due", len(must(w.DueBlobs(w.ctx, q))(w)), 0)
	w.later(readGrace)
	all := must(w.DueBlobs(w.ctx, q))(w)
	equal(w, "due", len(all), 3)
	q.Limit, q.After = 1, ledger.DueMark{Due: all[0].DueAt, Size: all[0].Size, Name: string(all[0].ID)}
	equal(w, "next", must(w.DueBlobs(w.ctx, q))(w)[0].ID, all[1].ID)
	equal(w, "elsewhere", len(must(w.DueBlobs(w.ctx, ledger.DueQuery{Backend: "tape"}))(w)), 0)
	r := ledger.ClaimRequest{Worker: "w", Backend: disk, Only: []lethe.ID{all[2].ID, all[0].ID}}
	c := must(w.ClaimCondemned(w.ctx, r))(w)
	equal(w, "claimed", names(c.Blobs, func(b ledger.Blob) string { return string(b.ID) }), fmt.Sprintf("%s;%s;", all[0].ID, all[2].ID))
	equal(w, "claimed twice", len(must(w.ClaimCondemned(w.ctx, r))(w).Blobs), 0)
	equal(w, "gone", w.settle(c, ledger.SettleItem{Result: ledger.Gone}).Gone, 2)
	equal(w, "left", must(w.DueBlobs(w.ctx, ledger.DueQuery{Backend: disk}))(w)[0].ID, all[1].ID)
	live := w.put("live", "live")
	equal(w, "live ones", len(must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Backend: disk, Only: []lethe.ID{w.get(live.Key).Segments[0].Blobs[0].ID}}))(w).Blobs), 0)
}

func reapNamed(w *world) {
	a, b := w.begin("a"), w.begin("b")
	q := ledger.DueQuery{State: lethe.Pending, MinAge: time.Minute}
	w.later(time.Minute)
	young := w.begin("c")
	all := must(w.DueBlobs(w.ctx, q))(w)
	equal(w, "silent", names(all, func(x ledger.Blob) string { return string(x.ID) }), fmt.Sprintf("%s;%s;", a, b))
	r := ledger.ClaimRequest{Worker: "w", MinAge: time.Minute, Only: []lethe.ID{young, b}}
	c := must(w.ClaimIntents(w.ctx, r))(w)
	if len(c.Intents) != 1 || c.Intents[0].Blob.ID != b {
		w.Fatalf("claimed %+v", c)
	}
	w.ok(w.CondemnIntent(w.ctx, c.Fence, b))
	equal(w, "left", len(must(w.DueBlobs(w.ctx, q))(w)), 1)
}

// named takes the rows of a plan, some of which have changed.
func (h *history) named() {
	b := h.batch()
	b.Only = []ledger.Named{}
	h.foreseen()
	page, _ := ask(h, "due objects", func(l Ledger) (ledger.DuePage, error) { return l.DueObjects(h.ctx, ledger.DueQuery{Limit: 4}) })
	for _, d := range some(h, page.Rows, 3) {
		b.Only = append(b.Only, d.Named)
	}
	if o := pick(h, h.versions); o.ID != "" && h.chance(2) {
		b.Only = append(b.Only, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
	}
	b.Only = unique(b.Only)
	ask(h, "objects named", func(l Ledger) ([]ledger.Due, error) { return l.ObjectsNamed(h.ctx, b.Only) })
	ask(h, fmt.Sprintf("expire named %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Expire(h.ctx, b) })
	trash, _ := ask(h, "due trash", func(l Ledger) (ledger.DuePage, error) { return l.DueTrash(h.ctx, ledger.DueQuery{}) })
	b.Only = []ledger.Named{}
	for _, d := range some(h, trash.Rows, 2) {
		b.Only = append(b.Only, d.Named)
	}
	b.Only = unique(b.Only)
	ask(h, fmt.Sprintf("purge named %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Purge(h.ctx, b) })
	h.namedBlobs()
}

// foreseen pages through all that will be due.
func (h *history) foreseen() {
	q := ledger.DueQuery{By: h.clock.Now().Add(time.Duration(h.number(200)) * time.Hour), All: true, Limit: 1 + h.number(3)}
	if o := pick(h, h.versions); h.chance(2) {
		q.Bucket = o.BucketID
	}
	for more := true; more; {
		p, err := ask(h, fmt.Sprintf("objects that will be due %+v", q), func(l Ledger) (ledger.DuePage, error) { return l.DueObjects(h.ctx, q) })
		more, q = err == nil && p.More, p.Continue(q)
	}
	q.After, q.Unapplied = ledger.DueMark{}, nil
	for more := true; more; {
		p, err := ask(h, fmt.Sprintf("entries that will be due %+v", q), func(l Ledger) (ledger.DuePage, error) { return l.DueTrash(h.ctx, q) })
		more, q = err == nil && p.More, p.Continue(q)
	}
}

func (h *history) namedBlobs() {
	due, _ := ask(h, "due blobs", func(l Ledger) ([]ledger.Blob, error) {
		return l.DueBlobs(h.ctx, ledger.DueQuery{Backend: disk, Limit: 5})
	})
	r := ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: h.number(3), Only: []lethe.ID{pick(h, h.uploaded).Blob}}
	for _, x := range some(h, due, 3) {
		r.Only = append(r.Only, x.ID)
	}
	r.Only = unique(r.Only)
	c, err := ask(h, "claim named", func(l Ledger) (ledger.Claimed, error) { return l.ClaimCondemned(h.ctx, r) })
	if err == nil && len(c.Blobs) > 0 {
		h.claims = append(h.claims, c)
		h.settle(c)
	}
	idle, _ := ask(h, "silent intents", func(l Ledger) ([]ledger.Blob, error) {
		return l.DueBlobs(h.ctx, ledger.DueQuery{State: lethe.Pending, MinAge: time.Minute})
	})
	r = ledger.ClaimRequest{Worker: "r", MinAge: time.Minute, Only: []lethe.ID{}}
	for _, x := range some(h, idle, 2) {
		r.Only = append(r.Only, x.ID)
	}
	r.Only = unique(r.Only)
	in, err := ask(h, "claim named intents", func(l Ledger) (ledger.ClaimedIntents, error) { return l.ClaimIntents(h.ctx, r) })
	if err == nil && len(in.Intents) > 0 {
		h.intents = append(h.intents, in)
	}
	for _, x := range in.Intents {
		h.resolveIntent(in.Fence, x)
	}
}

// unique removes duplicates.
func unique[T comparable](list []T) []T {
	seen, out := map[T]bool{}, []T{}
	for _, n := range list {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

func rulesSeen(w *world) {
	set := func(seen string, days int) error {
		_, err := w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: lifecycle.Rules{temporary(days)}, By: "operator", Seen: seen})
		return err
	}
	none := lifecycle.Rules{}.Digest()
	w.ok(set(none, 1))
	w.fails(set(none, 2), lethe.ErrPreconditionFailed)
	now := must(w.Rules(w.ctx, bucketName))(w).Rules
	equal(w, "days", now[0].Days, 1)
	w.ok(set(now.Digest(), 3))
}
