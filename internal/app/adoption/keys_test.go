package adoption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// files is an application with a row for each of its objects.
type files struct {
	*Adoption
	t      *testing.T
	db     *pgxpool.Pool
	s3     *s3.Client
	bucket string

	gateway *servers.S3Server
}

// newFiles describes the application; edit changes the rules.
func newFiles(t *testing.T, edit func(*adopt.KeySpec)) *files {
	t.Helper()
	return newCollection(t, edit, adopt.Collection{})
}

// newCollection describes the application in a collection with more settings.
func newCollection(t *testing.T, edit func(*adopt.KeySpec), c adopt.Collection) *files {
	t.Helper()
	gateway, database := servers.NewVersityGW(t), servers.Postgres(t)
	f := &files{t: t, s3: gateway.Client(), bucket: gateway.Bucket(t), gateway: gateway}
	var err error
	if f.db, err = pgxpool.New(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	f.exec(`CREATE TABLE files (id int PRIMARY KEY, object_key text)`)
	now, hour := adopt.Duration(0), adopt.Duration(time.Hour)
	spec := adopt.KeySpec{Query: "SELECT object_key FROM files", MinAge: &now, Retention: &hour}
	if edit != nil {
		edit(&spec)
	}
	c.Kind, c.Mode, c.Bucket, c.Prefix, c.Keys = adopt.OfKeys, adopt.Reclaim, "main", "files/", &spec
	d := &adopt.Description{
		Database: database,
		Buckets: map[string]adopt.BucketSpec{"main": {
			Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: f.bucket, AccessKey: gateway.Access, SecretKey: gateway.Secret, PathStyle: true,
		}},
		Collections: map[string]adopt.Collection{"files": c},
	}
	if f.Adoption, err = Open(t.Context(), d, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *files) exec(text string, args ...any) {
	f.t.Helper()
	if _, err := f.db.Exec(f.t.Context(), text, args...); err != nil {
		f.t.Fatal(err)
	}
}

// put stores objects below files/, and row inserts rows that name them.
func (f *files) put(names ...string) {
	f.t.Helper()
	for _, n := range names {
		key := "files/" + n
		if _, err := f.s3.PutObject(f.t.Context(), &s3.PutObjectInput{Bucket: &f.bucket, Key: &key, Body: strings.NewReader(n)}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// lose removes an object as a delete of another program does.
func (f *files) lose(name string) {
	f.t.Helper()
	if _, err := f.s3.DeleteObject(f.t.Context(), &s3.DeleteObjectInput{Bucket: &f.bucket, Key: aws.String("files/" + name)}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *files) row(names ...string) {
	f.t.Helper()
	for _, n := range names {
		f.exec(`INSERT INTO files SELECT coalesce(max(id), 0) + 1, $1 FROM files`, "files/"+n)
	}
}

// waited lets the retention of recorded objects pass.
func (f *files) waited() { f.exec(`UPDATE lethe.orphans SET since_at = since_at - 7200000000`) }

// ranBefore records a run: the first one deletes nothing.
func (f *files) ranBefore() { f.exec(`INSERT INTO lethe.live_rows VALUES ('files', 1, 1)`) }

// passes runs the comparison and checks its counts.
func (f *files) passes(want map[string]int64) {
	f.t.Helper()
	counts, err := f.Loop.Once(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for what, n := range want {
		if got := counts["keys files"][what]; got != n {
			f.t.Errorf("%s: %d, want %d of %v", what, got, n, counts)
		}
	}
}

// left checks which objects exist.
func (f *files) left(names ...string) {
	f.t.Helper()
	got := keysIn(f.t, f.s3, f.bucket)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "files/")
	}
	if !slices.Equal(got, names) {
		f.t.Errorf("there are %q, want %q", got, names)
	}
}

// An object without a row goes after the retention, unless it got a row or was
// overwritten meanwhile. A row without its object is reported.
func TestKeysBothWays(t *testing.T) {
	odd := "m ü?%2F+&.txt"
	f := newFiles(t, nil)
	f.put("a", "b", odd, "orphan", "rescued", "z")
	f.row("a", "b", odd, "lost", "z")
	f.passes(map[string]int64{"orphans": 2, "objects": 0, "missing": 1})
	f.left("a", "b", odd, "orphan", "rescued", "z")
	f.waited()
	f.row("rescued")
	f.passes(map[string]int64{"orphans": 1, "objects": 1, "missing": 1})
	f.left("a", "b", odd, "rescued", "z")
	f.passes(map[string]int64{"orphans": 0, "objects": 0})
	var receipts int
	if err := f.db.QueryRow(t.Context(), `SELECT count(*) FROM lethe.receipts WHERE keys LIKE '%files/orphan%'`).Scan(&receipts); err != nil || receipts != 1 {
		t.Errorf("%d receipts, %v, want 1", receipts, err)
	}
}

// Objects that lie in no folder have the whole bucket, where what Lethe keeps is no orphan.
func TestKeysOfAWholeBucket(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "orphan", "narrower/.lethe/epoch/1")
	f.row("a")
	c := f.Description.Collections["files"]
	c.Prefix = ""
	f.Description.Collections["files"] = c
	again, err := Open(t.Context(), f.Description, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	f.Adoption = again
	f.passes(map[string]int64{"orphans": 1, "missing": 0})
	f.waited()
	f.passes(map[string]int64{"orphans": 1, "objects": 1})
	f.left("a")
	if err := f.Unknown([]string{"files"}, "x"); !strings.Contains(err.Error(), `would belong to collection files, below the prefix "/"`) {
		t.Error(err)
	}
}

// An orphan that is overwritten starts its retention again.
func TestKeysPutAnew(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "orphan")
	f.row("a")
	f.passes(map[string]int64{"orphans": 1})
	f.waited()
	// As if it had been put before: the bucket returns whole seconds.
	f.exec(`UPDATE lethe.orphans SET modified = modified - 1000000`)
	f.passes(map[string]int64{"orphans": 1, "objects": 0})
	f.left("a", "orphan")
}

// Without rows, or with suddenly far fewer, nothing is touched.
func TestKeysFewRows(t *testing.T) {
	none := adopt.Duration(0)
	f := newFiles(t, func(s *adopt.KeySpec) { s.Retention = &none })
	f.put("a", "b", "c", "d")
	if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrFewRows) {
		t.Fatalf("no rows: %v", err)
	}
	f.row("a", "b", "c", "d")
	f.passes(map[string]int64{"orphans": 0})
	f.exec(`DELETE FROM files WHERE object_key <> 'files/a'`)
	if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrFewRows) {
		t.Fatalf("a quarter of the rows: %v", err)
	}
	f.left("a", "b", "c", "d")
	f.exec(`UPDATE files SET object_key = '/' || object_key`)
	f.exec(`INSERT INTO files SELECT n, '/files/' || n FROM generate_series(100, 200) AS n`)
	if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrFewRows) {
		t.Fatalf("rows name keys elsewhere: %v", err)
	}
	f.left("a", "b", "c", "d")
}

// Keys that rows have in the spelling of URLs would make orphans of live objects, which are
// too few for the part that has to be named.
func TestKeysSpelledAsInURLs(t *testing.T) {
	f := newFiles(t, nil)
	all := []string{"a", "b", "c", "my cat", "x y"}
	f.put(all...)
	f.row("a", "b", "c", "my%20cat", "x y", "x%20y", "50%25 lost")
	for range 2 {
		if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) || !strings.Contains(err.Error(), `names "files/my%20cat", and the bucket has "files/my cat"`) {
			t.Errorf("a key with %%20: %v", err)
		}
		f.waited()
	}
	f.left(all...)
	found, err := f.Check(t.Context())
	if text := fmt.Sprint(found["files"]); err != nil || !adopt.Problems(found["files"]) || !strings.Contains(text, "rows spell keys otherwise than the bucket") {
		t.Errorf("a check finds %s, %v", text, err)
	}
	f.exec(`UPDATE files SET object_key = 'files/my+cat' WHERE object_key = 'files/my%20cat'`)
	if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) {
		t.Errorf("a key with a plus: %v", err)
	}
	f.exec(`UPDATE files SET object_key = 'files/my cat' WHERE object_key = 'files/my+cat'`)
	f.passes(map[string]int64{"orphans": 0, "missing": 2})
}

// As do keys that a client escaped before it put them, which escaped them once more, in whatever
// way. An object whose key could be read as that of a row with an object is an orphan.
func TestObjectsSpelledAsInURLs(t *testing.T) {
	for row, object := range map[string]string{
		"my cat": "my%20cat", "x y": "x+y", "a/b (1)": "a%2Fb%20(1)", "c/d+1 (2)": "c/d%2B1%20%282%29", "c&d e": "c&d%20e", "f~g h": "f%7Eg+h",
		"e/f": "e%2ff", "caf\u00e9": "cafe%CC%81", "m+n": "m%2Bn", strings.Repeat("\u043a", 60) + ".pdf": strings.Repeat("%D0%BA", 30) + strings.Repeat("\u043a", 30) + ".pdf",
	} {
		f := newFiles(t, nil)
		f.put("1", "2", "3", object)
		f.row("1", "2", "3", row)
		for range 2 {
			if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) || !strings.Contains(err.Error(), fmt.Sprintf("the bucket has %+q", "files/"+object)) {
				t.Errorf("a row names %+q, the object is %q: %v", row, object, err)
			}
			f.waited()
		}
		all := []string{"1", "2", "3", object}
		slices.Sort(all)
		f.left(all...)
	}
	f := newFiles(t, nil)
	f.put("1", "2", "3", "my cat", "my%20cat")
	f.row("1", "2", "3", "my cat")
	f.passes(map[string]int64{"orphans": 1})
}

// As do keys that a client put in another form of Unicode than the rows have: macOS sends an é
// as e and an accent.
func TestKeysInAnotherFormOfUnicode(t *testing.T) {
	const composed, decomposed = "caf\u00e9", "cafe\u0301"
	for _, c := range []struct{ row, object string }{{composed, decomposed}, {decomposed, composed}, {"caf%C3%A9", decomposed}} {
		f := newFiles(t, nil)
		f.put("a", "b", "c", c.object)
		f.row("a", "b", "c", c.row)
		for range 2 {
			if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) || !strings.Contains(err.Error(), fmt.Sprintf("the bucket has %+q", "files/"+c.object)) {
				t.Errorf("a row names %+q: %v", c.row, err)
			}
			f.waited()
		}
		f.left("a", "b", "c", c.object)
		f.exec(`UPDATE files SET object_key = $1 WHERE object_key = $2`, "files/"+c.object, "files/"+c.row)
		f.passes(map[string]int64{"orphans": 0, "missing": 0})
	}
}

// Rows that come to be spelled so after runs without fault keep their objects too.
func TestKeysSpelledAsInURLsLater(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "b")
	f.row("a", "b")
	f.passes(map[string]int64{"orphans": 0, "missing": 0})
	f.put("my cat")
	f.row("my%20cat")
	for range 3 {
		if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) {
			t.Errorf("a key with %%20: %v", err)
		}
		f.waited()
	}
	f.left("a", "b", "my cat")
}

// An object that was an orphan for the retention and then gets a row that is spelled so stays,
// whether a run or a plan finds it.
func TestKeysSpelledAsInURLsAtTheEndOfTheRetention(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "b", "my cat")
	f.row("a", "b")
	f.passes(map[string]int64{"orphans": 1})
	f.waited()
	file, items := planOf(t, f.Adoption)
	f.row("my%20cat")
	if applied, err := f.Apply(t.Context(), file, ApplyOptions{}); items != 1 || !errors.Is(err, adopt.ErrSpelled) {
		t.Errorf("a plan of %d: applied %+v, %v", items, applied, err)
	}
	f.left("a", "b", "my cat")
	f.waited()
	if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrSpelled) {
		t.Errorf("a run: %v", err)
	}
	f.left("a", "b", "my cat")
}

// A query that leaves out most of what lies in the bucket removes nothing,
// however long that lasts. It is right if the description says so.
func TestKeysOfAQueryThatLeavesMostOut(t *testing.T) {
	least := 0.5
	f := newFiles(t, func(s *adopt.KeySpec) { s.Least = &least })
	all := []string{"a"}
	for i := range 10 {
		all = append(all, fmt.Sprint("forgotten ", i))
	}
	f.put(all...)
	f.row("a")
	for range 3 {
		if _, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrFewRows) {
			t.Fatalf("a row for one of eleven objects: %v", err)
		}
		f.waited()
	}
	f.left(all...)
	found, err := f.Check(t.Context())
	if text := fmt.Sprint(found["files"]); err != nil || !adopt.Problems(found["files"]) || !strings.Contains(text, "names 1 of 11 objects") || !strings.Contains(text, "keys.least to 0.09") {
		t.Errorf("a check finds %s, %v", text, err)
	}
	least = 0.09
	if found, err = f.Check(t.Context()); err != nil || adopt.Problems(found["files"]) || !strings.Contains(fmt.Sprint(found["files"]), "without one: 10 (") {
		t.Errorf("a check of what is right finds %v, %v", found, err)
	}
	k, err := f.Keys(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	runs := k.Pass("")
	for range 2 {
		if _, err := runs(t.Context(), func(string, int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	f.left("a")
}

// Objects with ambiguous names stay, and stop nothing.
func TestKeysThatAreNoKeys(t *testing.T) {
	none := adopt.Duration(0)
	f := newFiles(t, func(s *adopt.KeySpec) { s.Retention = &none })
	f.put("a", "orphan")
	f.row("a")
	for _, name := range []string{"line\nbreak", "b\\slash"} {
		if err := os.WriteFile(f.gateway.Path(f.bucket, "files/"+name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.ranBefore()
	f.passes(map[string]int64{"orphans": 1, "objects": 1})
	f.passes(map[string]int64{"orphans": 0, "objects": 0})
}

// A run deletes a bounded number of objects.
func TestKeysMost(t *testing.T) {
	none := adopt.Duration(0)
	f := newFiles(t, func(s *adopt.KeySpec) { s.Retention, s.Most = &none, 2 })
	f.put("a", "b", "c", "d")
	f.row("a")
	f.ranBefore()
	f.passes(map[string]int64{"orphans": 3, "objects": 2})
	f.left("a", "d")
}

// lagging is a bucket whose clock is behind.
type lagging struct {
	bucket
	by time.Duration
}

// Get implements blob.Store.
func (l lagging) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	return l.bucket.(blob.Store).Get(ctx, key, offset, length)
}

// Stat implements adopt.Stater.
func (l lagging) Stat(ctx context.Context, key string) (blob.Info, error) {
	info, err := l.bucket.Stat(ctx, key)
	info.ModTime = info.ModTime.Add(-l.by)
	return info, err
}

// Objects of a bucket whose clock is behind look older than they are: a check
// reports that. By min_age it is a problem: uploads in progress look like orphans.
func TestCheckReadsTheBucketsClock(t *testing.T) {
	hour := adopt.Duration(time.Hour)
	f := newFiles(t, func(s *adopt.KeySpec) { s.MinAge = &hour })
	f.put("a")
	f.row("a")
	store, err := f.Adoption.bucket(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{0, 5 * time.Minute, 2 * time.Hour} {
		f.buckets.open[folder{"files", "files/"}] = lagging{store, by}
		found, err := f.Check(t.Context())
		if told := strings.Contains(fmt.Sprint(found), "the bucket's clock differs from the database's by -"); err != nil || told != (by > 0) {
			t.Errorf("behind by %s: %v, %v", by, found, err)
		}
		if blind := adopt.Problems(found["files"]); blind != (by > time.Hour) {
			t.Errorf("behind by %s: %+v", by, found["files"])
		}
	}
	f.left("a")
}

// A young object is not an orphan, and a report changes nothing.
func TestKeysReport(t *testing.T) {
	hour := adopt.Duration(time.Hour)
	f := newFiles(t, func(s *adopt.KeySpec) { s.MinAge = &hour })
	f.put("a", "young")
	f.row("a", "lost")
	f.passes(map[string]int64{"orphans": 0})
	k, err := f.Keys(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	k.Rules.MinAge = 0
	reports(t, k)
	var known int
	if err := f.db.QueryRow(t.Context(), `SELECT count(*) FROM lethe.orphans`).Scan(&known); err != nil || known != 0 {
		t.Errorf("%d orphans are on record, %v", known, err)
	}
	if err := f.Remove(t.Context(), false); err != nil { // as before the first run
		t.Fatal(err)
	}
	reports(t, k)
	explains(t, f.Adoption, "files", "files/a", "a row names object files/a")
	if installed, err := f.DB.Installed(t.Context()); err != nil || installed {
		t.Errorf("a report makes Lethe's tables: %v, %v", installed, err)
	}
}

// reports checks for an orphan and a missing object.
func reports(t *testing.T, k *adopt.Keys) {
	t.Helper()
	var orphans, missing []string
	err := k.Report(t.Context(), func(list []adopt.OrphanObject) {
		for _, o := range list {
			orphans = append(orphans, fmt.Sprint(o.Key, " ", o.Size))
		}
	}, func(keys []string) { missing = append(missing, keys...) })
	if err != nil || !slices.Equal(orphans, []string{"files/young 5"}) || !slices.Equal(missing, []string{"files/lost"}) {
		t.Errorf("orphans %q, missing %q, %v", orphans, missing, err)
	}
}

// A collection has one store: what it has learned of its service is reused.
func TestBucketsAreOpenedOnce(t *testing.T) {
	f := newFiles(t, nil)
	if _, err := f.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, err := f.Keys(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	store, err := f.Adoption.bucket(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	if k.Store != adopt.KeyStore(store) || store.(*s3blob.Store).Capabilities().ProbedAt == 0 {
		t.Error("a store was opened anew, and knows nothing of its service")
	}
}
