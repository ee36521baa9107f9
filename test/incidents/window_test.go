package incidents_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
)

// Harbor #23116: the collector spares blobs updated within two hours, but the
// reuse of an old layer does not refresh its time: the layer went between the
// push that found it and the manifest that named it. Here reuse is a reference,
// taken in the transaction that makes the object: it finds the content alive and
// keeps it, or it does not, and the bytes are sent again under a new name.
func TestHarbor23116_ReuseOfAnOldLayer(t *testing.T) {
	layer := strings.Repeat("a layer that is three hours old. ", small/16) // streamed
	for name, interleaved := range map[string]func(w *world, collect func()){
		"before the push":    func(_ *world, collect func()) { collect() },
		"before it is begun": func(w *world, collect func()) { w.during("begin", collect) },
		"while it is sent":   func(w *world, collect func()) { w.interrupts(blobtest.OpPut, collect) },
		"before the commit":  func(w *world, collect func()) { w.during("commit", collect) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) { reuseOldLayer(w, layer, func(collect func()) { interleaved(w, collect) }) })
		})
	}
	t.Run("a layer that is not even sent", func(t *testing.T) {
		each(t, func(w *world) {
			reuseOldLayer(w, "small", func(collect func()) { w.during("commit", collect) })
		})
	})
	t.Run("after the push", func(t *testing.T) {
		each(t, func(w *world) { reuseOldLayer(w, layer, nil) })
	})

	n := newNaive()
	updated := map[string]time.Duration{"layer": 0}
	n.bytes["layer"] = layer
	now := 3 * time.Hour // the push finds the layer, and does not upload it
	if !n.named("layer") && now-updated["layer"] > 2*time.Hour {
		delete(n.bytes, "layer")
	}
	n.rows["manifest"] = "layer"
	n.loses(t, "manifest")
}

// reuseOldLayer pushes a layer that an old image has, which is removed and
// collected at some moment of the push, or after it.
func reuseOldLayer(w *world, layer string, interleaved func(collect func())) {
	w.put("b/old image", layer)
	w.clock.Advance(3 * time.Hour)
	collected := 0
	collect := func() {
		collected++
		w.delete("b/old image")
		w.clock.Advance(w.safety.ReadGrace)
		w.must(w.engine())
	}
	if interleaved != nil {
		interleaved(collect)
	}
	w.put("b/new image", layer)
	w.heal()
	if interleaved == nil {
		collect()
	}
	equal(w, "collections", collected, 1)
	w.ends(map[string]string{"b/new image": layer})
}

// Quay #6318: an upload was answered with 201, the collector ran 1 to 115 ms
// later and found nothing that referred to it, and the manifest that would have
// was refused: 40 of 104,000. Here what is uploaded belongs to an intent or to
// an open upload from before its first byte on, and both outlive every pass.
func TestQuay6318_CollectedBeforeTheFirstReference(t *testing.T) {
	each(t, func(w *world) {
		collect := func() {
			for range 5 {
				w.clock.Advance(23 * time.Millisecond)
				w.must(w.engine())
			}
		}
		w.during("commit", collect) // of a put: its bytes are there, its row is not
		large := strings.Repeat("large ", small)
		w.put("b/put", large)

		m := w.multipart("b/manifest")
		m.part(1, "first layer")
		collect()
		m.part(2, "second layer")
		collect()
		w.during("complete", collect)
		m.complete()
		w.ends(map[string]string{"b/put": large, "b/manifest": "first layersecond layer"})
	})

	n := newNaive()
	n.bytes["layer"] = "body" // 201
	sweep(n, map[string]bool{})
	n.rows["manifest"] = "layer"
	n.loses(t, "manifest")
}

// SeaweedFS #7649, #7700, #7730: chunks of files still open were not in the
// metadata yet and were judged orphans; the age that protects them was raised
// from 5 minutes to 5 hours. Here a write of 6 hours and an upload whose parts
// wait for 23 are as safe as one of a second: their rows came before their bytes.
func TestSeaweedFS7700_ChunksOfFilesStillOpen(t *testing.T) {
	each(t, func(w *world) {
		body := strings.Repeat("slow ", 2*small/5)
		m := w.multipart("b/parts")
		m.part(1, "stored early")
		pause := func(n int) {
			w.clock.Advance(time.Minute)
			if n%60 == 0 {
				w.must(w.engine())
				w.pass(w.verify(func(p reclaim.Problem) { w.Errorf("fsck found %s", p) }))
			}
		}
		began := w.clock.Now()
		_, err := w.objects.Put(w.ctx, w.request("b/slow", slowly(body, 5, pause), len(body)))
		w.must(err)
		if took := w.clock.Now().Sub(began); took < 6*time.Hour {
			w.Fatalf("the write took only %s", took)
		}
		w.clock.Advance(w.safety.MultipartStale - w.clock.Now().Sub(began) - time.Minute)
		w.must(w.engine())
		m.complete()
		w.ends(map[string]string{"b/slow": body, "b/parts": "stored early"})
	})

	harmed(t, func(long bool) bool {
		n, open := newNaive(), time.Hour
		if long {
			open = 6 * time.Hour
		}
		n.bytes["chunk"] = "stored at 0 h"
		n.sweepOlder("chunk", open, 5*time.Hour)
		n.rows["file"] = "chunk" // closed then
		return n.bytes[n.rows["file"]] == ""
	})
}

// s3-orchestrator keeps times as RFC 3339 text with as many digits as are
// needed, so that "00.1Z" sorts behind "00.101Z" and what is due is not seen.
// Here an instant is a number of microseconds, everywhere.
func TestOrchestrator_TextTimesDoNotSort(t *testing.T) {
	each(t, func(w *world) {
		const fraction = 100 * time.Millisecond
		_, err := w.objects.Put(w.ctx, object.PutRequest{
			Bucket: "b", Key: "short", Body: strings.NewReader("gone soon"), Size: 9, TTL: fraction,
		})
		w.must(err)
		w.clock.Advance(fraction - time.Microsecond)
		w.has("b/short", "gone soon")
		equal(w, "expired a microsecond early", w.pass(w.expire())["objects"], 0)
		w.clock.Advance(time.Microsecond + time.Millisecond) // x.1 is due, it is x.101
		w.hasNot("b/short")
		equal(w, "expired", w.pass(w.expire())["objects"], 1)
		w.clock.Advance(w.safety.ReadGrace - time.Microsecond)
		equal(w, "deleted a microsecond early", w.pass(w.clean())["gone"], 0)
		w.clock.Advance(time.Microsecond)
		equal(w, "deleted", w.pass(w.clean())["gone"], 1)
		w.ends(nil)
	})

	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	due, now := start.Add(100*time.Millisecond), start.Add(101*time.Millisecond)
	if due.Format(time.RFC3339Nano) <= now.Format(time.RFC3339Nano) {
		t.Error("the naive design saw what is due: this scenario proves nothing")
	}
}

// parts is a multipart upload under way.
type parts struct {
	w     *world
	up    ledger.Upload
	names []ledger.PartName
}

func (w *world) multipart(at string) *parts {
	w.Helper()
	bucket, key := split(at)
	up, err := w.objects.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: key, Owner: "alice"})
	w.must(err)
	return &parts{w: w, up: up}
}

func (m *parts) request(n int, body string) object.PartRequest {
	return object.PartRequest{
		Bucket: m.up.Bucket, Key: m.up.Key, Upload: m.up.ID, Number: n, Body: strings.NewReader(body), Size: int64(len(body)),
	}
}

func (m *parts) part(n int, body string) {
	m.w.Helper()
	p, err := m.w.objects.PutPart(m.w.ctx, m.request(n, body))
	m.w.must(err)
	m.names = append(m.names, ledger.PartName{Number: n, ETag: p.ETag})
}

func (m *parts) complete() {
	m.w.Helper()
	_, err := m.w.objects.Complete(m.w.ctx, object.CompleteRequest{
		Bucket: m.up.Bucket, Key: m.up.Key, Upload: m.up.ID, Parts: m.names,
	})
	m.w.must(err)
}

// lakeFS #997: deleting an object on one branch made it vanish from all commits,
// because the branches shared the address that was deleted. Here what is shared
// is a content with counted references; it is condemned with the last of them.
func TestLakeFS997_DeletedOnOneBranch(t *testing.T) {
	each(t, func(w *world) {
		const body = "shared by all branches"
		w.put("b/main", body)
		alive := map[string]string{}
		for i := range 4 {
			at := fmt.Sprintf("b2/branch %d", i)
			bucket, key := split(at)
			_, err := w.objects.Copy(w.ctx, object.CopyRequest{SourceBucket: "b", SourceKey: "main", Bucket: bucket, Key: key})
			w.must(err)
			alive[at] = body
		}
		equal(w, "blobs of one content", len(w.blobs(lethe.Live)), 1)
		for _, at := range []string{"b/main", "b2/branch 0", "b2/branch 1"} {
			w.delete(at)
			delete(alive, at)
			w.clock.Advance(w.safety.ReadGrace)
			w.must(w.engine())
			w.hasNot(at)
		}
		w.put("b2/branch 2", "replaced on one branch")
		alive["b2/branch 2"] = "replaced on one branch"
		w.ends(alive)
		for at := range alive {
			w.delete(at)
		}
		w.ends(nil)
	})

	n := newNaive()
	n.put("main", "address", "body")
	n.rows["branch"] = "address"
	delete(n.bytes, n.rows["main"])
	delete(n.rows, "main")
	n.loses(t, "branch")
}
