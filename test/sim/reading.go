package sim

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// reading is what an operation that reads has gone through.
type reading struct {
	harmed bool // it met a fault, or bytes were destroyed: it may fail
	ruined bool // it came upon a copy that decayed when there was no other one: it may fail
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

// someRange is what a read asks for: in one of two all of the object, in the others a
// range, which may lie behind its end.
func (a *actor) someRange(op *operation) *object.Range {
	return rangeOf(draw(a.w.cfg.Seed, uint64(op.number), 92))
}

func rangeOf(h uint64) *object.Range {
	offset, length := int64(h>>8%700), int64(1+h>>24%250)
	switch h % 8 {
	case 0:
		return &object.Range{Offset: -length, Length: -1}
	case 1:
		return &object.Range{Offset: offset, Length: -1}
	case 2, 3:
		return &object.Range{Offset: offset % 250, Length: length}
	}
	return nil
}

// summed: what becomes live by the hand of who wrote it has the sums of its blocks, if
// it has several; a copy has them if what it was made of has.
func (o *oracle) summed(step Step) error {
	for _, b := range o.view.Blobs {
		old, was := o.last[b.ID]
		if !was || old.State != lethe.Pending || b.State != lethe.Live || b.Size <= block || b.Block != 0 {
			continue
		}
		switch {
		case step == "commit", step == "commit-part",
			step == "commit-copy" && !slices.ContainsFunc(o.view.Blobs, func(x ledger.Blob) bool {
				return x.ID != b.ID && x.Digest == b.Digest && x.State == lethe.Live && x.Block == 0
			}):
			return broken("blob %s of %d bytes became live by %s without the sums of its blocks", b.ID, b.Size, named(step))
		}
	}
	return nil
}

// readsFrom says that the bytes read are those of the version from an offset on, for
// all that is known.
func (o *oracle) readsFrom(version lethe.ID, got []byte, offset, length int64) bool {
	want := o.bodies[version]
	if want == nil {
		return o.w.destroyed
	}
	return offset+length <= int64(len(want)) && bytes.Equal(got, want[offset:offset+length])
}

// cutOff: a reader finds the bytes, however slow it is and wherever they were moved
// meanwhile, as long as they are under its key: what it resolved may be out of date, but
// it asks the ledger once more (docs/protocol.md, rule 18). Only who stands still between that and
// opening them can miss them again.
func (a *actor) cutOff(op *operation, content lethe.ID, err error) error {
	w, r := a.w, op.reading
	asks := 1
	if content == "" { // nothing was handed out: the first look-up does not count
		asks = 2
	}
	if err == nil || definite(err) || errors.Is(err, errLeft) || r.harmed || r.ruined || r.lapsed && r.asked >= asks || w.oracle.changed[op.at] > r.began {
		return nil
	}
	for _, x := range w.oracle.view.Objects {
		if x.Bucket == op.at.bucket && x.Key == op.at.key && visible(x, w.now) && (content == "" || x.ContentID == content) {
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
func (w *World) segments(content lethe.ID) (list []ledger.Blob) {
	for _, b := range w.oracle.view.Blobs {
		if b.ContentID == content && b.Segment > 0 && b.State == lethe.Live {
			list = append(list, b)
		}
	}
	return list
}

// left says that one of the blobs has no bytes any more.
func (w *World) left(blobs []ledger.Blob) bool {
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
