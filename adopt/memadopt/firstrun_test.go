package memadopt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// bucket is one of another program, whose keys Lethe's own stores would refuse: the
// times of objects by their keys.
type bucket struct {
	clock   lethe.Clock
	mu      sync.Mutex // markers are put several at once
	objects map[string]lethe.Time
}

func (b *bucket) Put(_ context.Context, key string, _ io.Reader, _ int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[key] = b.clock.Now()
	return nil
}

func (b *bucket) Stat(_ context.Context, key string) (blob.Info, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, there := b.objects[key]
	if !there {
		return blob.Info{}, blob.ErrNotExist
	}
	return blob.Info{Key: key, Size: 1, ModTime: at}, nil
}

func (b *bucket) List(_ context.Context, prefix, after string, fn func(blob.Info) error) error {
	for _, key := range b.keys() {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if err := fn(blob.Info{Key: key, Size: 1, ModTime: b.objects[key]}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bucket) Delete(_ context.Context, keys []string) (out []blob.Result, err error) {
	for _, key := range keys {
		delete(b.objects, key)
		out = append(out, blob.Result{Key: key})
	}
	return out, nil
}

func (b *bucket) keys() []string { return slices.Sorted(maps.Keys(b.objects)) }

// forgotten fills a bucket with two objects that rows name, and some that only
// the rows of a table name which the description leaves out.
func forgotten(n int, key string, insert func(name string)) (*app, *bucket) {
	clock := newClock()
	store := &bucket{clock: clock, objects: map[string]lethe.Time{}}
	put := func(name string) { store.objects[fmt.Sprintf(key, name)] = clock.Now() }
	for i := range 2 {
		put(fmt.Sprintf("named%d", i))
		insert(fmt.Sprintf("named%d", i))
	}
	for i := range n {
		put(fmt.Sprintf("other%d", i))
	}
	clock.Pass(48 * time.Hour)
	return clock, store
}

// run runs a pass to its end.
func run(t *testing.T, step func(context.Context, func(string, int64)) (bool, error)) (err error) {
	t.Helper()
	for more := true; more && err == nil; {
		more, err = step(t.Context(), func(string, int64) {})
	}
	return err
}

// few fails unless runs are refused, and leave the bucket as it is.
func few(t *testing.T, store *bucket, attempts ...func() error) {
	t.Helper()
	had := len(store.objects)
	for i, attempt := range attempts {
		if err := attempt(); !errors.Is(err, adopt.ErrFewRows) {
			t.Errorf("attempt %d ended with %v, want %v", i, err, adopt.ErrFewRows)
		}
	}
	if len(store.objects) != had {
		t.Errorf("%d objects are left of %d: %v", len(store.objects), had, store.keys())
	}
}

// A query that leaves out a table names too few of the objects: nothing is deleted until
// a run has found enough, however long the others are known.
func TestFirstRunOfKeys(t *testing.T) {
	rules := adopt.KeySpec{}.Rules()
	keysOf := func(n int) (*app, *memadopt.Keys, *bucket, *adopt.Keys) {
		var names []string
		clock, store := forgotten(n, "%s", func(name string) { names = append(names, name) })
		rows := memadopt.NewKeys(clock)
		for _, name := range names {
			rows.Insert("files/" + name)
		}
		return clock, rows, store, &adopt.Keys{
			Collection: "keys", Prefix: "files/", Rules: rules, Rows: rows, Store: store,
			Remove: adopt.Within{Prefix: "files/", Store: store}, Batch: 3, Boot: clock,
		}
	}
	t.Run("ten are too many", func(t *testing.T) {
		clock, rows, store, k := keysOf(10)
		pass := func() error { return run(t, k.Pass("w")) }
		census := func() error { _, err := k.Census(t.Context()); return err }
		few(t, store, census, pass)
		clock.Pass(rules.Retention)
		few(t, store, pass, pass, census)

		for i := range 9 { // the query is corrected
			rows.Insert(fmt.Sprintf("files/other%d", i))
		}
		for _, left := range []int{12, 11} { // after the first run, which deletes nothing, and the next
			if err := pass(); err != nil {
				t.Fatal(err)
			}
			if len(store.objects) != left {
				t.Errorf("left are %v", store.keys())
			}
		}
	})
	t.Run("nine prove nothing", func(t *testing.T) {
		_, _, _, k := keysOf(9)
		if err := run(t, k.Pass("w")); err != nil {
			t.Error(err)
		}
	})
	t.Run("by least", func(t *testing.T) {
		_, _, _, k := keysOf(10)
		k.Rules.Least = 0.16
		if err := run(t, k.Pass("w")); err != nil {
			t.Error(err)
		}
	})
}

// Thumbnails that no row names are in use as their originals are, also where they are fewer than
// the objects with a row. What has a key like that by chance is no thumbnail.
func TestFirstRunOfDerivedObjects(t *testing.T) {
	for form, doubted := range map[string]bool{
		"a/%s_thumb.jpg": true, "a/%s-150x150.jpg": true, "a/thumb_%s.jpg": true, "a/%s.jpg.webp": true, "a/%s.webp": true,
		"thumbs/a/%s.jpg": true, "a/small/%s.jpg": true, "thumbs/%s.jpg": true,
		"a/%s-%dx617.jpg": true,
		"b/other-%s.png":  false, "a/%s": false, "b/%.3s.jpg": false,
	} {
		for _, n := range []int{9, 10} {
			clock := newClock()
			store, rows := &bucket{clock: clock, objects: map[string]lethe.Time{}}, memadopt.NewKeys(clock)
			for i := range 30 {
				name := fmt.Sprintf("%03d-original", i)
				store.objects["a/"+name+".jpg"] = clock.Now()
				rows.Insert("files/a/" + name + ".jpg")
				if i < n {
					key := fmt.Sprintf(form, name)
					if strings.Contains(form, "%d") { // another size for each
						key = fmt.Sprintf(form, name, 1000+i)
					}
					store.objects[key] = clock.Now()
				}
			}
			clock.Pass(48 * time.Hour)
			k := &adopt.Keys{
				Collection: "keys", Prefix: "files/", Rules: adopt.KeySpec{}.Rules(), Rows: rows, Store: store,
				Remove: adopt.Within{Prefix: "files/", Store: store}, Batch: 4, Boot: clock,
			}
			_, err := k.Census(t.Context())
			ran := run(t, k.Pass("w"))
			if want := doubted && n == 10; errors.Is(err, adopt.ErrFewRows) != want || errors.Is(ran, adopt.ErrFewRows) != want {
				t.Errorf("%d such as %s: %v, %v", n, form, err, ran)
			}
			k.Rules.Least = 0 // confirmed
			if err := run(t, k.Pass("w")); err != nil {
				t.Errorf("%d such as %s, confirmed: %v", n, form, err)
			}
		}
	}
}

// A folder for each row has the original and what is made from it: where one name has rows and
// another has none, the query may leave the other out. Names that differ are of no such kind.
func TestFirstRunOfDerivedObjectsInFolders(t *testing.T) {
	for form, doubted := range map[string]bool{"up/%d/small.jpg": true, "up/%[1]d/left-over%[1]dx.jpg": true, "up/%d/%[1]o%[1]x%[1]c.jpg": false, "other/%d/small.jpg": false} {
		clock := newClock()
		store, rows := &bucket{clock: clock, objects: map[string]lethe.Time{}}, memadopt.NewKeys(clock)
		for i := range 40 {
			key := fmt.Sprintf("up/%d/original.jpg", i+100)
			store.objects[key] = clock.Now()
			rows.Insert("files/" + key)
			if i < 12 {
				store.objects[fmt.Sprintf(form, i+100)] = clock.Now()
			}
		}
		clock.Pass(48 * time.Hour)
		k := &adopt.Keys{
			Collection: "keys", Prefix: "files/", Rules: adopt.KeySpec{}.Rules(), Rows: rows, Store: store,
			Remove: adopt.Within{Prefix: "files/", Store: store}, Batch: 4, Boot: clock,
		}
		if _, err := k.Census(t.Context()); errors.Is(err, adopt.ErrFewRows) != doubted {
			t.Errorf("such as %s: %v", form, err)
		}
	}
}

// asked counts the keys that are looked for among rows.
type asked struct {
	*memadopt.Keys
	keys int
}

func (a *asked) Named(ctx context.Context, keys []string) ([]string, error) {
	a.keys += len(keys)
	return a.Keys.Named(ctx, keys)
}

// What objects may be made from is looked for where a run is decided by it, and not for each of
// many: the others are asked for once.
func TestFirstRunLooksAtFewDerivedObjects(t *testing.T) {
	clock := newClock()
	store, rows := &bucket{clock: clock, objects: map[string]lethe.Time{}}, &asked{Keys: memadopt.NewKeys(clock)}
	rows.Insert("files/a/original.jpg")
	const objects = 20_000
	for i := range objects {
		store.objects[fmt.Sprintf("a/%05d-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z.jpg", i)] = clock.Now()
	}
	clock.Pass(48 * time.Hour)
	k := &adopt.Keys{
		Collection: "keys", Prefix: "files/", Rules: adopt.KeySpec{}.Rules(), Rows: rows, Store: store,
		Remove: adopt.Within{Prefix: "files/", Store: store}, Batch: 100, Boot: clock,
	}
	few(t, store, func() error { _, err := k.Census(t.Context()); return err })
	if more := rows.keys - objects; more < 1000 || more > 25_000 {
		t.Errorf("%d keys more than those of the objects are looked for", more)
	}
	rows.keys = 0
	if err := k.Report(t.Context(), func([]adopt.OrphanObject) {}, func([]string) {}); err != nil || rows.keys > objects+1 {
		t.Errorf("a report looks for %d keys: %v", rows.keys, err)
	}
}

// So with folders.
func TestFirstRunOfFolders(t *testing.T) {
	var names []string
	clock, store := forgotten(10, "%s/data", func(name string) { names = append(names, name) })
	rows := memadopt.NewFolders(clock)
	for _, name := range names {
		rows.Insert(name)
	}
	f := &adopt.Folders{
		Collection: "folders", Prefix: "dirs/", Rules: adopt.FolderSpec{Depth: 1}.Rules(), Rows: rows, Store: store, Boot: clock,
	}
	pass := func() error { return run(t, f.Pass("w")) }
	report := func() error { _, err := f.Report(t.Context()); return err }
	few(t, store, report, pass, pass)
	clock.Pass(f.Rules.Retention)
	few(t, store, pass, report)

	f.Rules.Least = 0.16
	if err := pass(); err != nil {
		t.Fatal(err)
	}
	f.Rules.Least = 0.5 // a later run asks for those of the last
	for range 2 {
		if err := pass(); err != nil {
			t.Fatal(err)
		}
		clock.Pass(f.Rules.Retention)
	}
	if len(store.objects) != 2 {
		t.Errorf("left are %v", store.keys())
	}
}

// rewriting writes a key anew once the listing is beyond it.
type rewriting struct {
	*bucket
	key string
}

func (r rewriting) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	err := r.bucket.List(ctx, prefix, after, fn)
	return errors.Join(err, r.Put(ctx, r.key, nil, 0))
}

// An orphan that is due is written anew while the rest of the bucket is listed, its row still to
// come: it stays.
func TestOrphanThatIsWrittenAnewDuringTheListing(t *testing.T) {
	rules := adopt.KeySpec{}.Rules()
	clock, store := forgotten(2, "%s", func(string) {})
	rows := memadopt.NewKeys(clock)
	for _, key := range store.keys() {
		rows.Insert("files/" + key)
	}
	k := &adopt.Keys{
		Collection: "keys", Prefix: "files/", Rules: rules, Rows: rows, Store: store,
		Remove: adopt.Within{Prefix: "files/", Store: store}, Batch: 3, Boot: clock,
	}
	pass := func() {
		t.Helper()
		if err := run(t, k.Pass("w")); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "b"} {
		_ = store.Put(t.Context(), key, nil, 0)
	}
	clock.Pass(2 * rules.MinAge)
	pass()
	clock.Pass(2 * rules.Retention)
	k.Store = rewriting{store, "a"}
	pass()
	if left := store.keys(); !slices.Contains(left, "a") || slices.Contains(left, "b") {
		t.Errorf("left are %v: want a, which is new, and not b", left)
	}
}
