package placement_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// inline moves contents to where a limit has them, and returns the counts.
func (w *world) inline(limit int64) map[string]int64 {
	w.Helper()
	w.opt.Inline = limit
	return w.pass(placement.NewInline(w.opt))
}

// stays checks that a pass moves nothing, and says why a content stays where it is.
func (w *world) stays(limit int64) {
	w.Helper()
	w.opt.Inline = limit
	got := map[string]int64{}
	step := placement.NewInline(w.opt).Pass("w")
	more, err := true, error(nil)
	for more && err == nil {
		more, err = step(w.ctx, func(name string, n int64) { got[name] += n })
	}
	if err == nil || !strings.Contains(err.Error(), "could not be moved: 1; the first: ") || got["stuck"] != 1 || got["moved_in"]+got["moved_out"] > 0 {
		w.Errorf("counts %v, error %v", got, err)
	}
}

// lies checks that an object can be read and where its bytes are.
func (w *world) lies(key string, size int, where string) {
	w.Helper()
	res, err := w.db.Resolve(w.ctx, "b", key)
	w.must(err)
	if where != "ledger" {
		w.want(key, w.copies(key), where)
		w.whole(key, size)
		return
	}
	if string(res.Inline.Bytes) != body(key, size) || res.Inline.Check(int64(size)) != nil || len(res.Segments) > 0 {
		w.Errorf("%s: %d bytes in the ledger and %v, want %d", key, len(res.Inline.Bytes), res.Segments, size)
	}
}

func TestContentsMoveBetweenBackendsAndLedger(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.opt.Page = 2
	for i := range 5 {
		w.put("a", fmt.Sprint("k", i), 100+i)
	}
	w.put("a", "large", 1000)
	w.replicate()
	got := w.inline(103)
	w.want("moved in", got["moved_in"], 4)
	w.want("items", got["items"], 4)
	for i := range 4 {
		w.lies(fmt.Sprint("k", i), 100+i, "ledger")
	}
	w.lies("k4", 104, "a b")
	w.lies("large", 1000, "a b")
	w.want("moved again", w.inline(103)["items"], 0)
	w.clean()
	w.want("blobs left", w.backends["a"].Len()+w.backends["b"].Len(), 4)

	got = w.inline(101)
	w.want("moved out", got["moved_out"], 2)
	w.replicate()
	w.lies("k1", 101, "ledger")
	w.lies("k2", 102, "a b")
	w.want("moved out", w.inline(0)["moved_out"], 2)
	w.replicate()
	w.lies("k0", 100, "a b")
}

// Bytes that do not match the digest are not moved; another copy is.
func TestDamagedCopiesDoNotMoveIn(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 100)
	w.replicate()
	damage := func(backend string) {
		key := lethe.BlobKey(w.opt.Store, w.blob("k", backend).ID)
		data, _ := w.backends[backend].Bytes(key)
		w.backends[backend].Set(key, append([]byte("X"), data[1:]...))
	}
	damage("a")
	w.faults["b"] = blobtest.Fault{Kind: blobtest.Down}
	w.stays(100)
	w.want("copies", w.copies("k"), "a? b")
	delete(w.faults, "b")
	w.want("moved in", w.inline(100)["moved_in"], 1)
	w.lies("k", 100, "ledger")
}

// A backend that refuses is passed over; without any the content stays, and nothing is left.
func TestMovingOutNeedsABackend(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 0, "b": 0})
	w.put("a", "k", 100)
	w.inline(100)
	w.faults["a"], w.faults["b"] = blobtest.Fault{Kind: blobtest.Down}, blobtest.Fault{Kind: blobtest.Down}
	w.stays(0)
	w.lies("k", 100, "ledger")
	delete(w.faults, "b")
	w.want("moved out", w.inline(0)["moved_out"], 1)
	w.lies("k", 100, "b")
	w.clean()
	w.want("left", w.backends["a"].Len(), 0)
}

// lying is a backend that acknowledges other bytes than it keeps.
type lying struct{ blob.Store }

func (l lying) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	data[0]++
	return l.Store.Put(ctx, key, bytes.NewReader(data), size)
}

// The bytes leave the ledger once what the backend keeps was read back: nothing else has them
// then.
func TestMovingOutReadsBack(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 0})
	w.put("a", "k", 100)
	w.inline(100)
	w.opt.Stores["a"] = lying{w.opt.Stores["a"]}
	w.stays(0)
	w.lies("k", 100, "ledger")
}

// meanwhile is a ledger in which something happens before a content moves.
type meanwhile struct {
	placement.InlineLedger
	happens func()
}

func (m *meanwhile) MoveToLedger(ctx context.Context, content lethe.ID, b ledger.Body) (int, error) {
	m.happens()
	return m.InlineLedger.MoveToLedger(ctx, content, b)
}

func (m *meanwhile) InlineBody(ctx context.Context, content lethe.ID) (ledger.Body, error) {
	b, err := m.InlineLedger.InlineBody(ctx, content)
	m.happens()
	return b, err
}

// fullLedger has no room for bytes.
type fullLedger struct{ placement.InlineLedger }

func (fullLedger) MoveToLedger(context.Context, lethe.ID, ledger.Body) (int, error) {
	return 0, lethe.ErrNoRoom
}

// Once the ledger has no room, a pass reads no more copies.
func TestFullLedgerEndsThePass(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.put("a", "k", 100)
	w.put("a", "l", 100)
	w.opt.Inline, w.opt.Ledger.Inline = 100, fullLedger{w.opt.Ledger.Inline}
	tried := int64(0)
	more, err := placement.NewInline(w.opt).Pass("w")(w.ctx, func(name string, n int64) {
		if name == "items" {
			tried += n
		}
	})
	if more || !errors.Is(err, lethe.ErrNoRoom) || tried != 1 {
		t.Errorf("%d contents tried, more %v, error %v", tried, more, err)
	}
}

// What an item names is deleted while it is applied: that is not said to be moved.
func TestPlannedMoveOfWhatGoes(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.put("a", "k", 100)
	w.opt.Inline = 100
	var list []plan.Item
	w.must(placement.NewInline(w.opt).Items(w.ctx, func(i plan.Item) error { list = append(list, i); return nil }))
	o := w.opt
	o.Ledger.Inline = &meanwhile{w.opt.Ledger.Inline, func() {
		_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}})
		w.must(err)
	}}
	out, err := placement.NewInline(o).Apply(w.ctx, "w", list, func(string, int64) {})
	w.must(err)
	w.want("deleted meanwhile", out[0].Outcome, plan.Changed)
}

// Two movers and a delete at the worst moment: one moves, the other finds nothing to do.
func TestMovesMeet(t *testing.T) {
	for _, limit := range []int64{100, 0} {
		for name, happens := range map[string]func(w *world){
			"another mover": func(w *world) { w.pass(placement.NewInline(w.opt)) },
			"a delete": func(w *world) {
				_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}})
				w.must(err)
			},
		} {
			w := newWorld(t, 1, threeDisks())
			w.put("a", "k", 100)
			w.inline(100 - limit) // to the other side
			w.opt.Inline = limit
			o := w.opt
			o.Ledger.Inline = &meanwhile{w.opt.Ledger.Inline, func() { happens(w) }}
			got := w.pass(placement.NewInline(o))
			if n := got["moved_in"] + got["moved_out"] + got["stuck"]; n != 0 {
				t.Errorf("%s, limit %d: %v", name, limit, got)
			}
			_, err := w.db.Resolve(w.ctx, "b", "k")
			if gone := errors.Is(err, lethe.ErrNoSuchKey); gone != (name == "a delete") {
				t.Errorf("%s, limit %d: %v", name, limit, err)
			}
			w.clean()
			w.clean() // late bytes are deleted twice
			left := w.backends["a"].Len() + w.backends["b"].Len() + w.backends["c"].Len()
			if want := map[bool]int{true: 1}[name == "another mover" && limit == 0]; left != want {
				t.Errorf("%s, limit %d: %d blobs are left, want %d", name, limit, left, want)
			}
		}
	}
}

func TestPlannedMovesBetweenBackendsAndLedger(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.put("a", "in", 100)
	w.put("a", "gone", 90)
	w.put("a", "out", 300)
	w.inline(300)
	w.inline(200) // out is on a backend, the others are not
	w.opt.Inline = 95
	m := placement.NewInline(w.opt)
	items := func() (list []plan.Item) {
		w.must(m.Items(w.ctx, func(i plan.Item) error { list = append(list, i); return nil }))
		return list
	}
	list := items()
	if len(list) != 1 || list[0].Why != "moved out of the ledger to a" || list[0].Copies != 1 || list[0].Size != 100 {
		t.Fatalf("planned %+v", list)
	}
	w.opt.Inline = 300
	m = placement.NewInline(w.opt)
	back := items()
	if len(back) != 1 || back[0].Why != "moved into the ledger; condemned on a" || back[0].Blobs != 1 || back[0].Frees != 300 {
		t.Fatalf("planned %+v", back)
	}
	apply := func(list []plan.Item) plan.Outcome {
		out, err := m.Apply(w.ctx, "w", list, func(string, int64) {})
		w.must(err)
		return out[0].Outcome
	}
	w.want("planned with another limit", apply(list), plan.Already)
	w.want("planned", apply(back), plan.Done)
	w.lies("out", 300, "ledger")
	w.want("again", apply(back), plan.Already)
	_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "out"}}})
	w.must(err)
	w.want("once it is gone", apply(back), plan.Gone)
}
