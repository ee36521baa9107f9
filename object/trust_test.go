package object_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const window = 2 * time.Hour

// folders is a world whose backends are folders.
type folders struct {
	*world
	roots  map[string]string
	stores map[string]blob.Store
}

func newFolders(t *testing.T, o ledger.Options) *folders {
	f := &folders{roots: map[string]string{}, stores: map[string]blob.Store{}}
	for _, id := range []string{"disk1", "disk2"} {
		f.roots[id] = t.TempDir()
		s, err := fsblob.Open(fsblob.Options{Root: f.roots[id], NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		f.stores[id] = s
	}
	c := clocktest.New()
	o.Clock, o.ReadGrace, o.LateWindow = c, grace, late
	f.world = worldOn(t, openLedger(t, o), c, func(o *object.Options) { o.Backends = f.stores })
	return f
}

func (f *folders) file(b ledger.Blob) string { return filepath.Join(f.roots[b.Backend], f.key(b.ID)) }

// older stores an object with so many copies, each on its own backend.
func (f *folders) older(copies int, parts []string) ledger.Object {
	f.t.Helper()
	o := f.store("old", parts...)
	if copies == 1 {
		return o
	}
	var first []lethe.ID
	for _, b := range f.copies(o) {
		first = append(first, b.ID)
	}
	_, err := f.db.MarkSuspect(f.ctx, first, "test")
	f.must(err)
	who, err := f.db.Identity(f.ctx)
	f.must(err)
	second := &world{t: f.t, ctx: f.ctx, clock: f.clock, db: f.db}
	second.Store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(f.db), Backends: map[string]blob.Store{"disk2": f.stores["disk2"]}, StoreID: who.ID, Clock: f.clock, Small: small, MinPart: 5,
	})
	f.must(err)
	second.store("twin", parts...)
	_, err = f.db.MarkSound(f.ctx, first, 0)
	f.must(err)
	return o
}

// damages are what happens to files.
var damages = map[string]func(path string, data []byte) error{
	"a bit flips": func(path string, data []byte) error {
		data[len(data)/2] ^= 1
		return os.WriteFile(path, data, 0o600)
	},
	"it is cut off": func(path string, data []byte) error { return os.Truncate(path, int64(len(data)/2)) },
	"it is gone":    func(path string, _ []byte) error { return os.Remove(path) },
	"it is zeroes":  func(path string, data []byte) error { return os.WriteFile(path, make([]byte, len(data)), 0o600) },
}

func (f *folders) damage(b ledger.Blob, how func(string, []byte) error) {
	f.t.Helper()
	data, err := os.ReadFile(f.file(b))
	f.must(err)
	f.must(how(f.file(b), data))
}

// doubtful is one case of what happens to an older copy of bytes that are stored again.
type doubtful struct {
	window time.Duration // less than 0: nothing is trusted
	copies int
	which  int // of the copies is damaged
	after  bool
	parts  []string
	copied bool // by CopyObject
}

// lost reports whether the bytes may be gone: a copy by reference rests on the older copy, as
// long as that is trusted; and there is nothing to copy once that is gone.
func (d doubtful) lost() bool { return d.copied && d.copies == 1 && (d.window > 0 || !d.after) }

func (d doubtful) run(t *testing.T, how func(string, []byte) error) {
	f := newFolders(t, ledger.Options{TrustWindow: d.window, Replicas: d.copies})
	o := f.older(d.copies, d.parts)
	f.clock.Advance(max(d.window, 0))
	victim := f.copies(o)[d.which]
	if !d.after {
		f.damage(victim, how)
	}
	if d.copied {
		_, err := f.Copy(f.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "old", Bucket: bucket, Key: "new"})
		if d.lost() && !d.after {
			if !errors.Is(err, lethe.ErrCorrupt) {
				t.Fatalf("a copy of what is damaged: %v", err)
			}
			return
		}
		f.must(err)
	} else {
		f.store("new", d.parts...)
	}
	if d.after {
		f.damage(victim, how)
	}
	if d.lost() {
		return
	}
	body := strings.Join(d.parts, "")
	f.has("new", body)
	for _, b := range f.blobs(lethe.Condemned) {
		f.must(errors.Join(os.RemoveAll(f.file(b))))
	}
	f.has("new", body)
	if !d.copied { // a copy of parts that sends bytes is another content
		f.has("old", body)
	}
}

// After the answer to a put, a copy or a completion no damage to one older copy of the
// same bytes loses any of it, be it from before or after, once that is not trusted.
func TestAcknowledgedUploadSurvivesLossOfOlderCopies(t *testing.T) {
	forms := map[string][]string{
		"small": {"small body"}, "large": {strings.Repeat("large body ", 1000)}, "parts": {"first part", "second part", "last"},
	}
	for name, how := range damages {
		for form, parts := range forms {
			for _, d := range []doubtful{
				{window: window, copies: 1}, {window: window, copies: 2}, {window: window, copies: 2, which: 1},
				{window: -1, copies: 1}, {window: -1, copies: 2}, {window: -1, copies: 2, which: 1},
			} {
				for i := range 4 {
					d.parts, d.after, d.copied = parts, i%2 == 1, i/2 == 1
					t.Run(fmt.Sprintf("%s/%s/window %s, copy %d of %d, after %t, copied %t", name, form, d.window, d.which, d.copies, d.after, d.copied),
						func(t *testing.T) { d.run(t, how) })
				}
			}
		}
	}
}

// calls notes the calls to the backends, and forgets them as they are told.
func (w *world) calls() (told func() string) {
	var list []string
	for id := range w.backends {
		w.faults[id] = func(c blobtest.Call) blobtest.Fault {
			list = append(list, string(c.Op))
			return blobtest.Fault{}
		}
	}
	return func() string {
		out := strings.Join(list, " ")
		list = nil
		return out
	}
}

// What a duplicate costs: within the window nothing more than ever; after it, once, what
// the first did, and a copy one read.
func TestCallsOfDuplicates(t *testing.T) {
	small, large := "small body", strings.Repeat("large body ", 1000)
	for name, c := range map[string]struct {
		window, later time.Duration
		want          [6]string
	}{
		"within the window": {window, window / 2, [6]string{"", "put", "", "", "put", ""}},
		"after the window":  {window, window, [6]string{"put", "put", "", "", "put", ""}},
		"without a window":  {-1, 0, [6]string{"put", "put", "get put", "put", "put", "get put"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktest.New()
			o := ledger.Options{Clock: clock, ReadGrace: grace, LateWindow: late, TrustWindow: c.window}
			w := worldOn(t, openLedger(t, o), clock, nil)
			w.put("small", small)
			w.put("large", large)
			w.clock.Advance(c.later)
			told := w.calls()
			for i, step := range []func(){
				func() { w.put("s", small) },
				func() { w.put("l", large) },
				func() { w.copyOf("small", "c") },
				func() { w.put("s", small) },
				func() { w.put("l", large) },
				func() { w.copyOf("large", "c") },
			} {
				step()
				if got := told(); got != c.want[i] {
					t.Errorf("step %d: calls are %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

func (w *world) copyOf(from, to string) {
	w.t.Helper()
	_, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: from, Bucket: bucket, Key: to})
	w.must(err)
}

// A copy of an object that nobody has read lately reads it once; the next one need not.
func TestACopyReadsWhatIsNotTrusted(t *testing.T) {
	clock := clocktest.New()
	w := worldOn(t, openLedger(t, ledger.Options{Clock: clock, ReadGrace: grace, LateWindow: late, TrustWindow: window}), clock, nil)
	o := w.upload("k", "first part", "second part")
	w.clock.Advance(window)
	told := w.calls()
	w.copyOf("k", "l")
	if got := told(); got != "get get" {
		t.Errorf("calls are %q", got)
	}
	w.copyOf("k", "m")
	if got := told(); got != "" {
		t.Errorf("calls of the next are %q", got)
	}
	if n := len(w.copies(o)); n != 2 {
		t.Errorf("%d blobs", n)
	}
	w.has("l", "first partsecond part")
}

// A copy that reads its source, and sleeps meanwhile, renews the trust from when it
// began.
func TestStaleVerificationRenewsNothing(t *testing.T) {
	clock := clocktest.New()
	w := worldOn(t, openLedger(t, ledger.Options{Clock: clock, ReadGrace: grace, LateWindow: late, TrustWindow: window}), clock, nil)
	w.put("k", strings.Repeat("large body ", 1000))
	w.clock.Advance(window)
	began := w.clock.Now()
	for id := range w.backends {
		w.faults[id] = func(blobtest.Call) blobtest.Fault {
			w.clock.Advance(time.Minute)
			return blobtest.Fault{}
		}
	}
	w.copyOf("k", "l")
	if at := w.blobs(lethe.Live)[0].VerifiedAt; at != began {
		t.Errorf("verified at %s, the read began at %s", at, began)
	}
}

// doubt has all that lies on the backends not trusted any more.
func (w *world) doubt() {
	w.t.Helper()
	all, err := w.db.Backends(w.ctx)
	w.must(err)
	for _, b := range all {
		w.must(w.db.ChangeHold(w.ctx, b, ledger.BackendHold{For: ledger.HeldForBackend, Reason: "an older copy"}))
	}
	w.clock.Advance(time.Second)
}

// Parts are read before a completion takes them, if their backends were in doubt since they
// were stored: what is gone is sent again, and nothing is acknowledged without its bytes.
func TestCompletionReadsPartsInDoubt(t *testing.T) {
	for name, how := range damages {
		t.Run(name, func(t *testing.T) {
			f := newFolders(t, ledger.Options{TrustWindow: window})
			up := f.create("k")
			ask := complete(up, f.part(up, 1, "first part"), f.part(up, 2, "second part"))
			for _, b := range f.blobs(lethe.Live) {
				if b.Part == 2 {
					f.damage(b, how)
				}
			}
			f.doubt()
			_, err := f.Complete(f.ctx, ask)
			f.wants(err, lethe.ErrInvalidPart)
			if _, left, err := f.Parts(f.ctx, object.PartQuery{Bucket: bucket, Key: "k", Upload: up.ID, Limit: 10}); err != nil || len(left) != 1 {
				t.Errorf("%d parts are listed: %v", len(left), err)
			}
			f.part(up, 2, "second part")
			_, err = f.Complete(f.ctx, ask)
			f.must(err)
			f.has("k", "first partsecond part")
		})
	}
}

func TestCompletionReadsPartsInDoubtOnce(t *testing.T) {
	w := newWorld(t, nil)
	up, down := w.create("k"), true
	ask := complete(up, w.part(up, 1, "first part"), w.part(up, 2, "second part"))
	w.doubt()
	var reads int
	for id := range w.backends {
		w.faults[id] = func(c blobtest.Call) blobtest.Fault {
			if reads++; down && reads == 2 {
				return blobtest.Fault{Kind: blobtest.Down}
			}
			return blobtest.Fault{}
		}
	}
	_, err := w.Complete(w.ctx, ask)
	w.wants(err, lethe.ErrUnavailable)
	down = false
	_, err = w.Complete(w.ctx, ask)
	w.must(err)
	if reads != 3 {
		t.Errorf("%d reads", reads)
	}
	w.has("k", "first partsecond part")
}

func TestDoubtWhilePartsAreRead(t *testing.T) {
	w := newWorld(t, nil)
	up := w.create("k")
	ask := complete(up, w.part(up, 1, "first part"))
	w.doubt()
	for id := range w.backends {
		w.faults[id] = func(blobtest.Call) blobtest.Fault {
			w.doubt()
			return blobtest.Fault{}
		}
	}
	_, err := w.Complete(w.ctx, ask)
	w.wants(err, lethe.ErrUnavailable)
	clear(w.faults)
	_, err = w.Complete(w.ctx, ask)
	w.must(err)
	w.has("k", "first part")
}
