package incidents_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
)

// lease is longer than a claim of placement lasts.
const lease = 6 * time.Minute

// replicate looks after all copies, as a worker does who prefers the backends in
// this order.
func (w *world) replicate(order ...string) map[string]int64 {
	w.Helper()
	o := w.placing()
	o.Order = order
	return w.pass(placement.NewReplicate(o))
}

// survey queues every content whose copies are not as they should be.
func (w *world) survey() {
	w.Helper()
	w.pass(placement.NewSurvey(w.placing()))
}

// rot turns the bytes of all blobs on a backend into others, of which nobody is
// told.
func (w *world) rot(id string) {
	w.Helper()
	for _, key := range w.keysOn(id) {
		info, err := w.lies[id].Stat(w.ctx, key)
		w.must(err)
		_, err = w.lies[id].Delete(w.ctx, []string{key})
		w.must(err)
		w.must(w.lies[id].Put(w.ctx, key, strings.NewReader(strings.Repeat("x", int(info.Size))), info.Size))
	}
}

// copied fails unless each content has its copies, on backends of their own, none
// of them suspect.
func (w *world) copied() {
	w.Helper()
	on := map[string][]string{}
	for _, b := range w.blobs(lethe.Live) {
		if b.Suspect {
			w.Errorf("a copy is suspect: %+v", b)
		}
		segment := fmt.Sprintf("segment %d of content %s", b.Segment, b.ContentID)
		on[segment] = append(on[segment], b.Backend)
	}
	for segment, backends := range on {
		slices.Sort(backends)
		if len(slices.Compact(slices.Clone(backends))) != w.replicas || len(backends) != w.replicas {
			w.Errorf("%s has copies on %q, want %d", segment, backends, w.replicas)
		}
	}
}

// Garage #39: a block whose last reference went was deleted while another node was
// taking a new one; since then it waits for ten minutes, and asks the others. Here
// whoever stores the same again finds the content, or makes one under another name
// on each backend; deletes under way, on either, hit the old names.
func TestGarage39_DeletedWhileItIsReferencedElsewhere(t *testing.T) {
	setting{backends: 2, replicas: 2}.each(t, func(w *world) {
		const body = "referenced again"
		w.put("b/a", body)
		w.must(w.engine())
		w.copied()
		w.delete("b/a")
		w.clock.Advance(w.safety.ReadGrace)
		w.interrupts(blobtest.OpDelete, func() { w.put("b/c", body) }) // on the first, at the very moment
		w.faults["second"] = func(c blobtest.Call) blobtest.Fault {    // on the second, the delete lands when all is over
			if c.Op == blobtest.OpDelete {
				return blobtest.Fault{Kind: blobtest.Late}
			}
			return blobtest.Fault{}
		}
		equal(w, "gone", w.pass(w.clean())["gone"], 1)
		w.replicate(w.order...)
		w.heal()
		w.copied()
		for _, p := range w.disks["second"].(*blobtest.Faulty).Late() {
			w.must(p.Release(w.ctx))
		}
		w.has("b/c", body)
		w.ends(map[string]string{"b/c": body})
		w.copied()
	})

	n := newNaive()
	n.put("a", "hash", "body")
	delete(n.rows, "a")
	n.queue = append(n.queue, "hash") // at zero
	n.rows["c"] = "hash"              // on another node, which finds the block
	n.drain()
	n.loses(t, "c")
}

// Ozone HDDS-4589: whoever decided which of the copies over the factor go died, the
// next decided anew, and took the others: together they deleted all. Here a decision
// is carried out only under the claim that it was made under, in a transaction that
// looks for a copy that stays, and was read.
func TestOzone4589_TwoDecideWhichCopiesGo(t *testing.T) {
	setting{backends: 3, replicas: 3}.each(t, func(w *world) {
		const body = "one copy must stay"
		w.put("b/k", body)
		w.must(w.engine())
		w.copied()
		w.replicas = 1
		w.survey()
		w.during("trim", func() { // the first has decided, and stands still
			w.clock.Advance(lease)
			equal(w, "trimmed by the second", w.replicate("third", "second", backend)["trimmed"], 2)
		})
		equal(w, "trimmed by the first", w.replicate(w.order...)["trimmed"], 0)
		w.copied()
		equal(w, "the copy that stays lies on", w.blobs(lethe.Live)[0].Backend, "third")
		w.ends(map[string]string{"b/k": body})
		w.copied()
	})

	harmed(t, func(anew bool) bool {
		copies := map[string]bool{"1": true, "2": true, "3": true, "4": true, "5": true, "6": true}
		commands := []string{"1", "2", "3"} // of the one who died
		if anew {
			commands = append(commands, "6", "5", "4") // of the one after
		}
		for _, command := range commands {
			delete(copies, command)
		}
		return len(copies) == 0
	})
}

// s3-orchestrator #260, Ozone HDDS-7788: which copies are over the factor is decided
// by where they lie and how full it is there, or by counting some that nobody can
// reach: the copy that stays is the damaged one, or the one on a dead machine. Here
// a copy goes beside one that was read, and found whole; what cannot be read counts
// for nothing.
func TestOrchestrator260_TheCopyThatStaysIsTheDamagedOne(t *testing.T) {
	const body = "read before the others go"
	three := setting{backends: 3, replicas: 3}
	t.Run("damaged", func(t *testing.T) {
		three.each(t, func(w *world) {
			w.put("b/k", body)
			w.must(w.engine())
			w.replicas = 1
			w.rot(backend) // the one that is preferred
			w.survey()
			w.replicate(w.order...)
			w.has("b/k", body)
			w.ends(map[string]string{"b/k": body})
			w.copied()
		})
	})
	t.Run("out of reach", func(t *testing.T) {
		three.each(t, func(w *world) {
			w.put("b/k", body)
			w.must(w.engine())
			w.replicas, w.down = 1, backend
			w.breaks(blobtest.OpGet, blobtest.Fault{Kind: blobtest.Down})
			w.survey()
			w.replicate(w.order...)
			w.has("b/k", body)
			w.rot(backend) // it never came back as it was
			w.down = ""
			w.ends(map[string]string{"b/k": body})
			w.copied()
		})
	})

	n := newNaive()
	n.bytes["on a"], n.bytes["on b"] = "damaged", "body"
	n.rows["k"] = "on a" // the better score
	delete(n.bytes, "on b")
	if n.bytes[n.rows["k"]] == "body" {
		t.Error("the naive design kept the whole copy: this scenario proves nothing")
	}
}

// s3-orchestrator #1468 where bytes are moved: a drain reads a copy, the client
// replaces the object, and the drain writes what it has read. Here it writes a new
// blob, which is committed only if what it is a copy of is still there.
func TestOrchestrator1468_ADrainRevertsAWrite(t *testing.T) {
	for name, client := range map[string]func(w *world, alive map[string]string){
		"replaced": func(w *world, alive map[string]string) {
			alive["b/k"] = "version 2"
			w.put("b/k", alive["b/k"])
		},
		"deleted": func(w *world, alive map[string]string) {
			w.delete("b/k")
			delete(alive, "b/k")
		},
	} {
		t.Run(name, func(t *testing.T) {
			setting{backends: 2, replicas: 1}.each(t, func(w *world) {
				alive := w.fill("b2", 2)
				alive["b/k"] = "version 1"
				w.put("b/k", alive["b/k"])
				w.must(w.ledger.SetDraining(w.ctx, backend, true))
				w.during("commit copy", func() { client(w, alive) })
				w.must(w.engine())
				for at, body := range alive {
					w.has(at, body)
				}
				w.ends(alive)
				equal(w, "keys on the backend that was drained", len(w.keys()), 0)
				w.copied()
			})
		})
	}

	n := newNaive()
	n.put("k", "k", "version 1")
	read := n.bytes["k"]
	n.put("k", "k", "version 2")
	n.bytes["k"] = read // the drain writes under the same name
	if n.bytes[n.rows["k"]] == "version 2" {
		t.Error("the naive design kept the client's: this scenario proves nothing")
	}
}

// s3-orchestrator #1527 as it was found: a copy beside the first was given up, its
// clean-up was queued by backend and key, the next attempt put a copy there, and the
// clean-up deleted that; the row said that there was one. Here each attempt has a name
// of its own, and keeps its row until nothing of it can land any more.
func TestOrchestrator1527_CleanupOfADiscardedCopy(t *testing.T) {
	setting{backends: 2, replicas: 2}.each(t, func(w *world) {
		w.put("b/k", "body")
		w.faults["second"] = func(c blobtest.Call) blobtest.Fault {
			if c.Op == blobtest.OpPut {
				return blobtest.Fault{Kind: blobtest.Late}
			}
			return blobtest.Fault{}
		}
		w.must(w.engine())
		equal(w, "copies on the second", len(w.keysOn("second")), 0)
		w.heal()
		w.clock.Advance(lease) // and the next attempt comes before the clean-up
		w.replicate(w.order...)
		w.copied()
		w.pass(w.clean())
		w.copied()
		for _, p := range w.disks["second"].(*blobtest.Faulty).Late() {
			w.must(p.Release(w.ctx)) // the first attempt lands after all
		}
		w.has("b/k", "body")
		w.ends(map[string]string{"b/k": "body"})
		w.copied()
	})

	n := newNaive()
	n.queue = append(n.queue, "second/k") // of the attempt that was given up
	n.put("k", "second/k", "body")
	n.drain()
	n.loses(t, "k")
}

// s3-orchestrator #1388: each instance counted what it had written itself since it
// last read the usage, and together they wrote beyond the quota. Here room is taken
// in the transaction that makes the intent, exactly, whoever else takes some.
func TestOrchestrator1388_InstancesWriteBeyondTheQuota(t *testing.T) {
	setting{}.everywhere(t, func(w *world) {
		_, err := w.ledger.AddBackend(w.ctx, ledger.Backend{ID: backend, Quota: 10 * small})
		w.must(err)
		others, first := w.instance(w.ledger), w.objects
		body := func(c string) string { return strings.Repeat(c, 3*small) }
		alive := map[string]string{}
		refused := 0
		write := func(at, body string) {
			switch err := w.tryPut(at, body); {
			case err == nil:
				alive[at] = body
			case errors.Is(err, lethe.ErrNoRoom):
				refused++
			default:
				w.Fatal(err)
			}
		}
		for _, c := range []string{"a", "b", "c"} { // each between another's check and its upload
			w.interrupts(blobtest.OpPut, func() {
				w.objects = others
				write("b2/"+c, body(strings.ToUpper(c)))
				w.objects = first
			})
			write("b/"+c, body(c))
			w.heal()
		}
		equal(w, "refused for want of room", refused, 2) // and b/c before anybody could come between
		equal(w, "written", len(alive), 3)
		w.ends(alive)
	})

	harmed(t, func(atOnce bool) bool {
		const quota = 10
		used, read := 4, 4
		for range 2 {
			if !atOnce {
				read = used // the second reads after the first has written
			}
			if read+6 <= quota {
				used += 6
			}
		}
		return used > quota
	})
}
