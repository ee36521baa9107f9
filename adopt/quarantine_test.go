package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// nothingHeld is the record of an empty quarantine.
type nothingHeld struct {
	adopt.QuarantineRows
	now lethe.Time
}

func (n *nothingHeld) Unfinished(context.Context, adopt.Upload, int) ([]adopt.Upload, error) {
	return nil, nil
}

func (n *nothingHeld) Page(context.Context, string, int) (adopt.QuarantinePage, error) {
	return adopt.QuarantinePage{Now: n.now}, nil
}

// uploads records the bounds of sweeps for uploads.
type uploads struct {
	adopt.CopyStore
	before []lethe.Time
}

func (u *uploads) SweepUnfinished(_ context.Context, before lethe.Time) (int, int64, error) {
	u.before = append(u.before, before)
	return 0, 0, nil
}

type clock struct{ now lethe.Time }

func (c *clock) Now() lethe.Time { return c.now }

// Unfinished copies are aborted after a day, and looked for once an hour.
func TestQuarantineSweepsCopies(t *testing.T) {
	const begin = lethe.Time(1e15)
	rows, copies, boot := &nothingHeld{now: begin}, &uploads{}, &clock{1}
	q := &adopt.Quarantine{Rows: rows, Copies: copies, Boot: boot, Batch: 9}
	for range 121 {
		if _, err := q.Pass("w")(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		rows.now, boot.now = rows.now.Add(time.Minute), boot.now.Add(time.Minute)
	}
	day := begin.Add(-24 * time.Hour)
	if want := []lethe.Time{day, day.Add(time.Hour), day.Add(2 * time.Hour)}; !slices.Equal(copies.before, want) {
		t.Errorf("swept what was begun before %v, want %v", copies.before, want)
	}
}

// listed is copies of which there is no record, and counts those that were listed.
type listed struct {
	uploads
	copies, seen int
}

func (l *listed) List(_ context.Context, _, after string, fn func(blob.Info) error) error {
	for i := range l.copies {
		if key := fmt.Sprintf("a%04d", i); key > after {
			l.seen++
			if err := fn(blob.Info{Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// found is a record in which no copy was yet.
type found struct {
	nothingHeld
	calls [][]adopt.FoundObject
}

func (f *found) Found(_ context.Context, copies []adopt.FoundObject, _ adopt.Terms, _ bool) (int, error) {
	f.calls = append(f.calls, copies)
	return 0, nil
}

// A step looks at some copies, and the pass at all of them, each once an hour.
func TestQuarantineLooksForCopiesInSteps(t *testing.T) {
	rows, copies := &found{}, &listed{copies: 205}
	q := &adopt.Quarantine{Rows: rows, Copies: copies, Boot: &clock{1}, Batch: 9}
	for _, want := range []int{3, 1} { // passes: 90, 90 and 25 copies; the record only
		steps, pass := 0, q.Pass("w")
		for more := true; more; steps++ {
			before := copies.seen
			var err error
			if more, err = pass(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if n := copies.seen - before; n > 90 {
				t.Errorf("one step looked at %d copies", n)
			}
		}
		if steps != want {
			t.Errorf("a pass took %d steps, want %d", steps, want)
		}
	}
	keys := map[string]bool{}
	for _, call := range rows.calls {
		for _, c := range call {
			keys[c.Key] = true
		}
		if len(call) > 9 {
			t.Errorf("%d were recorded at once", len(call))
		}
	}
	if len(keys) != copies.copies || copies.seen != copies.copies {
		t.Errorf("%d copies of %d were looked at, %d listed", len(keys), copies.copies, copies.seen)
	}
}

// shelf is objects, or copies, of a service that fails on request.
type shelf struct {
	bytes map[string]string
	blind bool   // it cannot be read
	half  bool   // a copy to it keeps half the bytes
	wrong bool   // a copy to it has other bytes of the same length
	read  int    // how often one was opened
	md5   bool   // it returns MD5s
	deaf  bool   // a delete has no response and no effect yet
	odd   string // a key that cannot be looked at
	user  string // the metadata that all of it has, or was copied last
}

func (s *shelf) StatForeign(_ context.Context, key string) (blob.ForeignInfo, error) {
	text, ok := s.bytes[key]
	switch {
	case s.blind:
		s.blind = false
		return blob.ForeignInfo{}, blob.ErrDown
	case key == s.odd && key != "":
		return blob.ForeignInfo{}, errors.New("400 Bad Request")
	case !ok:
		return blob.ForeignInfo{}, blob.ErrNotExist
	}
	info := blob.ForeignInfo{Info: blob.Info{Key: key, Size: int64(len(text))}, Tag: text, User: map[string]string{"colour": s.user}}
	if s.md5 {
		info.MD5 = text
	}
	return info, nil
}

func (s *shelf) OpenForeign(_ context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	s.read++
	return io.NopCloser(strings.NewReader(s.bytes[seen.Key])), nil
}

func (s *shelf) CopyForeign(_ context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, _ bool) error {
	text := from.(*shelf).bytes[seen.Key]
	s.user = seen.User["colour"]
	if s.half {
		text = text[:len(text)/2]
	}
	if s.wrong {
		text = strings.Repeat("x", len(text))
	}
	s.bytes[key] = text
	return nil
}

func (s *shelf) Delete(_ context.Context, keys []string) ([]blob.Result, error) {
	if s.deaf {
		return nil, blob.ErrUnknown
	}
	results := make([]blob.Result, len(keys))
	for i, key := range keys {
		delete(s.bytes, key)
		results[i].Key = key
	}
	return results, nil
}

// A copy that cannot be read is not written again: a delete in flight may take
// the object. One that is missing, or different, is.
func TestQuarantineKeepsACopyItCannotSee(t *testing.T) {
	const key, text = "content/a", "some bytes"
	for name, c := range map[string]struct {
		copied string
		blind  bool
		want   string
	}{
		"it cannot be looked at": {text, true, text},
		"it was replaced":        {"others", false, text[:len(text)/2]},
		"it was removed":         {"", false, text[:len(text)/2]},
	} {
		objects := &shelf{bytes: map[string]string{"a": text}, deaf: true}
		copies := &shelf{bytes: map[string]string{}}
		now := &clock{1e15}
		q := &adopt.Quarantine{
			Prefix: "content/", Into: "kept/", Objects: objects, Copies: copies, Grace: adopt.DefaultGrace, Retention: time.Hour, Boot: now,
			Rows: memadopt.New(memadopt.Options{Clock: now, Quarantine: true}).Quarantine(),
		}
		if _, err := q.Delete(t.Context(), []string{key}); !errors.Is(err, blob.ErrUnknown) || copies.bytes[key] != text {
			t.Fatalf("the copy holds %q: %v", copies.bytes[key], err)
		}
		if copies.bytes[key] = c.copied; c.copied == "" {
			delete(copies.bytes, key)
		}
		copies.blind, copies.half = c.blind, true
		if results, _ := q.Delete(t.Context(), []string{key}); results[0].Err == nil {
			t.Errorf("%s: the object was deleted", name)
		}
		if copies.bytes[key] != c.want {
			t.Errorf("%s: the copy holds %q, want %q", name, copies.bytes[key], c.want)
		}
	}
}

// An object whose copy the service does not vouch for goes only after both were
// read; so does the copy of a restored object. What the service vouches for is
// not read.
func TestAQuarantineReadsWhatTheServiceDoesNotReport(t *testing.T) {
	const key, text = "content/a", "some bytes"
	for _, md5 := range []bool{false, true} {
		objects, copies := &shelf{bytes: map[string]string{"a": text}, md5: md5}, &shelf{bytes: map[string]string{}, md5: md5, wrong: true}
		now := &clock{1e15}
		q := &adopt.Quarantine{
			Prefix: "content/", Into: "kept/", Objects: objects, Copies: copies, Grace: adopt.DefaultGrace, Retention: time.Hour, Boot: now, Batch: 10,
			Rows: memadopt.New(memadopt.Options{Clock: now, Quarantine: true}).Quarantine(),
		}
		reads := func(want int) {
			t.Helper()
			if md5 {
				want = 0
			}
			if objects.read != want || copies.read != want {
				t.Errorf("MD5 is reported: %v: %d objects and %d copies were read, want %d", md5, objects.read, copies.read, want)
			}
		}
		if results, err := q.Delete(t.Context(), []string{key}); err != nil || results[0].Err == nil || blob.Unknown(results[0].Err) || objects.bytes["a"] != text {
			t.Errorf("MD5 is reported: %v: an object went whose copy has other bytes: %v, %v", md5, results, err)
		}
		reads(1)
		now.now = now.now.Add(adopt.DefaultGrace.Landed())
		copies.wrong = false
		if results, err := q.Delete(t.Context(), []string{key}); err != nil || results[0].Err != nil || objects.bytes["a"] != "" || copies.bytes[key] != text {
			t.Errorf("MD5 is reported: %v: it was not moved: %v, %v", md5, results, err)
		}
		reads(2)
		objects.wrong = true
		if err := q.Restore(t.Context(), key); err != nil {
			t.Error(err)
		}
		reads(3)
		if page, err := q.Rows.Page(t.Context(), "", 1); err != nil || len(page.Objects) != 1 || page.Objects[0].State != adopt.Restoring {
			t.Errorf("MD5 is reported: %v: the copy of what came back as other bytes is removed: %+v, %v", md5, page, err)
		}
	}
}

// A folder is separate, by its whole path, and not inside another one.
func TestBucketsOnADisk(t *testing.T) {
	for buckets, want := range map[string]string{
		"{b: {path: /srv/media}}":                                "",
		"{b: {path: /srv/media}, c: {path: /srv/music}}":         "",
		"{b: {path: srv/media}}":                                 "no whole path",
		"{b: {path: /srv/media, bucket: b}}":                     "stands alone",
		"{b: {region: x}}":                                       "neither bucket nor path",
		"{b: {path: /srv/media}, c: {path: /srv}}":               "contain each other",
		"{b: {path: /srv/media}, c: {path: /srv/media/music/}}":  "contain each other",
		"{b: {path: /srv/media/}, c: {path: /srv/../srv/media}}": "",
	} {
		text := "database: postgres://x/y\nbuckets: " + buckets + `
collections:
  a: {kind: keys, bucket: b, prefix: a/, keys: {query: SELECT k FROM t}}
`
		_, err := parse(t, text, nil)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", buckets, err, want)
		}
	}
	_, err := parse(t, `database: postgres://x/y
buckets: {b: {path: /srv/media/}, c: {path: /srv/media}}
collections:
  a: {kind: keys, bucket: b, prefix: a/, keys: {query: SELECT k FROM t}}
  c: {kind: keys, bucket: c, prefix: a/b/, keys: {query: SELECT k FROM t}}
`, nil)
	if err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("one folder under two names: %v", err)
	}
}

// The quarantine's place overlaps nothing else in the description.
func TestQuarantineSpecs(t *testing.T) {
	const records = `kind: records, rows: {table: r, key: k, end: e, content: c}, contents: {table: t, key: c, object: "{o}"}`
	for _, c := range []struct{ a, b, want string }{
		{records + `, guard: quarantine, quarantine: {prefix: kept/}`, ``, ``},
		{records + `, guard: quarantine`, ``, "where objects are moved"},
		{records + `, guard: trigger, quarantine: {prefix: kept/}`, ``, "with guard: quarantine"},
		{records + `, guard: quarantine, quarantine: {prefix: a/kept/}`, ``, "contain each other"},
		{records + `, guard: quarantine, quarantine: {prefix: kept}`, ``, "slash"},
		{records + `, guard: quarantine, quarantine: {prefix: kept/, retention: 0s}`, ``, "retention"},
		{`rows: {table: r, key: k, end: e, objects: ["{o}"]}, guard: quarantine, quarantine: {prefix: kept/}`, ``, "kind keys"},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, ``},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: b/kept/}`, `kind: keys, keys: {query: SELECT k FROM t}`, "overlap"},
		{`kind: keys, keys: {query: SELECT k FROM t}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: a/kept/}`, "overlap"},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/b/}`, "quarantines"},
		{`kind: folders, folders: {depth: 1, live: {query: SELECT n FROM t}}, quarantine: {prefix: kept/}`, ``, "belong to records"},
	} {
		text := fmt.Sprintf("database: postgres://x/y\nbuckets: {b: {bucket: b}}\ncollections:\n  a: {bucket: b, prefix: a/, %s}\n", c.a)
		if c.b != "" {
			text += fmt.Sprintf("  b: {bucket: b, prefix: b/, %s}\n", c.b)
		}
		_, err := parse(t, text, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
}
