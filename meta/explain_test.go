package meta

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

func TestFate(t *testing.T) {
	l := newLedger(t)
	l.undo()
	first := l.putTTL("k", "d", 0).Object
	l.clock.Advance(time.Second)
	second := l.putTTL("k", "e", time.Minute).Object
	l.clock.Advance(time.Hour)
	f, err := l.Fate(l.ctx, "b", "k")
	l.ok(err)
	if f.Object == nil || f.Object.ID != second.ID || f.Object.Bucket != "b" || f.Now != l.now() {
		t.Errorf("an object past its time is still explained: %+v", f)
	}
	if len(f.Trash) != 1 || f.Trash[0].Object.ID != first.ID {
		t.Errorf("trash %+v", f.Trash)
	}
	if len(f.Ops) != 2 || f.Ops[0].Op != first.ID || f.Ops[1].Op != second.ID || f.Ops[0].What != "put" {
		t.Errorf("ops %+v", f.Ops)
	}
	for _, where := range [][2]string{{"b", "other"}, {"nowhere", "k"}} {
		if f, err := l.Fate(l.ctx, where[0], where[1]); err != nil || f.Object != nil || len(f.Trash) != 0 {
			t.Errorf("%v: %+v, %v", where, f, err)
		}
	}
}

func TestExplainContent(t *testing.T) {
	l := newLedger(t)
	l.undo()
	id := l.putTTL("a", "d", 0).Object.ContentID
	l.putTTL("b", "d", 0)
	l.remove("b")
	c, err := l.ContentByID(l.ctx, id)
	l.ok(err)
	if c.ID != id || c.Refs != 2 || c.Digest != "d" || c.Domain != "alice" || c.Kind != lethe.Whole || c.Size != 100 || c.Closed {
		t.Errorf("content %+v", c)
	}
	list, err := l.Sharers(l.ctx, id, 10)
	l.ok(err)
	if len(list) != 2 || list[0] != (Sharer{"b", "a", false}) || list[1] != (Sharer{"b", "b", true}) {
		t.Errorf("sharers %+v", list)
	}
	if list, _ := l.Sharers(l.ctx, id, 1); len(list) != 1 {
		t.Errorf("sharers %+v", list)
	}
	_, err = l.ContentByID(l.ctx, l.id())
	l.refused(err, lethe.ErrContentGone)
}
