package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Latent faults. A copy at rest decays: one bit flips, its end is cut off, or all of it
// vanishes, and nobody is told. What decays is a live copy of a content, or, where uploads
// are composed, a stored part, that was neither written nor verified within the trust
// window, and in no world within the last ten minutes: within the window the store
// believes what it has written or read (docs/protocol.md, rule 17), so that nothing could be
// promised. For the same reason none decays between being read and being noted as
// verified.
//
// As long as a segment keeps another copy that has not decayed, every read of it
// succeeds. Its only copy may decay too: then reads may fail until the bytes are stored
// again, by whomever, and never after that. No read returns other bytes at any time. A
// part has one copy: if that has decayed, and nobody knows, its upload may be completed,
// and the object is as one whose only copy decays after that.

// decays says that copies at rest decay in this world. No backend is destroyed there,
// which would excuse too much.
func (w *World) decays() bool {
	switch {
	case w.replicas() > 1:
		return hash2(w.cfg.Seed, 12)%4 == 3
	case w.placed() && w.lurks():
		return false
	}
	return hash2(w.cfg.Seed, 91)%4 == 0
}

// decay is the actor that lets copies decay. Where parts do, the real check comes by now
// and then: what it has found of a part keeps its upload from being completed.
func decay(a *actor) {
	w := a.w
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(5000+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(10*60)) * time.Second)
		a.begins(a.task + 1)
		fault, last := a.arrive("decay", ""), rng.IntN(3) == 0
		if b, ok := w.frail(rng, last); ok && fault != None {
			w.spoil(b, fault, rng)
		}
		if w.composes() && rng.IntN(8) == 0 {
			w.inspect(&seam{w: w, in: w.ledger}, a.proc.node.stores)
		}
	}
}

// frail chooses a copy that may decay; last says that it may be the only one that has
// not.
func (w *World) frail(rng *rand.Rand, last bool) (ledger.Blob, bool) {
	o := w.oracle
	if slices.ContainsFunc(w.late, func(l *landing) bool { return l.commit == "mark" }) {
		return ledger.Blob{}, false
	}
	sound := map[piece]int{}
	for _, b := range o.view.Blobs {
		if b.State == lethe.Live && b.ContentID != "" && !o.lost[b.ID] {
			sound[piece{b.ContentID, b.Segment}]++
		}
	}
	var list, parts []ledger.Blob
	for _, b := range o.view.Blobs {
		if o.decayable(b) && (last || sound[piece{b.ContentID, b.Segment}] > 1) {
			if list = append(list, b); b.ContentID == "" {
				parts = append(parts, b)
			}
		}
	}
	switch {
	case len(parts) > 0: // few live for long enough
		return pick(rng, parts), true
	case len(list) > 0:
		return pick(rng, list), true
	}
	return ledger.Blob{}, false
}

func (o *oracle) decayable(b ledger.Blob) bool {
	if b.State != lethe.Live || b.ContentID == "" && !o.w.composes() || o.lost[b.ID] || o.trusted(b) || o.w.beingRead(b.ID) ||
		max(b.CreatedAt, b.VerifiedAt) > (ledger.Options{TrustWindow: o.w.trust()}).ReadSince(o.clock) {
		return false
	}
	data, there := o.w.disks[b.Backend].Bytes(lethe.BlobKey(o.w.store, b.ID))
	return there && len(data) > 0
}

// beingRead says that somebody has opened a copy and may be about to note that it is
// whole.
func (w *World) beingRead(id lethe.ID) bool {
	for _, p := range w.procs {
		for _, a := range p.actors {
			if !a.dead && (a.op == nil || a.op.kind == "copy") && slices.Contains(a.opened, id) {
				return true
			}
		}
	}
	return false
}

// damage is what has become of a copy.
type damage struct {
	fault  Fault
	from   int64 // the first byte that is another, or missing
	opened bool
}

// spoil lets a copy decay.
func (w *World) spoil(b ledger.Blob, fault Fault, rng *rand.Rand) {
	disk, key := w.disks[b.Backend], lethe.BlobKey(w.store, b.ID)
	data, _ := disk.Bytes(key)
	from := rng.IntN(len(data))
	switch fault {
	case Flipped:
		data = slices.Clone(data)
		data[from] ^= 1
		disk.Set(key, data)
	case Truncated:
		disk.Set(key, slices.Clone(data[:from]))
	case Vanished:
		from = 0
		disk.Lose(key)
	}
	w.note("%s on %s: %s from byte %d on", key, b.Backend, fault, from)
	o := w.oracle
	o.lost[b.ID], o.damaged[b.ID] = true, &damage{fault: fault, from: int64(from)}
	if b.ContentID != "" && !o.pieces()[piece{b.ContentID, b.Segment}] {
		o.ruined[b.ContentID] = true
	}
}

// opens notes that somebody opens a copy, and what has become of it; nil if it has not
// decayed.
func (o *oracle) opens(id lethe.ID) *damage {
	a := o.w.cur
	if a == nil || id == "" || !o.w.decays() {
		return nil
	}
	a.opened = append(a.opened, id)
	d := o.damaged[id]
	if d == nil {
		return nil
	}
	if !d.opened {
		d.opened = true
		o.w.acted("decay", d.fault)
	}
	if a.op != nil && !o.elsewhere(id) {
		a.op.reading.ruined = true
	}
	return d
}

// elsewhere says that a live copy which has not decayed has the same bytes: nobody finds
// one that is condemned.
func (o *oracle) elsewhere(id lethe.ID) bool {
	of := o.last[id]
	return slices.ContainsFunc(o.view.Blobs, func(b ledger.Blob) bool {
		if b.ContentID != of.ContentID || b.Segment != of.Segment || b.State != lethe.Live || o.lost[b.ID] {
			return false
		}
		_, there := o.w.disks[b.Backend].Bytes(lethe.BlobKey(o.w.store, b.ID))
		return there
	})
}

// meets notes that a client came upon what has become of a copy.
func (a *actor) meets(id lethe.ID) {
	if a != nil && a.op != nil {
		a.op.met = append(a.op.met, id)
	}
}

// noted: what a client came upon is marked suspect, unless something kept that from
// being written (docs/protocol.md, rule 20).
func (o *oracle) noted(op *operation) error {
	if op.faulted {
		return nil
	}
	for _, id := range op.met {
		if b := o.last[id]; b.State == lethe.Live && !b.Suspect {
			return broken("%s of %v came upon copy %s, which has decayed, and it is not suspect", named(op.kind), op.at, id)
		}
	}
	return nil
}

// vacant counts the live blobs whose bytes are missing.
func (o *oracle) vacant() (n int) {
	for _, b := range o.view.Blobs {
		if d := o.damaged[b.ID]; d != nil && d.fault == Vanished {
			n++
		}
	}
	return n
}
