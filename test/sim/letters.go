package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// buries says that a person in each process looks after the dead letters while the
// world goes on, and not only in the end: in half of the worlds that have many.
func (w *World) buries() bool { return w.mood() == stubborn && hash2(w.cfg.Seed, 34)%2 == 0 }

// giveUp is how soon a delete is given up: in such a world at its first failure.
func (w *World) giveUp() reclaim.Safety {
	s := safety
	if w.buries() {
		s.Attempts = 1
	}
	return s
}

// undertaker has deletes that were given up tried again, or removes bytes by hand and
// writes them off: the ledger leaves what may still land there.
func undertaker(a *actor) {
	w := a.w
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(9000+10*a.proc.index+a.proc.life)))
	l := &seam{w: w, in: w.ledger}
	for {
		a.pause(time.Duration(rng.IntN(6)) * time.Minute)
		letters, err := l.Dead(context.Background(), ledger.DeadQuery{Limit: batch})
		w.fail(err)
		if len(letters) == 0 {
			continue
		}
		var ids []lethe.ID
		for _, b := range letters {
			ids = append(ids, b.ID)
		}
		if rng.IntN(2) == 0 {
			_, err = l.WriteOff(context.Background(), ids)
		} else {
			_, err = l.Requeue(context.Background(), ids)
		}
		w.note("%s: %s", a.name, class(err))
		w.say(err)
	}
}

// lettered: what is written off was a dead letter that was named, and nothing can land
// there any more; what is put back into the queue is due, with all attempts before it.
func (o *oracle) lettered(step Step, sc scope) error {
	if step != "write-off" && step != "requeue" {
		return nil
	}
	now := map[lethe.ID]ledger.Blob{}
	for _, b := range o.view.Blobs {
		now[b.ID] = b
	}
	for id, old := range o.last {
		b, there := now[id]
		switch {
		case there && b == old:
		case old.State != lethe.Dead || !slices.Contains(sc.blobs, id) || there != (step == "requeue"):
			return broken("blob %s, which is %s, was changed by a person who looks after dead letters", id, old.State)
		case !there && old.LateUntil > o.w.now:
			return broken("blob %s was written off, and its upload may still land until %s", id, old.LateUntil)
		case there && (b.State != lethe.Condemned || b.Attempts != 0 || b.DueAt > o.w.now):
			return broken("blob %s was put back into the queue as %s, after %d attempts, due %s", id, b.State, b.Attempts, b.DueAt)
		}
	}
	return nil
}
