package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func conditionTests() []test {
	return []test{
		{name: "on a key that is taken", run: conditionsTaken},
		{name: "on a key that is free", run: conditionsFree},
		{name: "on a key that is past its time", run: conditionsExpired},
		{name: "on the marks of an object", run: conditionsOnMarks},
	}
}

type condition struct {
	p     ledger.Precondition
	taken bool // it holds for the object
	free  bool // it holds without an object
}

// conditions returns conditions on an object.
func conditions(o ledger.Object) []condition {
	size, other := o.Size, o.Size+1
	sec := lethe.Time(time.Second / time.Microsecond)
	return []condition{
		{ledger.Precondition{}, true, true},
		{ledger.Precondition{IfMatch: "*"}, true, false},
		{ledger.Precondition{IfMatch: o.ETag}, true, false},
		{ledger.Precondition{IfMatch: "x, " + o.ETag + " ,y"}, true, false},
		{ledger.Precondition{IfMatch: "x"}, false, false},
		{ledger.Precondition{IfNoneMatch: "*"}, false, true},
		{ledger.Precondition{IfNoneMatch: o.ETag}, false, true},
		{ledger.Precondition{IfNoneMatch: "x,y"}, true, true},
		{ledger.Precondition{IfID: o.ID}, true, false},
		{ledger.Precondition{IfID: "x"}, false, false},
		{ledger.Precondition{IfSize: &size}, true, false},
		{ledger.Precondition{IfSize: &other}, false, false},
		{ledger.Precondition{IfModified: o.ModifiedAt}, true, false},
		{ledger.Precondition{IfModified: o.ModifiedAt - o.ModifiedAt%sec}, true, false},
		{ledger.Precondition{IfModified: o.ModifiedAt + sec}, false, false},
		{ledger.Precondition{IfMatch: o.ETag, IfID: "x"}, false, false},
	}
}

// free tries a condition on a key without a visible object.
func (w *world) free(key string, c condition) {
	w.Helper()
	for _, what := range []string{"delete", "commit"} {
		before := dump(w, w.Ledger)
		err := w.attempt(what, key, c.p)
		if c.free != (err == nil) || err != nil && kind(err) != kind(lethe.ErrPreconditionFailed) {
			w.Errorf("%s %q with %+v: %v, should hold: %v", what, key, c.p, err, c.free)
		}
		if !c.free || what == "delete" {
			equal(w, "ledger", dump(w, w.Ledger), before)
		}
	}
	w.remove(key)
}

func conditionsTaken(w *world) {
	w.later(1500 * time.Millisecond)
	for i := range conditions(ledger.Object{}) {
		for _, what := range []string{"commit", "update", "delete"} {
			key := fmt.Sprint(what, i)
			o := w.put(key, "body")
			c := conditions(o)[i]
			err := w.attempt(what, key, c.p)
			if c.taken != (err == nil) || err != nil && kind(err) != kind(lethe.ErrPreconditionFailed) {
				w.Errorf("%s with %+v: %v, should hold: %v", what, c.p, err, c.taken)
			}
		}
	}
}

func (w *world) attempt(what, key string, p ledger.Precondition) error {
	switch what {
	case "commit":
		c := w.reference(key, "")
		c.If = p
		return refused(w.Commit(w.ctx, c))
	case "update":
		return refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: key, If: p, Tags: &map[string]string{"a": "b"}}))
	}
	d := must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: []ledger.DeleteItem{{Key: key, If: p}}}))(w)
	return d.Items[0].Err
}

func conditionsFree(w *world) {
	for _, c := range conditions(w.put("else", "body")) {
		w.free("free", c)
	}
}

// conditionsExpired: an expired object counts as absent.
func conditionsExpired(w *world) {
	for i, c := range conditions(w.put("else", "body")) {
		key := fmt.Sprint("k", i)
		o := w.putTTL(key, "body", time.Minute)
		c = conditions(o)[i]
		w.later(time.Minute)
		w.fails(w.attempt("update", key, c.p), lethe.ErrNoSuchKey)
		w.free(key, c)
	}
}

// conditionsOnMarks: an object is changed only with the tags and the list of the decision.
func conditionsOnMarks(w *world) {
	yes, no, empty := "yes", "no", ""
	readable := &ledger.ACL{Grants: []ledger.Grant{{Group: "AllUsers", Permission: "READ"}}}
	w.put("k", "body")
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", ACL: readable, Tags: &map[string]string{"seal": "yes", "none": ""}}))(w)
	for i, c := range []struct {
		marks ledger.Marks
		holds bool
	}{
		{ledger.Marks{}, true},
		{ledger.Marks{ACL: &ledger.ACL{}}, true},
		{ledger.Marks{Tags: map[string]*string{"seal": &yes, "none": &empty, "other": nil}}, true},
		{ledger.Marks{Tags: map[string]*string{"seal": &no}}, false},
		{ledger.Marks{Tags: map[string]*string{"seal": nil}}, false},
		{ledger.Marks{Tags: map[string]*string{"none": nil}}, false},
		{ledger.Marks{Tags: map[string]*string{"seal": &yes, "other": &empty}}, false},
		{ledger.Marks{Listed: true, ACL: &ledger.ACL{Grants: []ledger.Grant{{Group: "AllUsers", Permission: "READ"}}}}, true},
		{ledger.Marks{Listed: true, ACL: &ledger.ACL{}}, false},
		{ledger.Marks{Listed: true}, false},
	} {
		before := dump(w, w.Ledger)
		err := refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", Marks: c.marks, TTL: &ledger.TTLChange{TTL: time.Duration(i+1) * time.Hour}}))
		if c.holds != (err == nil) || err != nil && kind(err) != kind(lethe.ErrPreconditionFailed) {
			w.Errorf("with the marks %d, %+v: %v, should hold: %v", i, c.marks, err, c.holds)
		}
		if !c.holds {
			equal(w, "ledger", dump(w, w.Ledger), before)
		}
	}
}
