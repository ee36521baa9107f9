package fsblob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
)

// trial runs a sequence of calls on a strict file system and tracks what may be
// under each key after a crash.
type trial struct {
	fs    *strictfs.FS
	store *fsblob.Store

	mu         sync.Mutex
	want       map[string]allowed
	seed       uint64
	crashes    int
	violations []string
}

// allowed is what may lie under a key: its bytes, nothing, or either.
type allowed struct {
	data            string
	present, absent bool
}

func newTrial(t *testing.T, opt fsblob.Options) *trial {
	t.Helper()
	tr := &trial{fs: strictfs.New(nil), want: map[string]allowed{}}
	opt.Random = rand.NewChaCha8([32]byte{1})
	var err error
	if tr.store, err = fsblob.OpenFS(tr.fs, opt); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *trial) set(key string, a allowed) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.want[key] = a
}

// now returns what may lie under the key now.
func (tr *trial) now(key string) allowed {
	if a, ok := tr.want[key]; ok {
		return a
	}
	return allowed{absent: true}
}

// put stores data under the key and records what its result promises.
func (tr *trial) put(key, data string) error {
	was := tr.now(key)
	if !was.present {
		was.data = data
	}
	may := allowed{data: was.data, present: true, absent: was.absent}
	tr.set(key, may)
	err := tr.store.Put(context.Background(), key, strings.NewReader(data), int64(len(data)))
	switch {
	case err == nil:
		tr.set(key, allowed{data: data, present: true})
	case !blob.Unknown(err):
		tr.set(key, was)
	}
	return err
}

// failPut sends a body that ends early.
func (tr *trial) failPut(key string) {
	tr.set(key, allowed{absent: true})
	r := io.MultiReader(strings.NewReader(strings.Repeat("x", 1500)), brokenBody{})
	if err := tr.store.Put(context.Background(), key, r, 3000); err == nil {
		tr.violate("a broken body was stored under %s", key)
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("broken") }

// delete deletes the keys and records what each result promises.
func (tr *trial) delete(keys ...string) error {
	before := map[string]allowed{}
	for _, key := range keys {
		a := tr.now(key)
		before[key] = a
		tr.set(key, allowed{data: a.data, present: a.present, absent: true})
	}
	results, err := tr.store.Delete(context.Background(), keys)
	for _, r := range results {
		switch {
		case r.Err == nil, errors.Is(r.Err, blob.ErrNotExist):
			tr.set(r.Key, allowed{absent: true})
		case !blob.Unknown(r.Err):
			tr.set(r.Key, before[r.Key])
		}
	}
	return err
}

// script is the sequence that the trials run: names in several and in new folders,
// with bodies of none, one and several sectors. The keys with a digit are put only
// once, so that an error stays visible.
func (tr *trial) script() (errs []error) {
	note := func(err error) { errs = append(errs, err) }
	text := func(n int) string { return strings.Repeat("0123456789abcdef", n/16+1)[:n] }
	note(tr.put("s/aa/1", text(100)))
	note(tr.put("s/aa/2", text(2000)))
	note(tr.put("s/bb/3", text(0)))
	note(tr.put("epoch", text(30)))
	tr.failPut("s/bb/broken")
	note(tr.put("s/aa/1", text(50)))
	note(tr.delete("s/aa/1", "s/bb/absent", "s/zz/absent"))
	note(tr.put("s/bb/4", text(5000)))
	note(tr.put("s/cc/5", text(700)))
	note(tr.delete("s/bb/3", "s/cc/5", "s/aa/2", "epoch"))
	note(tr.delete("s/bb/3"))
	note(tr.put("s/cc/6", text(1025)))
	return errs
}

func (tr *trial) violate(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.violations = append(tr.violations, fmt.Sprintf(format, args...))
}

// crash checks what a loss of power may leave: nothing, half and all of the
// unflushed changes.
func (tr *trial) crash(when string) {
	tr.mu.Lock()
	want := maps.Clone(tr.want)
	tr.mu.Unlock()
	tr.crashWanting(when, want)
}

func (tr *trial) crashWanting(when string, want map[string]allowed) {
	for _, percent := range []int{0, 50, 50, 50, 100} {
		tr.mu.Lock()
		tr.seed++
		tr.crashes++
		seed := tr.seed
		tr.mu.Unlock()
		clone := tr.fs.CrashClone(percent, rand.New(rand.NewPCG(seed, 0)))
		for _, wrong := range inspect(clone, want, seed) {
			tr.violate("crash at %s, %d %% kept, seed %d: %s", when, percent, seed, wrong)
		}
	}
}

// inspect opens a store on what the crash left and compares.
func inspect(fsys *strictfs.FS, want map[string]allowed, seed uint64) (wrong []string) {
	var key [32]byte
	key[0], key[1], key[2] = byte(seed), byte(seed>>8), 2
	s, err := fsblob.OpenFS(fsys, fsblob.Options{Random: rand.NewChaCha8(key)})
	if err != nil {
		return []string{err.Error()}
	}
	ctx := context.Background()
	_, _, err = s.SweepUnfinished(ctx, lethe.Forever)
	if err == nil {
		err = s.Put(ctx, "s/new/blob", bytes.NewReader([]byte("new")), 3)
	}
	if err != nil {
		return []string{err.Error()}
	}
	listed := map[string]bool{}
	err = s.List(ctx, "", "", func(info blob.Info) error {
		listed[info.Key] = true
		return nil
	})
	if err != nil || !listed["s/new/blob"] {
		wrong = append(wrong, fmt.Sprintf("list: %v, %v", listed, err))
	}
	delete(listed, "s/new/blob")
	for _, key := range slices.Sorted(maps.Keys(want)) {
		wrong = append(wrong, want[key].compare(s, key, listed[key])...)
		delete(listed, key)
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		wrong = append(wrong, "an unknown name is listed: "+key)
	}
	return append(wrong, leftTemps(fsys)...)
}

func (a allowed) compare(s blob.Store, key string, listed bool) []string {
	data, err := readAll(s, key)
	_, serr := s.Stat(context.Background(), key)
	switch {
	case (err == nil) != (serr == nil) || (err == nil) != listed:
		return []string{fmt.Sprintf("%s: get %v, stat %v, listed %v", key, err, serr, listed)}
	case errors.Is(err, blob.ErrNotExist) && !a.absent:
		return []string{key + " is lost"}
	case err == nil && !a.present:
		return []string{key + " is there"}
	case err == nil && data != a.data:
		return []string{fmt.Sprintf("%s has %d bytes, not its own %d", key, len(data), len(a.data))}
	case err != nil && !errors.Is(err, blob.ErrNotExist):
		return []string{err.Error()}
	}
	return nil
}

func readAll(s blob.Store, key string) (string, error) {
	rc, err := s.Get(context.Background(), key, 0, -1)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(rc)
	return string(data), errors.Join(err, rc.Close())
}

// leftTemps returns the temporary files that were not removed.
func leftTemps(fsys *strictfs.FS) []string {
	dir, err := fsys.OpenDir(".tmp")
	if err != nil {
		return []string{err.Error()}
	}
	names, err := dir.Names()
	if err != nil || len(names) > 0 {
		return []string{fmt.Sprintf("temporary files are left: %q, %v", names, err)}
	}
	return nil
}

func (tr *trial) report(t *testing.T) {
	t.Helper()
	for i, v := range tr.violations {
		if i == 10 {
			t.Fatalf("... %d violations in all", len(tr.violations))
		}
		t.Error(v)
	}
}
