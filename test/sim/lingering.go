package sim

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/object"
)

// lingers is how many operations the clients of a world have at most beyond their
// scripts: slow ones, where nobody was slow so far.
const lingers = 60

// more says that a client has something to do.
func (s *script) more(w *World) bool { return s.next < len(s.ops) || w.hurried() }

// hurried says that nobody has sent, or read, a body slowly, and nobody is at it.
// Whoever is done with its script sees to that, while others go on: what happens
// before is as if it had not to.
func (w *World) hurried() bool {
	return w.lingered < lingers && (w.reached.Writers == 0 || w.reached.Readers == 0) && !w.lingering()
}

// linger draws one more operation, if there is none left.
func (s *script) linger(w *World) {
	if s.next < len(s.ops) {
		return
	}
	number := w.cfg.Clients*w.cfg.Ops + w.lingered
	w.lingered++
	pace := slow + time.Duration(s.rng.IntN(5))*time.Second
	op, do := &operation{kind: "get", number: number, lingers: true}, get(pace)
	there := w.oracle.lasting()
	if w.reached.Writers == 0 || len(there) == 0 {
		op.kind, op.at, op.body = "put", place{pick(s.rng, bucketNames), pick(s.rng, keyNames)}, corpus[3]
		do = putSlowly(pace)
	} else {
		op.at = pick(s.rng, there)
	}
	s.ops, s.do = append(s.ops, op), append(s.do, do)
}

// lingering says that a client is at such an operation.
func (w *World) lingering() bool {
	for _, p := range w.procs {
		for _, a := range p.actors {
			if a.op != nil && a.op.lingers && !a.dead {
				return true
			}
		}
	}
	return false
}

// lasting lists what can be read, and is in the next minutes if nobody removes it.
func (o *oracle) lasting() (out []place) {
	for _, x := range o.view.Objects {
		if x.Size > 0 && !o.ruined[x.ContentID] && (x.DueAt() == 0 || x.DueAt() > o.w.now.Add(10*time.Minute)) {
			out = append(out, place{x.Bucket, x.Key})
		}
	}
	return out
}

// putSlowly streams a body: its intent is open while its chunks come.
func putSlowly(pace time.Duration) func(*actor, *operation) error {
	return func(a *actor, op *operation) error {
		_, err := a.proc.node.objects.Put(context.Background(), object.PutRequest{
			Bucket: op.at.bucket, Key: op.at.key, Body: &slowBody{a: a, data: op.body, pace: pace},
			Size: int64(len(op.body)),
		})
		return err
	}
}
