package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// idles says that some objects of this world are kept only as long as they are read.
func (w *World) idles() bool { return hash2(w.cfg.Seed, 182)%8 == 0 }

// idleTime is how long what an operation writes is kept after its last read; 0: that does not
// end it.
func (w *World) idleTime(op *operation) time.Duration {
	h := draw(w.cfg.Seed, uint64(op.number), 74)
	if !w.idles() || h%4 == 0 {
		return 0
	}
	return time.Duration(1+h>>8%20) * time.Minute
}

// visible says that clients see an object.
func visible(x ledger.Object, now lethe.Time) bool {
	return (x.TTLAt == 0 || x.TTLAt > now) && !idle(x, now)
}

// idle says that an object has ended as nobody read it, and idleOver that it may go for that.
func idle(x ledger.Object, now lethe.Time) bool { return x.IdleAt != 0 && x.IdleAt <= now }

func idleOver(x ledger.Object, now lethe.Time) bool {
	return x.IdleAt != 0 && x.IdleAt.Add(10*time.Second) <= now
}

// noter notes reads each minute, or sooner.
func noter(a *actor) {
	rng := rand.New(rand.NewPCG(a.w.cfg.Seed, uint64(9000+10*a.proc.index+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(60)) * time.Second)
		a.begins(a.task + 1)
		served := maps.Clone(a.proc.reads)
		err := a.proc.node.objects.NoteReads(context.Background())
		a.w.note("%s: %s", a.name, class(err))
		a.w.say(err)
		if err == nil {
			a.w.fail(a.w.oracle.arrived(served))
			maps.DeleteFunc(a.proc.reads, func(id lethe.ID, at lethe.Time) bool { return served[id] == at })
		}
	}
}

// wasServed remembers that a process served a read of a version that ends too early for it.
func (a *actor) wasServed(x ledger.Object) {
	a.w.fail(a.w.oracle.served(x))
	if at := a.op.foundAt; x.IdleFor > 0 && at.Add(x.IdleFor) > x.IdleAt {
		a.proc.reads[x.ID] = max(at, a.proc.reads[x.ID])
	}
}

// arrived: once a process has noted its reads, what it served is kept for the idle time after.
func (o *oracle) arrived(served map[lethe.ID]lethe.Time) error {
	for _, x := range o.view.Objects {
		if at, read := served[x.ID]; read && x.IdleFor > 0 && x.IdleAt < at.Add(x.IdleFor) {
			return broken("%s/%s was read at %s, which was noted, and ends %s, idle for %s", x.Bucket, x.Key, at, x.IdleAt, x.IdleFor)
		}
	}
	return nil
}

// idleMoves: only a note of a read moves an end by idleness, and of its own version: forward, by
// more than a tenth.
func (o *oracle) idleMoves(before View, step Step) error {
	was := byPlace(before.Objects)
	for at, now := range byPlace(o.view.Objects) {
		old, there := was[at]
		switch {
		case !there || old.ID != now.ID:
			if now.IdleFor > 0 && now.IdleAt.Add(-now.IdleFor) < o.clock {
				return broken("%v was written with the end %s, idle for %s", at, now.IdleAt, now.IdleFor)
			}
		case now.IdleAt == old.IdleAt && now.IdleFor == old.IdleFor:
		case step == "delete" && now.IdleFor == 0 && now.IdleAt == old.IdleAt && idle(old, o.w.now): // notes do not bring it back
		case step == "update": // a copy onto itself sets it anew
		case step != "note-reads" || now.IdleFor != old.IdleFor || now.IdleAt.Sub(old.IdleAt) <= now.IdleFor/10:
			return broken("%v ended %s, idle for %s, and ends %s, idle for %s", at, old.IdleAt, old.IdleFor, now.IdleAt, now.IdleFor)
		case o.noting[now.ID] == 0:
			return broken("%v ended %s and ends %s, and nobody had read this version", at, old.IdleAt, now.IdleAt)
		}
	}
	return nil
}

// NoteReads is a method of processes that serve.
func (s *seam) NoteReads(ctx context.Context, reads []ledger.Read, awaited bool) (int, error) {
	return write(s, "note-reads", "", scope{}, func() (int, error) {
		clear(s.w.oracle.noting)
		for _, r := range reads {
			s.w.oracle.noting[r.ID] = r.At
		}
		n, err := s.in.NoteReads(s.lasting(ctx), reads, awaited)
		if err != nil {
			s.w.fail(broken("the ledger refused notes of reads: %w", err))
		}
		return n, err
	})
}
