package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// The objects of one row must not contain another's, whatever its columns hold.
func TestReaches(t *testing.T) {
	c := adopt.Collection{Prefix: "up/", Rows: adopt.Rows{Objects: []string{"up/files/{id}/", "up/thumbs/{id}/small/"}}}
	for key, want := range map[string]bool{
		"up/files/7/": true, "up/thumbs/7/small/": true, "up/files/Größe 1/": true,
		"up/files/": false, "up/files/a/b/": false, "up/files//": false, "up/files/../": false, "up/files/./": false,
		"up/": false, "": false, "/": false, "up/files/7": false, "other/files/7/": false, "up/thumbs/7/": false, "up/files/a\n/": false,
	} {
		if got := c.Reaches(key); got != want {
			t.Errorf("%q: %v, want %v", key, got, want)
		}
	}
	single := adopt.Collection{Prefix: "up/", Rows: adopt.Rows{Objects: []string{"{key}"}}}
	for key, want := range map[string]bool{"up/a/b": true, "up/": false, "u": false, "": false} {
		if got := single.Reaches(key); got != want {
			t.Errorf("%q: %v, want %v", key, got, want)
		}
	}
}

func TestTemplatesOfFolders(t *testing.T) {
	for objects, want := range map[string]string{
		`"a/{id}/"`:                       "",
		`"a/x/{id}/", "a/y/{id}/orig/"`:   "",
		`"a/{id}/", "a/{id}.jpg"`:         "either all templates",
		`"a/{id}/", "a/{id}/thumbs/"`:     "contain each other",
		`"a/{id}/", "a/x{id}/"`:           "contain each other",
		`"{dir}/", "a/{id}/"`:             "contain each other",
		`"a/{id}.jpg", "a/{id}/{id}.png"`: "",
	} {
		_, err := parse(t, `database: postgres://x/y
buckets: {b: {bucket: b}}
collections:
  c: {bucket: b, prefix: a/, guard: trigger, rows: {table: r, key: k, end: e, objects: [`+objects+`]}}
`, nil)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", objects, err, want)
		}
	}
}

// refusing is a bucket that fails for some keys.
type refusing struct {
	*memblob.Store
	errs map[string]error
}

func (r refusing) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := blob.Check(ctx); err != nil {
		return nil, err
	}
	results := make([]blob.Result, len(keys))
	for i, key := range keys {
		results[i] = blob.Result{Key: key, Err: r.errs[key]}
		if blob.Gone(results[i].Err) {
			r.Lose(key)
		}
	}
	return results, nil
}

// A folder is deleted page by page; its result is certain only once nothing is
// left.
func TestEmptier(t *testing.T) {
	r := refusing{memblob.New(memblob.Options{}), map[string]error{}}
	for i := range 25 {
		r.Set(fmt.Sprintf("one/%02d", i), nil)
	}
	for _, key := range []string{"one", "one0", "two/a", "two/b", "three/a", "four/a", "five/a", "five/b", "six/a", "six/b"} {
		r.Set(key, nil)
	}
	r.errs["two/a"] = blob.ErrUnknown
	r.errs["three/a"] = fmt.Errorf("no: %w", blob.ErrNotDone)
	r.errs["five/b"] = r.errs["three/a"]
	r.errs["six/a"] = blob.ErrLate
	e := adopt.Emptier{Prefix: "up/", Store: r, Page: 10, AtOnce: 3}
	results, err := e.Delete(t.Context(), []string{"up/one/", "up/two/", "up/three/", "up/none/", "up/four", "up/", "four/", "up/five/"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		done, unknown bool
	}{{true, false}, {false, true}, {false, false}, {true, false}, {false, false}, {false, false}, {false, false}, {false, true}} {
		if got := results[i].Err; (got == nil) != want.done || blob.Unknown(got) != want.unknown {
			t.Errorf("%s: %v, want done %v, unknown %v", results[i].Key, got, want.done, want.unknown)
		}
	}
	if left := r.Keys(); !slices.Equal(left, []string{"five/b", "four/a", "one", "one0", "six/a", "six/b", "three/a", "two/a"}) {
		t.Errorf("%q are left", left)
	}
	if results, _ := e.Delete(t.Context(), []string{"up/six/"}); !blob.Gone(results[0].Err) || !errors.Is(results[0].Err, blob.ErrLate) {
		t.Errorf("a request that may yet take effect: %v", results[0].Err)
	}
	late := errors.New("too late")
	results, _ = e.Delete(blob.WithCheck(t.Context(), func() error { return fmt.Errorf("%w: %w", late, blob.ErrNotDone) }), []string{"up/four/"})
	if !errors.Is(results[0].Err, late) {
		t.Errorf("a delete that came too late: %v", results[0].Err)
	}
}

// Objects that cannot be deleted keep none behind them, even if they fill pages.
func TestEmptierPassesOver(t *testing.T) {
	r := refusing{memblob.New(memblob.Options{}), map[string]error{}}
	var kept []string
	for i := range 25 {
		key := fmt.Sprintf("a/%02d", i)
		r.Set(key, nil)
		if i < 4 || i == 14 {
			r.errs[key] = fmt.Errorf("locked: %w", blob.ErrNotDone)
			kept = append(kept, key)
		}
	}
	results, err := adopt.Emptier{Prefix: "up/", Store: r, Page: 2}.Delete(t.Context(), []string{"up/a/"})
	if err != nil || !blob.Unknown(results[0].Err) || !strings.Contains(results[0].Err.Error(), "locked") {
		t.Errorf("%v: %v; want that it is open, and why", err, results[0].Err)
	}
	if left := r.Keys(); !slices.Equal(left, kept) {
		t.Errorf("%q are left, want %q", left, kept)
	}
}

// Once it is too late to send, what is behind is not even listed.
func TestEmptierTooLate(t *testing.T) {
	r := failing{refusing{memblob.New(memblob.Options{}), map[string]error{}}, new(int), nil}
	tooLate := fmt.Errorf("too late: %w", blob.ErrNotDone)
	for i := range 9 {
		key := fmt.Sprintf("a/%d", i)
		r.Set(key, nil)
		if i > 0 {
			r.errs[key] = tooLate
		}
	}
	asked := 0
	ctx := blob.WithCheck(t.Context(), func() error {
		if asked++; asked > 1 {
			return tooLate
		}
		return nil
	})
	results, err := adopt.Emptier{Prefix: "up/", Store: r, Page: 2}.Delete(ctx, []string{"up/a/"})
	if err != nil || !blob.Unknown(results[0].Err) || *r.listings != 1 {
		t.Errorf("%v: %v after %d listings; want that it is open after one", err, results[0].Err, *r.listings)
	}
}

// Of a partly deleted folder only that is certain: a later page was not sent,
// or a later listing failed.
func TestEmptierInPart(t *testing.T) {
	late := fmt.Errorf("too late: %w", blob.ErrNotDone)
	for what, c := range map[string]struct {
		page    int
		listing error
	}{"a page is not sent": {1, nil}, "a listing fails": {2, blob.ErrDown}} {
		t.Run(what, func(t *testing.T) {
			r := failing{refusing{memblob.New(memblob.Options{}), nil}, new(int), c.listing}
			for i := range 4 {
				r.Set(fmt.Sprintf("a/%d", i), nil)
			}
			asked := 0
			ctx := blob.WithCheck(t.Context(), func() error {
				if asked++; asked > 1 {
					return late
				}
				return nil
			})
			results, err := adopt.Emptier{Prefix: "up/", Store: r, Page: c.page}.Delete(ctx, []string{"up/a/"})
			if err != nil || !blob.Unknown(results[0].Err) {
				t.Errorf("%v: %v; want that it is open", err, results[0].Err)
			}
			if left := len(r.Keys()); left != 4-c.page {
				t.Errorf("%d objects are left", left)
			}
		})
	}
}

// failing is a bucket whose later listings fail with an error, if it is set.
type failing struct {
	refusing
	listings *int
	err      error
}

func (f failing) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	if *f.listings++; *f.listings > 1 && f.err != nil {
		return f.err
	}
	return f.refusing.List(ctx, prefix, after, fn)
}
