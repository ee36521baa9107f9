package object_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Writers, readers, deleters and the cleaner at once on few keys: a reader sees
// one whole body or none, and in the end the counters are exact.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Cache = memory(t) })
	bodies := map[string]bool{}
	var sizes = []int{10, small, 5 * small}
	for seed := range uint64(6) {
		bodies[noise(sizes[seed%3], seed)] = true
	}
	var workers, cleaner sync.WaitGroup
	stop := make(chan struct{})
	cleaner.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.clock.Advance(time.Second)
				w.clean("disk1")
			}
		}
	})
	const rounds = 150
	for i := range 4 {
		workers.Go(func() {
			for n := range rounds {
				key := fmt.Sprint("k", (i+n)%3)
				seed := uint64(i+n) % 6
				if err := w.churn(key, noise(sizes[seed%3], seed), n%5); err != nil {
					t.Error(err)
				}
			}
		})
		workers.Go(func() {
			for n := range rounds {
				body, err := w.get(fmt.Sprint("k", n%3))
				switch {
				case errors.Is(err, lethe.ErrNoSuchKey):
				case err != nil:
					t.Error(err)
				case !bodies[body]:
					t.Errorf("read %d bytes that nobody wrote", len(body))
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	cleaner.Wait()
	w.sound()
}

// churn puts, copies, deletes or completes.
func (w *world) churn(key, body string, what int) error {
	var err error
	switch what {
	case 0:
		_, err = w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: key}}})
	case 1:
		_, err = w.copyTo(key, func(r *object.CopyRequest) { r.SourceKey = "k0" })
		if errors.Is(err, lethe.ErrNoSuchKey) {
			err = nil
		}
	default:
		_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader(body), Size: int64(len(body))})
	}
	return err
}

// zeros is an endless body that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The memory that a put and a get take does not grow with the object.
func TestMemoryIsFlat(t *testing.T) {
	disk, err := fsblob.Open(fsblob.Options{Root: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *object.Options) {
		o.Backends = map[string]blob.Store{"disk1": disk}
		o.Small = 1 << 20
	})
	const size = 96 << 20
	for _, known := range []int64{size, -1} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: io.LimitReader(zeros{}, size), Size: known})
		w.must(err)
		rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
		w.must(err)
		n, err := io.Copy(io.Discard, rd.Body)
		w.must(err)
		w.must(rd.Body.Close())
		runtime.ReadMemStats(&after)
		if n != size {
			t.Errorf("%d bytes came back", n)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%d MiB were allocated for %d MiB", took>>20, size>>20)
		}
	}
}
