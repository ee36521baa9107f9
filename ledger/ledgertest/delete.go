package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func deleteTests() []test {
	return []test{
		{name: "many at once", run: deleteMany},
		{name: "an absent key is no error", run: deleteAbsent},
		{name: "the same key twice", run: deleteTwice},
		{name: "a condition fails alone", run: deleteConditions},
		{name: "too many", run: deleteTooMany},
		{name: "shared contents", run: deleteShared},
		{name: "outcome", run: deleteOutcome},
	}
}

func deleteMany(w *world) {
	for i := range 20 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i%10))
	}
	var keys []string
	for i := range 20 {
		keys = append(keys, fmt.Sprint("k", 19-i))
	}
	d := w.remove(keys...)
	for i, item := range d.Items {
		if item.Key != keys[i] || !item.Existed || item.ID == "" || item.Err != nil {
			w.Fatalf("item %d is %+v", i, item)
		}
	}
	equal(w, "dropped", len(d.Dropped), 10)
	w.totals(0, 0, 20, 0)
}

func deleteAbsent(w *world) {
	w.unchanged(func() {
		equal(w, "item", w.remove("none").Items[0], ledger.Deleted{Key: "none"})
	})
	equal(w, "items", len(w.remove().Items), 0)
}

func deleteTwice(w *world) {
	o := w.put("k", "body")
	d := w.remove("k", "k")
	equal(w, "first", d.Items[0], ledger.Deleted{Key: "k", Existed: true, ID: o.ID})
	equal(w, "second", d.Items[1], ledger.Deleted{Key: "k"})
}

func deleteConditions(w *world) {
	a, b := w.put("a", "1"), w.put("b", "2")
	d := must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: []ledger.DeleteItem{
		{Key: "a", If: ledger.Precondition{IfID: b.ID}},
		{Key: "b", If: ledger.Precondition{IfID: b.ID}},
		{Key: "", If: ledger.Precondition{}},
		{Key: "a", If: ledger.Precondition{IfID: a.ID}},
	}}))(w)
	w.fails(d.Items[0].Err, lethe.ErrPreconditionFailed)
	w.fails(d.Items[2].Err, lethe.ErrInvalidKey)
	if !d.Items[1].Existed || !d.Items[3].Existed || d.Items[0].Existed {
		w.Fatalf("items are %+v", d.Items)
	}
	w.absent("a")
	w.absent("b")
}

func deleteTooMany(w *world) {
	w.put("k", "body")
	items := make([]ledger.DeleteItem, 1001)
	for i := range items {
		items[i].Key = fmt.Sprint("x", i)
	}
	items[1000].Key = "k"
	w.unchanged(func() {
		w.broken(refused(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: items})))
	})
	d := must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: items[1:]}))(w)
	equal(w, "existed", d.Items[999].Existed, true)
}

func deleteShared(w *world) {
	for _, k := range []string{"a", "b", "c"} {
		w.put(k, "body")
	}
	equal(w, "dropped", len(w.remove("a", "b").Dropped), 0)
	w.get("c")
	equal(w, "dropped", len(w.remove("c").Dropped), 1)
}

func deleteOutcome(w *world) {
	w.put("k", "body")
	w.later(time.Second)
	op := w.id()
	must(w.Delete(w.ctx, ledger.Deletion{Op: op, Bucket: bucketName, Items: []ledger.DeleteItem{{Key: "k"}}}))(w)
	out, found, err := w.Outcome(w.ctx, op)
	if out != (ledger.Outcome{Op: op, What: "delete", At: w.now()}) || !found || err != nil {
		w.Fatalf("outcome is %+v, %v, %v", out, found, err)
	}
}
