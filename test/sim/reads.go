package sim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
)

// counts says that clients of this world give some objects a number of reads.
func (w *World) counts() bool { return hash2(w.cfg.Seed, 180)%8 == 0 }

// grant is how often what an operation writes can be read; 0: that is not counted.
func (w *World) grant(op *operation) int64 {
	h := draw(w.cfg.Seed, uint64(op.number), 72)
	if !w.counts() || h%3 == 0 {
		return 0
	}
	return 1 + int64(h>>8%3)
}

// CountRead is a method of clients.
func (s *seam) CountRead(ctx context.Context, x ledger.Object) (ledger.Object, error) {
	return write(s, "count-read", x.Key, scope{}, func() (ledger.Object, error) { return s.in.CountRead(s.lasting(ctx), x) })
}

// readsFall: only a read takes a read, and only one; the last one ends the object, for
// good.
func (o *oracle) readsFall(before View, step Step) error {
	was := byPlace(before.Objects)
	for at, now := range byPlace(o.view.Objects) {
		old, there := was[at]
		if !there || old.ID != now.ID {
			o.granted[now.ID] = now.ReadsLeft
			continue
		}
		want := old.ReadsLeft - 1
		if want == 0 {
			want = ledger.AllRead
		}
		switch {
		case now.ReadsLeft == old.ReadsLeft && (old.ReadsLeft != ledger.AllRead || now.TTLAt == old.TTLAt):
		case step != "count-read" || old.ReadsLeft <= 0 || now.ReadsLeft != want:
			return broken("%v had %d reads left, ending %s, and has %d, ending %s", at, old.ReadsLeft, old.TTLAt, now.ReadsLeft, now.TTLAt)
		case want == ledger.AllRead && now.TTLAt != o.w.now:
			return broken("%v was read for the last time, and ends %s", at, now.TTLAt)
		}
	}
	return o.unkept()
}

// unkept: what can be read a number of times lies in no trash, and no copy is made of it.
func (o *oracle) unkept() error {
	for _, e := range o.view.Trash {
		if e.Object.Counted() || o.granted[e.Object.ID] != 0 {
			return broken("%s/%s is in the trash, though its reads are counted", e.Object.Bucket, e.Object.Key)
		}
	}
	for _, x := range o.view.Objects {
		if op := o.byOp[x.ID]; op != nil && op.kind == "copy" && o.granted[op.source] != 0 {
			return broken("%s/%s is a copy of version %s, whose reads are counted", x.Bucket, x.Key, op.source)
		}
	}
	return nil
}

// served: nobody is handed what was read as often as it could be.
func (o *oracle) served(x ledger.Object) error {
	n := o.granted[x.ID]
	if n == 0 {
		return nil
	}
	if o.handed[x.ID]++; o.handed[x.ID] > n {
		return broken("version %s of %s/%s was handed out %d times of %d", x.ID, x.Bucket, x.Key, o.handed[x.ID], n)
	}
	return nil
}

// uncached: a body that is read a number of times gets into no cache.
func (a *actor) uncached() error {
	if a == nil || a.op == nil || a.w.oracle.granted[a.op.found] == 0 {
		return nil
	}
	return broken("%v, whose reads are counted, is cached", a.op.at)
}
