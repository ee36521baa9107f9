package metatest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

func conditionTests() []test {
	return []test{
		{name: "on a key that is taken", run: conditionsTaken},
		{name: "on a key that is free", run: conditionsFree},
		{name: "on a key that is past its time", run: conditionsExpired},
	}
}

type condition struct {
	p     meta.Precondition
	taken bool // it holds for the object
	free  bool // it holds where nothing lies
}

// conditions are about an object.
func conditions(o meta.Object) []condition {
	size, other := o.Size, o.Size+1
	sec := lethe.Time(time.Second / time.Microsecond)
	return []condition{
		{meta.Precondition{}, true, true},
		{meta.Precondition{IfMatch: "*"}, true, false},
		{meta.Precondition{IfMatch: o.ETag}, true, false},
		{meta.Precondition{IfMatch: "x, " + o.ETag + " ,y"}, true, false},
		{meta.Precondition{IfMatch: "x"}, false, false},
		{meta.Precondition{IfNoneMatch: "*"}, false, true},
		{meta.Precondition{IfNoneMatch: o.ETag}, false, true},
		{meta.Precondition{IfNoneMatch: "x,y"}, true, true},
		{meta.Precondition{IfID: o.ID}, true, false},
		{meta.Precondition{IfID: "x"}, false, false},
		{meta.Precondition{IfSize: &size}, true, false},
		{meta.Precondition{IfSize: &other}, false, false},
		{meta.Precondition{IfModified: o.ModifiedAt}, true, false},
		{meta.Precondition{IfModified: o.ModifiedAt - o.ModifiedAt%sec}, true, false},
		{meta.Precondition{IfModified: o.ModifiedAt + sec}, false, false},
		{meta.Precondition{IfMatch: o.ETag, IfID: "x"}, false, false},
	}
}

// free tries a condition on a key under which readers see nothing.
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
	for i := range conditions(meta.Object{}) {
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

func (w *world) attempt(what, key string, p meta.Precondition) error {
	switch what {
	case "commit":
		c := w.reference(key, "")
		c.If = p
		return refused(w.Commit(w.ctx, c))
	case "update":
		return refused(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: key, If: p, Tags: &map[string]string{"a": "b"}}))
	}
	d := must(w.Delete(w.ctx, meta.Deletion{Op: w.id(), Bucket: bucketName, Items: []meta.DeleteItem{{Key: key, If: p}}}))(w)
	return d.Items[0].Err
}

func conditionsFree(w *world) {
	for _, c := range conditions(w.put("else", "body")) {
		w.free("free", c)
	}
}

// conditionsExpired: what is past its time is not there.
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
