package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/object/importer"
)

// world is a store whose objects go to a memory, beside a folder with foreign
// files.
type world struct {
	t     *testing.T
	root  string
	store *object.Store
	id    lethe.ID
	src   blob.Store
	calls int
	read  int64
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, root: t.TempDir()}
	db := memledger.New(ledger.Options{Clock: lethe.SystemClock{}})
	who, err := db.Identity(t.Context())
	w.must(err)
	_, err = db.AddBackend(t.Context(), ledger.Backend{ID: "memory"})
	w.must(err)
	w.id = who.ID
	w.store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(db), Backends: map[string]blob.Store{"memory": memblob.New(memblob.Options{})}, StoreID: who.ID,
		Clock: lethe.SystemClock{}, Small: 100, MinPart: 5, Beat: time.Minute, MinAge: 10 * time.Minute, ReadGrace: time.Minute,
	})
	w.must(err)
	_, err = w.store.CreateBucket(t.Context(), ledger.Bucket{Name: "b", Owner: "alice"})
	w.must(err)
	src, err := fsblob.Open(fsblob.Options{Root: w.root, NoSync: true})
	w.must(err)
	t.Cleanup(func() { _ = src.Close() })
	w.src = src
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) plant(key, body string) {
	w.t.Helper()
	path := filepath.Join(w.root, filepath.FromSlash(key))
	w.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(body), 0o600)))
}

func (w *world) importer() *importer.Importer {
	w.t.Helper()
	i, err := importer.New(importer.Options{
		Objects: w.store, Backend: "disk", Source: w.src, Store: w.id,
		Call:  func(context.Context) error { w.calls++; return nil },
		Bytes: func(_ context.Context, n int64) error { w.read += n; return nil },
	})
	w.must(err)
	return i
}

// run imports and returns what became of each key.
func (w *world) run(r importer.Request) map[string]importer.Outcome {
	w.t.Helper()
	out := map[string]importer.Outcome{}
	w.must(w.importer().Run(w.t.Context(), r, func(res importer.Result) { out[res.Item.Source] = res.Outcome }))
	return out
}

func (w *world) body(key string) string {
	w.t.Helper()
	rd, err := w.store.Get(w.t.Context(), object.GetRequest{Bucket: "b", Key: key})
	w.must(err)
	defer rd.Body.Close()
	text, err := io.ReadAll(rd.Body)
	w.must(err)
	return string(text)
}

func (w *world) want(got map[string]importer.Outcome, want map[string]importer.Outcome) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("became\n%v, want\n%v", got, want)
	}
}

// What is imported is there under its new name, and where it was; done again,
// nothing is read again, and what was done by hand stays.
func TestImport(t *testing.T) {
	w := newWorld(t)
	large := strings.Repeat("large ", 1000)
	w.plant("old/a", "of a")
	w.plant("old/deep/Large.bin", large)
	w.plant("old/empty", "")
	w.plant("old/same", "of a")
	w.plant("other", "not asked for")
	r := importer.Request{Prefix: "old/", Bucket: "b", Strip: "old/", Add: "new/", TTL: time.Hour}
	all := func(o importer.Outcome) map[string]importer.Outcome {
		return map[string]importer.Outcome{"old/a": o, "old/deep/Large.bin": o, "old/empty": o, "old/same": o}
	}
	w.want(w.run(r), all(importer.Imported))
	if w.body("new/a") != "of a" || w.body("new/deep/Large.bin") != large || w.body("new/empty") != "" || w.body("new/same") != "of a" {
		t.Error("the objects hold other bytes")
	}
	if o, err := w.store.Head(t.Context(), object.GetRequest{Bucket: "b", Key: "new/a"}); err != nil || o.TTLAt == 0 || o.Attrs.User[importer.Mark] == "" {
		t.Errorf("the object is %+v, %v", o, err)
	}
	if want := int64(len(large) + 2*len("of a")); w.read != want {
		t.Errorf("%d bytes were read, want %d", w.read, want)
	}
	if _, err := os.Stat(filepath.Join(w.root, "old", "a")); err != nil {
		t.Errorf("the source: %v", err)
	}
	w.read = 0
	w.want(w.run(r), all(importer.Already))
	if w.read != 0 {
		t.Errorf("%d bytes were read again", w.read)
	}
}

// No object is replaced: one with the same bytes counts as imported, however it came
// there, another one stays.
func TestNothingIsReplaced(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"same", "equal size", "longer"} {
		w.plant(key, "theirs")
	}
	for key, body := range map[string]string{"same": "theirs", "equal size": "mine!!", "longer": "mine, longer"} {
		_, err := w.store.Put(t.Context(), object.PutRequest{Bucket: "b", Key: key, Body: strings.NewReader(body), Size: -1})
		w.must(err)
	}
	w.want(w.run(importer.Request{Bucket: "b"}), map[string]importer.Outcome{"same": importer.Already, "equal size": importer.Conflict, "longer": importer.Conflict})
	if w.body("equal size") != "mine!!" || w.body("longer") != "mine, longer" {
		t.Error("an object was replaced")
	}
}

// A source that changes: since it was planned, while it is read, after it was
// imported. Nothing that nobody ever wrote becomes an object.
func TestSourcesThatChange(t *testing.T) {
	w := newWorld(t)
	i := w.importer()
	w.plant("x", "first")
	item, err := i.Look(t.Context(), importer.Item{Source: "x", Bucket: "b", Key: "x"})
	w.must(err)
	w.plant("x", "second, longer")
	res, err := i.Import(t.Context(), item)
	if err != nil || res.Outcome != importer.Changed {
		t.Fatalf("changed since: %+v, %v", res, err)
	}
	w.must(os.Remove(filepath.Join(w.root, "x")))
	if res, err = i.Import(t.Context(), item); err != nil || res.Outcome != importer.Gone {
		t.Fatalf("gone since: %+v, %v", res, err)
	}
	for name, during := range map[string]func(){
		"grows":   func() { w.plant("x", strings.Repeat("y", 500)) },
		"shrinks": func() { w.plant("x", "y") },
		"goes":    func() { w.must(os.Remove(filepath.Join(w.root, "x"))) },
	} {
		w.plant("x", strings.Repeat("x", 400))
		w.meddle(during)
		outcome := w.run(importer.Request{Bucket: "b"})["x"]
		if want := map[bool]importer.Outcome{true: importer.Gone, false: importer.Changed}[name == "goes"]; outcome != want {
			t.Errorf("%s while it is read: %s", name, outcome)
		}
		if _, err := w.store.Head(t.Context(), object.GetRequest{Bucket: "b", Key: "x"}); !errors.Is(err, lethe.ErrNoSuchKey) {
			t.Errorf("%s while it is read: there is an object, %v", name, err)
		}
		w.src = w.src.(*meddled).Store
	}
	w.plant("x", "settled")
	w.run(importer.Request{Bucket: "b"})
	w.plant("x", "and again")
	if outcome := w.run(importer.Request{Bucket: "b"})["x"]; outcome != importer.Conflict || w.body("x") != "settled" {
		t.Errorf("changed afterwards: %s, %q", outcome, w.body("x"))
	}
}

// A file that took the place of one that was imported is another one, even if it has
// its size and its time: what was imported would else be taken for a copy of it.
func TestSourcesThatKeepTheirTime(t *testing.T) {
	w := newWorld(t)
	w.plant("x", "first")
	item, err := w.importer().Look(t.Context(), importer.Item{Source: "x", Bucket: "b", Key: "planned"})
	w.must(err)
	w.run(importer.Request{Bucket: "b"})
	path := filepath.Join(w.root, "x")
	before, err := os.Stat(path)
	w.must(err)
	var was, is unix.Stat_t
	w.must(unix.Stat(path, &was))
	for is = was; is.Ctim == was.Ctim; { // until the system's clock has ticked
		w.plant("x", "other")
		w.must(errors.Join(os.Chtimes(path, before.ModTime(), before.ModTime()), unix.Stat(path, &is)))
	}
	if outcome := w.run(importer.Request{Bucket: "b"})["x"]; outcome != importer.Conflict {
		t.Errorf("another file: %s", outcome)
	}
	if res, err := w.importer().Import(t.Context(), item); err != nil || res.Outcome != importer.Changed {
		t.Errorf("another file than was planned: %+v, %v", res, err)
	}
}

// meddled is a folder whose owner changes a file once it was opened.
type meddled struct {
	*fsblob.Store
	during func()
}

func (w *world) meddle(during func()) { w.src = &meddled{w.src.(*fsblob.Store), during} }

// OpenForeign implements blob.Foreign.
func (m *meddled) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	body, err := m.Store.OpenForeign(ctx, seen)
	m.during()
	return body, err
}

// Names of this store are never imported, those of another one only if it is named.
func TestStoresAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	other := lethe.RandomID(lethe.SystemClock{}.Now())
	mine, theirs := lethe.BlobKey(w.id, lethe.RandomID(1)), lethe.BlobKey(other, lethe.RandomID(1))
	w.plant(mine, "condemned, perhaps")
	w.plant(string(w.id)+"/epoch/5", "epoch")
	w.plant(theirs, "of another store")
	w.plant(string(other)+"/epoch/5", "epoch")
	w.plant("bad\nname", "x")
	epoch := string(other) + "/epoch/5"
	w.want(w.run(importer.Request{Bucket: "b"}), map[string]importer.Outcome{theirs: importer.Refused, epoch: importer.Refused, "bad\nname": importer.Refused})
	prefix := string(other) + "/"
	w.want(w.run(importer.Request{Bucket: "b", Prefix: prefix, Strip: prefix, Add: "saved/"}), map[string]importer.Outcome{theirs: importer.Imported, epoch: importer.Refused})
	res, err := w.importer().Import(t.Context(), importer.Item{Source: mine, Bucket: "b", Key: "k"})
	if err != nil || res.Outcome != importer.Refused {
		t.Errorf("a plan that names a blob of this store: %+v, %v", res, err)
	}
}

// marked is a source that has a name like a folder's mark, too.
type marked struct {
	*fsblob.Store
	size int64
}

func (m marked) List(_ context.Context, prefix, _ string, fn func(blob.Info) error) error {
	return fn(blob.Info{Key: prefix, Size: m.size})
}

// The mark of the folder that is imported says nothing and is passed over; if bytes
// lie under its name, whoever moves out hears that they stay behind.
func TestTheMarkOfTheFolderItself(t *testing.T) {
	w := newWorld(t)
	disk := w.src.(*fsblob.Store)
	for _, add := range []string{"", "new/"} {
		r := importer.Request{Prefix: "old/", Bucket: "b", Strip: "old/", Add: add}
		w.src = marked{disk, 0}
		w.want(w.run(r), map[string]importer.Outcome{})
		w.src = marked{disk, 3}
		w.want(w.run(r), map[string]importer.Outcome{"old/": importer.Refused})
	}
}

// What does not work as a whole ends the run; what contradicts itself does not begin.
func TestRunsThatEnd(t *testing.T) {
	w := newWorld(t)
	w.plant("a", "x")
	w.plant("b", "x")
	silent := func(importer.Result) { t.Error("something was done") }
	if err := w.importer().Run(t.Context(), importer.Request{Bucket: "nowhere"}, silent); !errors.Is(err, lethe.ErrNoSuchBucket) {
		t.Errorf("no such bucket: %v", err)
	}
	for _, r := range []importer.Request{{}, {Bucket: "b", Prefix: "a/", Strip: "b"}, {Bucket: "b", TTL: -1}} {
		if err := w.importer().Run(t.Context(), r, silent); !errors.Is(err, importer.ErrRequest) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.importer().Run(ctx, importer.Request{Bucket: "b"}, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := importer.New(importer.Options{Backend: "memory", Source: memblob.New(memblob.Options{})}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a backend that cannot: %v", err)
	}
}

// Several are read at once, each is reported once.
func TestWorkers(t *testing.T) {
	w := newWorld(t)
	var want []string
	for n := range 50 {
		key := fmt.Sprintf("k%02d", n)
		want = append(want, key)
		w.plant(key, "body of "+key)
	}
	i, err := importer.New(importer.Options{Objects: w.store, Backend: "disk", Source: w.src, Store: w.id, Workers: 8})
	w.must(err)
	var got []string
	w.must(i.Run(t.Context(), importer.Request{Bucket: "b"}, func(r importer.Result) { got = append(got, r.Item.Source) }))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("told of %v", got)
	}
	for _, key := range want {
		if w.body(key) != "body of "+key {
			t.Errorf("%s holds %q", key, w.body(key))
		}
	}
}
