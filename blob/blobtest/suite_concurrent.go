package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// testConcurrentPut puts concurrently under one key: one of them succeeds, whole.
func testConcurrentPut(t *testing.T, s blob.Store) {
	const writers = 8
	for round := range 10 {
		var won atomic.Int64
		var wins atomic.Int32
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				data := body(uint64(w), 10000+w)
				err := s.Put(t.Context(), key(round), bytes.NewReader(data), int64(len(data)))
				switch {
				case err == nil:
					won.Store(int64(w))
					wins.Add(1)
				case !errors.Is(err, blob.ErrExist):
					t.Errorf("put: %v; want ErrExist", err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d puts of one key succeeded", wins.Load())
		}
		w := int(won.Load())
		wantBytes(t, s, key(round), body(uint64(w), 10000+w))
	}
}

// testConcurrentMix works on disjoint keys that share folders.
func testConcurrentMix(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 20 {
				k := fmt.Sprintf("mix/%02d/w%d", i%5, w*100+i)
				data := body(uint64(w*100+i), 2000)
				if err := putAgain(t, s, k, data); err != nil {
					t.Errorf("put %s: %v", k, err)
				}
				if got, err := read(s, k, 0, -1); err != nil || !bytes.Equal(got, data) {
					t.Errorf("get %s: %d bytes, %v", k, len(got), err)
				}
				if i%2 == 0 {
					deleteOne(t, s, k)
				}
			}
		})
	}
	wg.Wait()
	if got := list(t, s, "mix/", ""); len(got) != 60 {
		t.Errorf("%d keys are left; want 60", len(got))
	}
}

// putAgain puts, and repeats what was not done up to twice: a service may refuse a put for
// the moment, as versitygw does while another one makes the same folder.
func putAgain(t *testing.T, s blob.Store, k string, data []byte) (err error) {
	for range 3 {
		if err = s.Put(t.Context(), k, bytes.NewReader(data), blob.UnknownSize); !errors.Is(err, blob.ErrNotDone) {
			break
		}
	}
	return err
}

func deleteOne(t *testing.T, s blob.Store, k string) {
	results, err := s.Delete(t.Context(), []string{k})
	if err != nil || len(results) != 1 || results[0].Err != nil {
		t.Errorf("delete %s: %v, %v", k, results, err)
	}
}

// testAtomicPut looks at the key while its body is being read.
func testAtomicPut(t *testing.T, s blob.Store) {
	data := body(1, 500000)
	looks := 0
	look := readerFunc(func([]byte) (int, error) {
		looks++
		wantAbsent(t, s, key(1))
		return 0, io.EOF
	})
	r := io.MultiReader(look, bytes.NewReader(data[:250000]), look, bytes.NewReader(data[250000:]), look)
	if err := s.Put(t.Context(), key(1), r, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if looks != 3 {
		t.Errorf("looked %d times; the body was not read to its end", looks)
	}
	wantBytes(t, s, key(1), data)
}
