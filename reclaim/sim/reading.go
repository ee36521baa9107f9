package sim

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
)

// reading is what an operation that reads has gone through.
type reading struct {
	harmed bool // it met a fault, or bytes were destroyed: it may fail
	lapsed bool // it stood still for so long, since it resolved, that its grace could have passed
	asked  int  // times it resolved since it got bytes
	began  int  // effect at which it began
}

// resolved notes that the operation under way was told where the bytes lie.
func (a *actor) resolved() {
	if a != nil && a.op != nil {
		a.op.reading.asked++
		a.op.reading.lapsed = false
	}
}

// cutOff: a reader finds the bytes, however slow it is and wherever they were moved
// meanwhile, as long as they are under its key: what it resolved may be out of date, but
// it asks the ledger once more (design rule 18). Only who stands still between that and
// opening them can miss them again.
func (a *actor) cutOff(op *operation, content lethe.ID, err error) error {
	w, r := a.w, op.reading
	asks := 1
	if content == "" { // nothing was handed out: the first look-up does not count
		asks = 2
	}
	if err == nil || definite(err) || errors.Is(err, errLeft) || r.harmed || r.lapsed && r.asked >= asks || w.oracle.changed[op.at] > r.began {
		return nil
	}
	for _, x := range w.oracle.view.Objects {
		if x.Bucket == op.at.bucket && x.Key == op.at.key && (x.TTLAt == 0 || x.TTLAt > w.now) && (content == "" || x.ContentID == content) {
			return broken("%v lies where it did, and its reader was cut off: %w", op.at, err)
		}
	}
	return nil
}

// dwells says that a reader in this world stands still in the middle of an object until
// what it still has to read was moved.
func (w *World) dwells() bool { return w.replicas() == 1 && w.placed() && hash2(w.cfg.Seed, 12)%3 == 1 }

// calm says that nothing goes wrong now: neither for that reader nor, while it stands
// still, for others, or a crash of its process would end it long before.
func (w *World) calm(a *actor) bool {
	return w.dwelling != "" || a.op != nil && a.op.at.key == dwelt
}

// dwelt is the key that only that reader uses.
const dwelt = "dwelt"

// mostDwelling bounds how often the reader looks whether they were moved.
const mostDwelling = 60

// dwell has a client begin with that.
func (s *script) dwell() {
	op := s.ops[0]
	*op = operation{kind: "vigil", number: op.number, at: place{"plain", dwelt}}
	s.do[0] = makeDwell(op)
}

func makeDwell(op *operation) func(*actor, *operation) error {
	parts := [][]byte{corpus[4], corpus[3], corpus[4]}
	op.body = bytes.Join(parts, nil)
	return func(a *actor, op *operation) error {
		u := &multipart{a: a, op: op}
		if err := u.write(parts); err != nil {
			return err
		}
		op.reading.asked, op.reading.began = 0, a.w.effects
		rd, err := a.proc.node.objects.Get(context.Background(), object.GetRequest{Bucket: op.at.bucket, Key: op.at.key})
		if err != nil {
			a.w.fail(a.cutOff(op, "", err))
			return errors.Join(errLeft, err)
		}
		defer rd.Body.Close()
		op.reading.asked = 0
		got, err := a.readSlowly(rd.Body, 0, a.dwell(rd.Object.ContentID))
		if err == nil && !a.w.oracle.reads(rd.Object.ID, got) {
			a.w.fail(broken("%v: who stood still got other bytes", op.at))
		}
		a.w.fail(a.cutOff(op, rd.Object.ContentID, err))
		return err
	}
}

// dwell waits, behind the first bytes, until a segment that is not open yet has left
// the place where it lay.
func (a *actor) dwell(content lethe.ID) func() {
	w, reads := a.w, 0
	later := w.segments(content)
	return func() {
		if reads++; reads != 2 {
			a.pause(0)
			return
		}
		w.dwelling = content
		defer func() { w.dwelling = "" }()
		for range mostDwelling {
			if len(later) == 0 || w.left(later) {
				break
			}
			a.pause(time.Minute)
		}
	}
}

// segments are the live blobs of a content's segments but the first.
func (w *World) segments(content lethe.ID) (list []meta.Blob) {
	for _, b := range w.oracle.view.Blobs {
		if b.ContentID == content && b.Segment > 0 && b.State == lethe.Live {
			list = append(list, b)
		}
	}
	return list
}

// left says that one of the blobs has no bytes any more.
func (w *World) left(blobs []meta.Blob) bool {
	for _, b := range blobs {
		if _, there := w.disks[b.Backend].Bytes(lethe.BlobKey(w.store, b.ID)); !there {
			return true
		}
	}
	return false
}

// chase drains the backend on which the reader who stands still has to go on.
func (w *World) chase(l *seam) {
	list := w.segments(w.dwelling)
	if len(list) == 0 {
		return
	}
	id, on := list[len(list)-1].Backend, true
	switch now := w.drained(); {
	case now == id:
		return
	case now != "":
		id, on, w.undrained = now, false, true
	}
	if err := l.SetDraining(context.Background(), id, on); err != nil {
		w.say(err) // it asks again later
	}
}
