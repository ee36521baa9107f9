package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
)

// versions are the bodies of one key, before and while it is replaced.
var versions = []string{strings.Repeat("old ", 5000), strings.Repeat("newer ", 5000)}

func (l *lab) write(version int) error {
	text := versions[version]
	_, err := l.objects.Put(context.Background(), object.PutRequest{
		Bucket: "b", Key: "k", Body: strings.NewReader(text), Size: int64(len(text)),
	})
	return err
}

// clear has the cleaner take what was replaced.
func (l *lab) clear(t *testing.T) {
	l.ahead.Add(time.Hour.Microseconds())
	var counts reclaim.Counts
	pass := l.clean.Pass("w")
	for more := true; more; {
		var err error
		more, err = pass(t.Context(), counts.Add)
		must(t, err)
	}
}

// after reads the key by the ledger as it is and the disk as a loss of power leaves
// it, with so much of what was not flushed.
func (l *lab) after(percent int, seed uint64) (string, error) {
	left, err := fsblob.OpenFS(l.fs.CrashClone(percent, rand.New(rand.NewPCG(seed, 1))), fsblob.Options{})
	if err != nil {
		return "", err
	}
	objects, err := object.New(object.Options{
		Ledger: ledgertest.ForObjects(l.db), Backends: map[string]blob.Store{"main": left}, StoreID: l.store, Clock: l, Small: 4 << 10, MinPart: 1,
	})
	if err != nil {
		return "", err
	}
	r, err := objects.Get(context.Background(), object.GetRequest{Bucket: "b", Key: "k"})
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r.Body)
	return string(text), errors.Join(err, r.Body.Close())
}

// cut looks at what losses of power now would leave: one of the versions, whole.
func (l *lab) cut(where string, may ...int) {
	for i, percent := range []int{0, 30, 70, 100} {
		text, err := l.after(percent, uint64(i))
		if !slices.ContainsFunc(may, func(v int) bool { return text == versions[v] }) {
			l.violate("%s, %d %% kept: read %d bytes, %.12q: %v", where, percent, len(text), text, err)
		}
	}
}

// replaced replaces an object, with the power cut at every operation on files.
func (l *lab) replaced(t *testing.T) (cuts int) {
	must(t, l.write(0))
	may := []int{0, 1}
	l.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
		cuts++
		l.cut(op.Kind+" "+op.Path, may...)
		return nil
	}})
	must(t, l.write(1))
	may = []int{1}
	l.cut("acknowledged", may...)
	l.clear(t)
	l.cut("cleaned up", may...)
	return cuts
}

// SeaweedFS #9944, its first half: a compaction was committed by two renames, which
// are not one step, and errors of fsync were dropped. Here one transaction, behind
// flushes that have all succeeded, makes the new bytes the object's: at whatever
// operation the power goes, the old ones are there whole or the new ones are.
func TestSeaweedFS9944_TwoRenamesThatAreNotOneStep(t *testing.T) {
	l := newLab(t, sound)
	if cuts := l.replaced(t); cuts < 10 {
		t.Errorf("only %d operations", cuts)
	}
	if len(l.wrong) > 0 {
		t.Errorf("after a loss of power:\n%s", strings.Join(l.wrong, "\n"))
	}
	for _, f := range []flaw{behind, noSync} {
		if l := newLab(t, f); l.replaced(t) > 0 && len(l.wrong) == 0 {
			t.Errorf("flaw %d was not seen", f)
		}
	}
	halves := map[string]bool{}
	n := newCompaction(t)
	n.SetHooks(strictfs.Hooks{Before: func(strictfs.Op) error { halves[n.read(100)] = true; return nil }})
	must(t, n.commit(nil))
	if left := n.read(100); left != "new new" || !halves["old old"] || len(halves) < 3 {
		t.Errorf("the naive design left %q, and in between %v: this scenario proves nothing", left, halves)
	}
}

// And a flush that fails is a write that fails: what was there stays.
func TestSeaweedFS9944_ErrorsOfFlushes(t *testing.T) {
	failed := map[string]int{}
	for at := 1; ; at++ {
		l, flushes, kind := newLab(t, sound), 0, ""
		must(t, l.write(0))
		l.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
			if strings.HasPrefix(op.Kind, "sync") {
				if flushes++; flushes == at {
					kind = op.Kind
					return syscall.EIO
				}
			}
			return nil
		}})
		err := l.write(1)
		l.fs.SetHooks(strictfs.Hooks{})
		if kind == "" {
			must(t, err)
			break
		}
		failed[kind]++
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("flush %d, %s, failed, and the write said %v", at, kind, err)
		}
		l.cut(fmt.Sprintf("flush %d, %s, failed", at, kind), 0)
		must(t, l.write(1))
		l.cut("written again", 1)
		if len(l.wrong) > 0 {
			t.Error(strings.Join(l.wrong, "\n"))
		}
	}
	if failed["sync"] == 0 || failed["syncdir"] == 0 {
		t.Errorf("flushes that failed: %v", failed)
	}

	n := newCompaction(t)
	n.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
		if op.Kind == "sync" {
			return syscall.EIO
		}
		return nil
	}})
	dropped := func(error) error { return nil }
	must(t, n.commit(dropped))
	n.SetHooks(strictfs.Hooks{})
	if left := n.read(0); left == "new new" || left == "old old" {
		t.Errorf("the naive design left %q: this scenario proves nothing", left)
	}
}

// compaction is a file of data and its index, which belong together, replaced as
// the naive design does it.
type compaction struct {
	*strictfs.FS
	t   *testing.T
	dir fsblob.Dir
}

func newCompaction(t *testing.T) compaction {
	c := compaction{FS: strictfs.New(nil), t: t}
	var err error
	c.dir, err = c.OpenDir("")
	must(t, err)
	for _, name := range []string{"data", "index"} {
		must(t, c.file(name, "old", nil))
	}
	must(t, c.dir.Sync())
	return c
}

// file writes a file; flushed says what becomes of the error of its flush.
func (c compaction) file(name, text string, flushed func(error) error) error {
	f, err := c.dir.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, bytes.NewReader([]byte(text))); err != nil {
		return err
	}
	err = f.Sync()
	if flushed != nil {
		err = flushed(err)
	}
	return errors.Join(err, f.Close())
}

func (c compaction) commit(flushed func(error) error) error {
	for _, name := range []string{"data", "index"} {
		if err := c.file(name+".new", "new", flushed); err != nil {
			return err
		}
	}
	for _, name := range []string{"data", "index"} { // each of them a rename
		if err := errors.Join(c.dir.Remove(name), c.Move(c.dir, name+".new", c.dir, name)); err != nil {
			return err
		}
	}
	return c.dir.Sync()
}

// read says what a loss of power leaves of both, with so much of what was not
// flushed.
func (c compaction) read(percent int) string {
	left := c.CrashClone(percent, rand.New(rand.NewPCG(1, 1)))
	dir, err := left.OpenDir("")
	must(c.t, err)
	var texts []string
	for _, name := range []string{"data", "index"} {
		f, err := dir.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			texts = append(texts, "nothing")
			continue
		}
		must(c.t, err)
		text, err := io.ReadAll(f)
		must(c.t, err)
		texts = append(texts, string(text))
	}
	return strings.Join(texts, " ")
}
