package sim

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// look is what an actor has asked, and was told.
type look struct {
	admitted map[string]admission // of its last delete, by backend
	wrote    int                  // the turn of its last epoch, in the call on the guard under way
	fenced   bool                 // another was faster, in that call
	absent   int                  // the turn in which it was told last that something is missing
}

// admission is when a ledger's deletes were admitted: when that was asked.
type admission struct {
	side *side
	at   forkSpan
}

func (f *forks) look(a *actor) *look {
	if f.looks[a] == nil {
		f.looks[a] = &look{admitted: map[string]admission{}}
	}
	return f.looks[a]
}

// asks is a call on the guard. One that ended well, no fault kept it from seeing what
// lies there and from telling of itself, is noted: from then on others can know of this
// ledger.
func (n *forkNode) asks(a *actor, id string, call func(context.Context, string) error, beats bool) error {
	f, s, l := n.f, n.side, n.f.look(a)
	at, before := forkSpan{from: f.turn, begun: f.now}, len(f.met)
	l.wrote, l.fenced = 0, false
	f.asking[id]++
	defer func() { f.asking[id]-- }()
	err := call(context.Background(), id)
	at.to = f.turn
	if err == nil && !beats {
		l.admitted[id] = admission{s, at}
	}
	harmed := a != nil && slices.ContainsFunc(f.met[before:], func(m met) bool { return m.at.actor == a.index })
	swapped := f.away[id].other != nil || f.away[id].since > at.from
	told := err == nil || errors.Is(err, lethe.ErrBackendMismatch) && s.row(id).HeldFor == ledger.HeldForLedger
	if harmed || errors.Is(err, errSlow) || swapped || l.fenced || !told {
		return err
	}
	if l.wrote > 0 {
		s.wrote[id] = forkSpan{from: l.wrote, to: at.to}
	}
	if beats {
		s.beats[id] = at
	}
	return err
}

func (s *side) blobs() (rows []ledger.Blob) {
	for b := range s.db.EachBlob() {
		rows = append(rows, *b)
	}
	return rows
}

// lists says that a ledger has a blob that is live.
func (s *side) lists(id lethe.ID) bool {
	b, ok := s.db.Blob(id)
	return ok && b.State == lethe.Live
}

// deleting: bytes that another ledger lists are deleted only if that could not be known,
// or by the one to whom a person gave the backends; and soon after it was asked.
func (f *forks) deleting(s *side, id string, keys []string) error {
	by := f.look(f.cur).admitted[id]
	if took := f.now.Sub(by.at.begun); took > beat/2 {
		return broken("blobs on %s are deleted by the %s %s after it was asked whether they may be", id, named(s.name), took)
	}
	for _, other := range f.sides {
		if other == s {
			continue
		}
		for _, key := range keys {
			b := blobID(f.store, key)
			if !other.lists(b) {
				continue
			}
			if why := f.knew(s, other, id, by.at); why != "" {
				return broken("%s on %s, which the %s lists, is deleted by the %s, %s", key, id, named(other.name), named(s.name), named(why))
			}
			f.gone[b] = true
		}
	}
	return nil
}

// knew says why one who was admitted must have known that another ledger is alive; nothing
// if it need not have, or if a person has decided for it.
func (f *forks) knew(s, other *side, id string, at forkSpan) string {
	wrote, beats := other.wrote[id], other.beats[id]
	switch {
	case f.undecided || f.winner == s:
	case f.winner == other && f.decided < at.from:
		return "and a person has given the backend to the other"
	case f.winner == other:
	case wrote.from > max(s.began, other.began) && wrote.to < at.from:
		return "which was admitted after the other had advanced the backend"
	case beats.to > max(s.began, other.began) && beats.to < at.from && at.begun.Sub(beats.begun) <= beat*3/2:
		return "which was admitted while the other beat"
	}
	return ""
}

// settled: what lies on a disk that was away when it was looked for is not settled as
// absent.
func (f *forks) settled(s *side, t ledger.Settlement) error {
	for _, item := range t.Items {
		b, _ := s.db.Blob(item.ID)
		if item.Result == ledger.Absent && f.hidden(b) {
			return broken("blob %s on %s is settled as absent, and its disk was away", b.ID, b.Backend)
		}
	}
	return nil
}

// missed: nor does it become suspect, but in a ledger that is held for itself. That one
// cannot tell a disk that another ledger went on with from one that was put in its place.
func (f *forks) missed(s *side, ids []lethe.ID) error {
	for _, id := range ids {
		if b, _ := s.db.Blob(id); f.hidden(b) && s.row(b.Backend).HeldFor != ledger.HeldForLedger {
			return broken("blob %s on %s becomes suspect, and its disk was away", id, b.Backend)
		}
	}
	return nil
}

// hidden says that a blob's bytes lie on its disk, which is away, and was when whoever
// acts was told that they are missing.
func (f *forks) hidden(b ledger.Blob) bool {
	if b.Backend == "" {
		return false
	}
	_, there := f.disks[b.Backend].Bytes(lethe.BlobKey(f.store, b.ID))
	s := f.away[b.Backend]
	return there && s.other != nil && s.since < f.look(f.cur).absent
}

// end stops the faults, puts every disk back, and looks how it ends: what either ledger
// lists is there; both are held; the one that is accepted goes on, and the other stays
// held; and who takes over from a process that was killed goes on by itself.
func (f *forks) end() {
	f.quiet, f.cur = true, nil
	for _, n := range f.nodes {
		n.die()
		n.bury()
	}
	f.advance(f.now.Add(2 * safety.LateWindow))
	for _, s := range f.away {
		s.other = nil
	}
	f.fail(f.intact())
	if len(f.sides) > 1 {
		f.both()
		f.accepted(f.sides[f.rng.IntN(2)])
	}
	f.failover()
}

// fresh is a process that has just started on a ledger, without actors.
func (f *forks) fresh(s *side) *forkNode {
	n := &forkNode{f: f, side: s, process: &process{w: f.World, index: len(f.nodes), life: 1}}
	f.nodes = append(f.nodes, n)
	n.open()
	return n
}

// hearts has processes look at all backends, half a beat after the last time.
func (f *forks) hearts(list ...*forkNode) {
	for _, n := range list {
		for _, id := range shelves {
			err := n.pairing.Heartbeat(context.Background(), id)
			f.say(err)
		}
	}
	f.advance(f.now.Add(beat / 2))
}

// intact: what is listed as live, and was not rightly deleted, lies on its backend.
func (f *forks) intact() error {
	for _, s := range f.sides {
		for _, b := range s.blobs() {
			if b.State != lethe.Live || f.gone[b.ID] {
				continue
			}
			if _, there := f.disks[b.Backend].Bytes(lethe.BlobKey(f.store, b.ID)); !there {
				return broken("blob %s, which the %s lists, has no bytes on %s", b.ID, named(s.name), b.Backend)
			}
		}
	}
	return nil
}

// held: a ledger says of a backend that it is held, why, and for what; and nothing is
// destroyed there.
func (f *forks) held(n *forkNode, id string) {
	row := n.side.row(id)
	if row.Held == "" || row.HeldFor != ledger.HeldForLedger {
		f.fail(broken("the %s does not say that %s is held because of the ledger: %+v", named(n.side.name), id, row))
	}
	if err := n.pairing.Admit(context.Background(), id); !errors.Is(err, lethe.ErrBackendMismatch) {
		f.fail(broken("deletes of the %s on %s are admitted: %w", named(n.side.name), id, err))
	}
	if err := n.pairing.Confirmed(context.Background()); !errors.Is(err, lethe.ErrBackendMismatch) {
		f.fail(broken("routines of the %s go on: %w", named(n.side.name), err))
	}
}

// both: of two ledgers that are alive neither goes on before a person decides.
func (f *forks) both() {
	if f.winner != nil || f.undecided {
		return
	}
	a, b := f.fresh(f.sides[0]), f.fresh(f.sides[1])
	for range 4 {
		f.hearts(a, b)
	}
	for _, id := range shelves {
		f.held(a, id)
		f.held(b, id)
	}
}

// accepted: who is accepted goes on after a quiet beat, and the other stays held.
func (f *forks) accepted(s *side) {
	other := f.sides[0]
	if s == other {
		other = f.sides[1]
	}
	mine, theirs := f.fresh(s), f.fresh(other)
	f.hearts(mine, theirs)
	f.decide(s)
	for _, id := range shelves {
		if err := mine.pairing.Admit(context.Background(), id); !errors.Is(err, pairing.ErrNotQuiet) {
			f.fail(broken("the %s was given %s, and does not wait for a quiet beat: %w", named(s.name), id, err))
		}
	}
	for range 4 {
		f.hearts(theirs, mine)
	}
	f.goesOn(mine)
	for _, id := range shelves {
		f.held(theirs, id)
	}
}

// goesOn: nothing is held, and what is dead goes, within a day.
func (f *forks) goesOn(n *forkNode) {
	for _, id := range shelves {
		if err := n.pairing.Admit(context.Background(), id); err != nil {
			f.fail(broken("the %s is held on %s: %w", named(n.side.name), id, err))
		}
	}
	list := n.routines(nil)
	for range 4 {
		for range 2 {
			f.hearts(n)
		}
		for _, b := range n.side.blobs() {
			if b.State == lethe.Dead {
				_, err := n.side.db.Requeue(context.Background(), []lethe.ID{b.ID})
				f.fail(err)
			}
		}
		for _, r := range list {
			f.drains(r)
		}
		f.advance(f.now.Add(safety.LateWindow))
		f.hearts(n)
	}
	for _, b := range n.side.blobs() {
		if b.State != lethe.Live {
			f.fail(broken("blob %s of the %s stays %s", b.ID, named(n.side.name), named(b.State.String())))
		}
	}
	f.fail(f.reads(n))
}

// drains runs a routine until it finds nothing more.
func (f *forks) drains(r reclaim.Routine) {
	step := r.Pass("janitor")
	var counts reclaim.Counts
	for more := true; more && f.err == nil; {
		var err error
		if more, err = step(context.Background(), counts.Add); err != nil {
			f.fail(broken("%s failed without a fault: %w", named(r.Name()), err))
		}
	}
}

// reads reads what the ledger lists through the front door.
func (f *forks) reads(n *forkNode) error {
	var objects []ledger.Object
	for x := range n.side.db.EachObject() {
		objects = append(objects, *x)
	}
	for _, x := range objects {
		rd, err := n.objects.Get(context.Background(), object.GetRequest{Bucket: "plain", Key: x.Key})
		if errors.Is(err, lethe.ErrNoSuchKey) {
			continue // past its time
		}
		if err == nil {
			_, err = io.Copy(io.Discard, rd.Body)
			rd.Body.Close()
		}
		if err != nil && !f.lost(n.side, x.ContentID) {
			return broken("object %s of the %s at the end: %w", x.Key, named(n.side.name), err)
		}
	}
	return nil
}

// lost says that bytes of a content were rightly deleted by the other ledger.
func (f *forks) lost(s *side, content lethe.ID) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.gone)), func(id lethe.ID) bool {
		b, _ := s.db.Blob(id)
		return b.ContentID == content
	})
}

// failover: who takes over from a process that was killed goes on within two beats.
func (f *forks) failover() {
	s := f.sides[0]
	if f.winner != nil {
		s = f.winner
	}
	n, began := f.fresh(s), f.now
	for f.now.Sub(began) < 2*beat {
		f.hearts(n)
	}
	f.goesOn(n)
}
