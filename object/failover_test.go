package object_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// layouts are bodies below and above the sizes at which reading changes.
var layouts = map[string][]string{
	"small":       {noise(100, 50)},
	"one chunk":   {noise(50<<10, 51)},
	"many chunks": {noise(300<<10, 52)},
	"parts":       {noise(100<<10, 53), noise(5, 54), noise(200<<10, 55)},
}

func TestFailoverBeforeTheFirstByte(t *testing.T) {
	for name, parts := range layouts {
		for _, kind := range []blobtest.Kind{blobtest.NotDone, blobtest.Down, blobtest.DoneError} {
			w := newWorld(t, nil)
			w.twice("k", parts...)
			w.breaks("disk1", blobtest.OpGet, blobtest.Fault{Kind: kind})
			w.has("k", strings.Join(parts, ""))
			if w.seen("failover") == 0 {
				t.Errorf("%s, %v: disk1 was not asked", name, kind)
			}
		}
	}
}

func TestFailoverInMidStream(t *testing.T) {
	for _, parts := range layouts {
		for _, keep := range []int64{0, 1, 4, 99, 60 << 10, 128 << 10, 250 << 10} {
			for _, err := range []error{errors.New("cut"), io.EOF} {
				w := newWorld(t, nil)
				w.twice("k", parts...)
				w.breaks("disk1", blobtest.OpGet, blobtest.Fault{Kind: blobtest.Partial, Keep: keep, Err: err})
				w.has("k", strings.Join(parts, ""))
			}
		}
	}
}

func TestLostCopy(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		o := w.twice("k", parts...)
		copies := w.copies(o)
		for _, b := range copies {
			if b.Backend == "disk1" {
				w.lose(b)
			}
		}
		w.has("k", strings.Join(parts, ""))
		for _, b := range copies {
			w.lose(b)
		}
		_, err := w.get("k")
		w.wants(err, lethe.ErrCorrupt)
		w.breaks("disk2", blobtest.OpGet, blobtest.Fault{Kind: blobtest.Down})
		if _, err := w.get("k"); !errors.Is(err, lethe.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A damaged byte is never handed out: from the block that it is in on, another copy
// is read.
func TestDamagedCopy(t *testing.T) {
	for name, parts := range layouts {
		last := len(parts) - 1
		for _, offset := range []int{0, len(parts[last]) / 2, len(parts[last]) - 1} {
			w := newWorld(t, nil)
			o := w.twice("k", parts...)
			w.rot(w.copies(o)[2*last], offset)
			got, err := w.get("k")
			w.must(err)
			if got != strings.Join(parts, "") {
				t.Errorf("%s: wrong bytes", name)
			}
			if w.seen("corrupt") != 1 {
				t.Errorf("%s: %d reports", name, w.seen("corrupt"))
			}
		}
	}
}

// All copies are damaged, or the only one.
func TestDamagedForGood(t *testing.T) {
	for _, old := range []bool{false, true} {
		w := newWorld(t, nil)
		w.ledger.old = old
		for key, parts := range layouts {
			o := w.store(key, parts...)
			w.has(key, strings.Join(parts, ""))
			w.rot(w.copies(o)[0], 1)
			got, err := w.get(key)
			w.wants(err, lethe.ErrCorrupt)
			if len(got) >= len(parts[0]) {
				t.Errorf("%s: %d bytes were handed out", key, len(got))
			}
			if by := "its SHA-256 is"; strings.Contains(err.Error(), by) != old {
				t.Errorf("%s: checked by the wrong sum: %v", key, err)
			}
		}
	}
}

// Bytes that a reader found damaged or missing are healed by whoever stores them
// again: they are not thrown away as known already.
func TestStoredAgainAfterDamage(t *testing.T) {
	for name, harm := range map[string]func(*world, ledger.Blob){
		"damaged": func(w *world, b ledger.Blob) { w.rot(b, 1) },
		"missing": (*world).lose,
	} {
		w := newWorld(t, nil)
		for key, parts := range layouts {
			whole := strings.Join(parts, "")
			o := w.store(key, parts...)
			harm(w, w.copies(o)[0])
			if _, err := w.get(key); !errors.Is(err, lethe.ErrCorrupt) {
				t.Errorf("%s, %s: %v", key, name, err)
			}
			w.store("again "+key, parts...)
			w.has("again "+key, whole)
			w.has(key, whole)
		}
	}
}

// The ledger moved the bytes between resolving and opening.
func TestResolvedOnceMore(t *testing.T) {
	for _, parts := range layouts {
		w := newWorld(t, nil)
		o := w.store("k", parts...)
		hidden := w.copies(o)
		who := map[string][]byte{}
		for _, b := range hidden {
			who[w.key(b.ID)], _ = w.backends[b.Backend].Bytes(w.key(b.ID))
			w.lose(b)
		}
		resolves := 0
		w.ledger.on("Resolve", func() {
			if resolves++; resolves != 2 {
				return
			}
			for _, b := range hidden {
				w.backends[b.Backend].Set(w.key(b.ID), who[w.key(b.ID)])
			}
		})
		w.has("k", strings.Join(parts, ""))
	}
}

// The version that Get resolved is replaced and its bytes are gone before they
// could be opened: the new version is served.
func TestReplacedWhileItIsOpened(t *testing.T) {
	for _, parts := range layouts {
		w := newWorld(t, nil)
		w.store("k", parts...)
		once := true
		w.breaks("disk1", "", blobtest.Fault{})
		w.faults["disk1"] = func(call blobtest.Call) blobtest.Fault {
			if call.Op == blobtest.OpGet && once {
				once = false
				w.put("k", "new")
				w.reclaim()
			}
			return blobtest.Fault{}
		}
		w.has("k", "new")
	}
}

// A reader that began before a delete reads to the end, however slow it is and
// however eager the cleaner.
func TestSlowReadersAreNotCutOff(t *testing.T) {
	for name, parts := range layouts {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.store("k", parts...)
			rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
			w.must(err)
			defer rd.Body.Close()
			_, err = w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
			w.must(err)
			var got strings.Builder
			buf := make([]byte, 10<<10)
			for err == nil {
				w.clock.Advance(grace / 3)
				w.clean("disk1")
				var n int
				n, err = rd.Body.Read(buf)
				got.Write(buf[:n])
			}
			if err != io.EOF || got.String() != strings.Join(parts, "") {
				t.Errorf("%d bytes, %v", got.Len(), err)
			}
			rd.Body.Close()
			w.empty()
		})
	}
}

// In production a goroutine extends the grace while the client does not read.
func TestBackgroundExtendsTheGrace(t *testing.T) {
	w := newWorld(t, func(o *object.Options) {
		o.Background = true
		o.ReadGrace = 4 * time.Millisecond
	})
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	parts := layouts["parts"]
	w.store("k", parts...)
	rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.must(err)
	extended := make(chan struct{})
	var once sync.Once
	w.ledger.on("ExtendGrace", func() { once.Do(func() { close(extended) }) })
	w.clock.Advance(time.Second)
	select {
	case <-extended:
	case <-time.After(10 * time.Second):
		t.Error("the grace was not extended")
	}
	got, err := io.ReadAll(rd.Body)
	w.must(err)
	if string(got) != strings.Join(parts, "") {
		t.Error("wrong bytes")
	}
	w.must(rd.Body.Close())
	w.must(rd.Body.Close())
	if _, err := rd.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("read after close: %v", err)
	}
}

func TestReaderGoesAway(t *testing.T) {
	w := newWorld(t, nil)
	w.store("k", layouts["many chunks"]...)
	ctx, cancel := context.WithCancel(w.ctx)
	rd, err := w.Get(ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.must(err)
	defer rd.Body.Close()
	cancel()
	_, err = io.ReadAll(rd.Body)
	w.wants(err, context.Canceled)
	if w.seen("failover") != 0 {
		t.Error("a client that went away was taken for a broken disk")
	}
	_, err = w.Get(ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.wants(err, context.Canceled)
}

func TestBodyWritesItselfWhole(t *testing.T) {
	w := newWorld(t, nil)
	for name, parts := range layouts {
		w.store(name, parts...)
		rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: name})
		w.must(err)
		var out strings.Builder
		n, err := io.Copy(&out, rd.Body)
		w.must(err)
		w.must(rd.Body.Close())
		if out.String() != strings.Join(parts, "") || n != rd.Length {
			t.Error(fmt.Sprint(name, ": ", n, " bytes"))
		}
	}
}

// What is read is moved into the ledger, and the blob goes before its bytes were read: the
// reader goes on with those in the ledger, in the middle of the body too.
func TestMovedIntoTheLedgerWhileItIsRead(t *testing.T) {
	for _, begun := range []int{0, 150, -1} {
		w := newWorld(t, func(o *object.Options) { o.Small, o.Block = 1, 100 })
		w.ledger.old = begun < 0 // its blocks have no sums
		data := noise(1000, 5)
		o := w.put("k", data)
		b := w.copies(o)[0]
		move := func() {
			sum := sha256.Sum256([]byte(data))
			_, err := w.db.(interface {
				MoveToLedger(context.Context, lethe.ID, ledger.Body) (int, error)
			}).MoveToLedger(w.ctx, o.ContentID, ledger.NewBody(hex.EncodeToString(sum[:]), []byte(data)))
			w.must(err)
			w.lose(b)
		}
		var got []byte
		once := true
		w.breaks("disk1", "", blobtest.Fault{})
		w.faults["disk1"] = func(call blobtest.Call) blobtest.Fault {
			if call.Op == blobtest.OpGet && begun <= 0 && once {
				once = false
				move()
			}
			return blobtest.Fault{}
		}
		rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k", Range: &object.Range{Offset: 20, Length: -1}})
		w.must(err)
		if begun > 0 {
			got = make([]byte, begun)
			_, err = io.ReadFull(rd.Body, got)
			w.must(err)
			move()
		}
		rest, err := io.ReadAll(rd.Body)
		w.must(err)
		w.must(rd.Body.Close())
		if string(got)+string(rest) != data[20:] {
			t.Errorf("after %d bytes: %d others", begun, len(rest))
		}
	}
}
