package incidents_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/object"
)

// SeaweedFS #8909: a cancelled request left metadata without bytes. Here a client
// may leave at any read of its body, any call of the ledger and of the backend:
// what it was told is true, and nothing is left of what was not made.
func TestSeaweedFS8909_TheClientLeaves(t *testing.T) {
	for at := 1; at <= 12; at++ {
		t.Run(fmt.Sprint("at moment ", at), func(t *testing.T) {
			each(t, func(w *world) { leaveAt(w, at) })
		})
	}

	n := newNaive()
	ctx, cancel := context.WithCancel(t.Context())
	n.rows["k"] = "name" // the entry first
	cancel()
	if ctx.Err() == nil {
		n.bytes["name"] = "body"
	}
	n.loses(t, "k")
}

// leaveAt puts an object and a part with a context that ends at the n-th moment.
func leaveAt(w *world, n int) {
	body := strings.Repeat("cancelled ", small/2)
	m := w.multipart("b/parts")
	alive := map[string]string{}
	for name, write := range map[string]func(ctx context.Context, moment func(int)) error{
		"b/put": func(ctx context.Context, moment func(int)) error {
			_, err := w.objects.Put(ctx, w.request("b/put", slowly(body, small, moment), len(body)))
			return err
		},
		"part": func(ctx context.Context, moment func(int)) error {
			r := m.request(1, body)
			r.Body = slowly(body, small, moment)
			_, err := w.objects.PutPart(ctx, r)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(w.ctx)
		moments := 0
		moment := func(int) {
			if moments++; moments == n {
				cancel()
			}
		}
		w.ledger.around = func(_ string, do func() error) error { moment(0); return do() }
		w.fault = func(blobtest.Call) blobtest.Fault { moment(0); return blobtest.Fault{} }
		err := write(ctx, moment)
		cancel()
		w.heal()
		if err == nil && name == "b/put" {
			alive[name] = body
		}
	}
	w.ends(alive)
}

// JuiceFS #5451, #2989 and s3-orchestrator #805: deletes waited in memory, or
// were queued after the commit, and were lost with the process; or the bytes went
// and the row stayed. Here the queue is the state of the row, which changed in
// the transaction of the client's delete: whatever the process was doing when it
// died, the next one goes on.
func TestJuiceFS5451_DeletesLostOnInterrupt(t *testing.T) {
	died := fmt.Errorf("the process died: %w", context.Canceled)
	for name, dies := range map[string]func(w *world){
		"before the claim":                  func(w *world) { w.refuses("claim", died) },
		"between claim and delete":          func(w *world) { w.after("claim", died) },
		"between the delete and its record": func(w *world) { w.refuses("settle", died) },
		"after its record":                  func(w *world) { w.after("settle", died) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				w.condemnSome(limit)
				dies(w)
				if _, err := w.try(w.clean()); err == nil {
					w.Error("the pass did not die")
				}
				w.heal()
				w.clock.Advance(w.safety.ClaimGrace)
				w.pass(w.watch())
				w.pass(w.clean())
				equal(w, "rows and keys left", fmt.Sprint(len(w.blobs()), len(w.keys())), "0 0")
				w.ends(nil)
			})
		})
	}

	n := newNaive()
	n.put("k", "name", "body")
	delete(n.rows, "k")
	n.queue = append(n.queue, "name")
	n.queue = nil // the process ends
	n.leaks(t, "name")
}

// after lets a method of the ledger happen, and its caller die.
func (w *world) after(method string, err error) {
	w.ledger.around = func(m string, do func() error) error {
		if doErr := do(); doErr != nil || m != method {
			return doErr
		}
		return err
	}
}

// s3-orchestrator #805: the database was down when the clean-up of a delete was
// to be queued, and it never was. Here a delete that cannot be recorded has not
// happened, and says so; one whose answer was lost has, and is looked up.
func TestOrchestrator805_TheQueueIsDown(t *testing.T) {
	each(t, func(w *world) {
		w.put("b/kept", "kept")
		w.put("b/gone", "gone")
		w.refuses("delete", lethe.ErrUnavailable)
		w.wants(w.tryDelete("b/kept"), lethe.ErrUnavailable)
		w.has("b/kept", "kept")
		w.after("delete", lethe.ErrUnknownOutcome)
		w.must(w.tryDelete("b/gone"))
		w.hasNot("b/gone")
		w.ends(map[string]string{"b/kept": "kept"})
	})

	n := newNaive()
	n.put("k", "name", "body")
	delete(n.rows, "k") // the metadata are committed
	if down := true; !down {
		n.queue = append(n.queue, "name")
	}
	n.leaks(t, "name")
}

// s3-orchestrator #1325: the reconciler imported every listed key that had no
// location, those of deleted objects in the queue among them: they came back to
// life. Here nothing makes an object of bytes but the commit that their writer
// meant, and a blob never returns from condemned to live.
func TestOrchestrator1325_DeletedObjectsComeBack(t *testing.T) {
	each(t, func(w *world) {
		w.put("b/k", "deleted")
		w.delete("b/k")
		w.breaks(blobtest.OpDelete, blobtest.Fault{Kind: blobtest.NotDone})
		for range w.safety.Attempts {
			w.clock.Advance(w.safety.BackoffMax)
			w.must(w.engine())
			w.pass(w.verify(nil)) // which lists the key, queued and then a dead letter
			w.hasNot("b/k")
		}
		w.requeue()
		w.ends(nil)
	})

	n := newNaive()
	n.bytes["k"], n.queue = "deleted", []string{"k"}
	for name := range n.bytes {
		if !n.named(name) {
			n.rows[name] = name // imported
		}
	}
	if _, back := n.rows["k"]; !back {
		t.Error("the naive design kept it dead: this scenario proves nothing")
	}
	n.drain()
	n.loses(t, "k")
}

// Ceph RGW: what was deleted is kept for two hours for those who are reading it,
// and a reader that is slower is cut off. Here a reader extends the grace of what
// it still has to open, for as long as it reads.
func TestCephRGW_DeletedWhileItIsRead(t *testing.T) {
	each(t, func(w *world) {
		m := w.multipart("b/k")
		var whole strings.Builder
		for i := range 5 {
			part := strings.Repeat(fmt.Sprint("part ", i, " "), small)
			m.part(i+1, part)
			whole.WriteString(part)
		}
		m.complete()
		rd, err := w.objects.Get(w.ctx, object.GetRequest{Bucket: "b", Key: "k"})
		w.must(err)
		w.delete("b/k")
		got := make([]byte, 0, whole.Len())
		for buf := make([]byte, small); len(got) < whole.Len(); {
			n, err := rd.Body.Read(buf)
			got = append(got, buf[:n]...)
			w.must(err)
			w.clock.Advance(w.safety.ReadGrace / 4)
			w.must(w.engine())
		}
		equal(w, "what was read is whole", string(got) == whole.String(), true)
		w.must(rd.Body.Close())
		w.ends(nil)
	})

	n := newNaive()
	n.put("k", "segment", "body")
	reading := n.rows["k"]
	n.queue = append(n.queue, reading)
	n.drain()
	if _, there := n.bytes[reading]; there {
		t.Error("the naive design let the reader finish: this scenario proves nothing")
	}
}
