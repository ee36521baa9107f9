package reconcile_test

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

var memoryKeys = flag.String("reconcile.keys", "300000", "how many keys TestMemory walks over, several separated by commas")

// most is what the heap may take, in bytes, whatever the number of keys.
const most = 256 << 20

// TestMemory walks over a backend that makes its keys as they are asked for, so
// that what the heap takes is the walk's.
func TestMemory(t *testing.T) {
	for _, text := range strings.Split(*memoryKeys, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) { walkOver(t, n) })
	}
}

func walkOver(t *testing.T, n int) {
	s := &synthetic{n: n, store: "0000000000000000000000000g"}
	runtime.GC()
	var counts reclaim.Counts
	step := reconcile.New(reconcile.Options{
		Ledger: s, Stores: map[string]blob.Store{"main": s}, Pairing: s, Store: s.store, Parallel: 4,
		NewID: func() lethe.ID { return "walk" }, Call: s.call,
	}).Pass("worker")
	for more := true; more; {
		var err error
		if more, err = step(t.Context(), counts.Add); err != nil {
			t.Fatal(err)
		}
	}
	got := counts.Map()
	if got[reconcile.Keys] != int64(n) || got[reconcile.Rows] != int64(n) || got[reconcile.Orphans]+got[reconcile.Missing]+got[reconcile.Foreign]+got[reconcile.Skipped] != 0 {
		t.Errorf("counts are %v", got)
	}
	if s.peak > most {
		t.Errorf("the heap took %d MiB", s.peak>>20)
	}
	t.Logf("%d keys and rows: %d calls, %d MiB of heap at most (%d MiB held from the system)", n, s.calls, s.peak>>20, s.system>>20)
}

// synthetic is a ledger and a backend that agree on n blobs, made of their
// numbers: blob i lies in folder i modulo 1,024.
type synthetic struct {
	reconcile.Ledger
	n     int
	store lethe.ID

	mu           sync.Mutex
	calls        int
	peak, system uint64
}

var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func (s *synthetic) id(i int) lethe.ID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(1_700_000_000_000+i/64)<<16|uint64(i%64)<<10)
	binary.BigEndian.PutUint64(b[8:], uint64(i%1024)<<3)
	return lethe.ID(idText.EncodeToString(b[:]))
}

// number is the first blob whose id is not below one.
func (s *synthetic) number(id lethe.ID) int {
	b, err := idText.DecodeString(string(id))
	if err != nil || len(b) < 8 {
		return 0
	}
	top := binary.BigEndian.Uint64(b[:8])
	return int(top>>16-1_700_000_000_000)*64 + int(top>>10&63)
}

// call measures the heap now and then.
func (s *synthetic) call(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.peak, s.system = max(s.peak, m.HeapAlloc), max(s.system, m.HeapSys-m.HeapReleased)
	}
	return nil
}

func (s *synthetic) List(_ context.Context, prefix, after string, fn func(blob.Info) error) error {
	if prefix == "" { // the folders are jumped over
		return nil
	}
	folder := 0
	for i := range 1024 {
		if strings.HasSuffix(prefix, "/"+string(s.id(i)[23:25])+"/") {
			folder = i
		}
	}
	at := folder
	if from, found := strings.CutPrefix(after, prefix); found && from != "" {
		if at += s.number(lethe.ID(from)) &^ 1023; s.id(at) <= lethe.ID(from) {
			at += 1024
		}
	}
	for i := at; i < s.n; i += 1024 {
		if err := fn(blob.Info{Key: lethe.BlobKey(s.store, s.id(i)), Size: int64(i)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *synthetic) BlobStubs(_ context.Context, after lethe.ID, limit int) ([]ledger.Stub, error) {
	i := 0
	if after != "" {
		i = s.number(after) + 1
	}
	out := make([]ledger.Stub, 0, limit)
	for ; i < s.n && len(out) < limit; i++ {
		out = append(out, ledger.Stub{ID: s.id(i), Backend: "main", State: lethe.Live, Size: int64(i)})
	}
	return out, nil
}

func (s *synthetic) Check(context.Context, string) error { return nil }
func (s *synthetic) Admit(context.Context, string) error { return nil }

func (s *synthetic) BeginWalk(_ context.Context, w ledger.WalkStart) (ledger.Walk, error) {
	return ledger.Walk{ID: w.ID, Backend: w.Backend}, nil
}
func (s *synthetic) SaveWalk(context.Context, ledger.WalkStep) error { return nil }
func (s *synthetic) FinishWalk(context.Context, ledger.WalkEnd) (ledger.WalkEnded, error) {
	return ledger.WalkEnded{}, nil
}

func (s *synthetic) Backends(context.Context) ([]ledger.Backend, error) {
	return []ledger.Backend{{ID: "main"}}, nil
}

var errNone = errors.ErrUnsupported

func (s *synthetic) Put(context.Context, string, io.Reader, int64) error { return errNone }
func (s *synthetic) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, errNone
}
func (s *synthetic) Stat(context.Context, string) (blob.Info, error) { return blob.Info{}, errNone }
func (s *synthetic) Delete(context.Context, []string) ([]blob.Result, error) {
	return nil, errNone
}
