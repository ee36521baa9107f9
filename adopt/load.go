package adopt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// Load reads a file and replaces variables; lookup is os.LookupEnv.
func Load(path string, lookup func(string) (string, bool)) (*Description, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return read(yamlfile.New(path, text), lookup)
}

// Parse reads a description. Its errors name each problem and its place.
func Parse(text []byte, lookup func(string) (string, bool)) (*Description, error) {
	return read(yamlfile.New("description", text), lookup)
}

func read(file *yamlfile.File, lookup func(string) (string, bool)) (*Description, error) {
	d := Description{Tracing: TracingSpec{SampleRatio: 0.1}}
	file.Decode(&d, "")
	if len(file.Problems) > 0 {
		return nil, errors.New(strings.Join(file.Problems, "\n"))
	}
	wrong := d.fill(lookup)
	if len(wrong) == 0 {
		if err := d.environment(lookup); err != nil {
			return nil, err
		}
		wrong = d.check()
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(file.Locate(wrong), "\n"))
	}
	for name, c := range d.Collections {
		c.Prefix = c.start()
		d.Collections[name] = c
	}
	d.file = file
	return &d, nil
}

// problems are the errors in a part of a description, each "key: text".
type problems []string

func (p *problems) add(key, format string, args ...any) {
	*p = append(*p, key+": "+fmt.Sprintf(format, args...))
}

// below returns the problems of a key's value.
func (p problems) below(key string) problems {
	for i := range p {
		p[i] = key + "." + p[i]
	}
	return p
}

// fill replaces variables of the environment.
func (d *Description) fill(lookup func(string) (string, bool)) (wrong problems) {
	fill := func(key string, s *string) {
		*s = variable.ReplaceAllStringFunc(*s, func(v string) string {
			name := v[2 : len(v)-1]
			value, ok := lookup(name)
			if !ok {
				wrong.add(key, "the environment has no variable %s: set it, or write the value itself", name)
			}
			return value
		})
	}
	fill("database", &d.Database)
	fill("redis", &d.Redis)
	fill("tracing.endpoint", &d.Tracing.Endpoint)
	fill("audit", &d.Audit)
	for _, name := range slices.Sorted(maps.Keys(d.Buckets)) {
		b, at := d.Buckets[name], "buckets."+name+"."
		for key, s := range map[string]*string{"path": &b.Path, "endpoint": &b.Endpoint, "region": &b.Region, "bucket": &b.Bucket, "access_key": &b.AccessKey, "secret_key": &b.SecretKey} {
			fill(at+key, s)
		}
		d.Buckets[name] = b
	}
	slices.Sort(wrong)
	return wrong
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Names returns the names of the collections in order.
func (d *Description) Names() []string { return slices.Sorted(maps.Keys(d.Collections)) }

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// check reports all errors in a description by itself.
func (d *Description) check() (wrong problems) {
	if d.Database == "" {
		wrong.add("database", "no URL; write one such as postgres://user@host/name, or ${DATABASE_URL}")
	}
	if len(d.Collections) == 0 {
		wrong.add("collections", "none; describe some as docs/adopting.md says (\"lethe adopt init\" proposes what it finds)")
	}
	for _, name := range d.Names() {
		key := "collections." + name
		if !collectionName.MatchString(name) {
			wrong.add(key, "a name has 1 to 40 lower-case letters, digits and underscores, and begins with a letter: write one such as pastes")
		}
		wrong = append(wrong, d.Collections[name].check(d).below(key)...)
	}
	return slices.Concat(wrong, d.checkBuckets(), d.overlaps())
}

// checkBuckets reports errors in buckets by themselves. A folder inside another
// would bypass the prefixes of collections.
func (d *Description) checkBuckets() (wrong problems) {
	names := slices.Sorted(maps.Keys(d.Buckets))
	for i, name := range names {
		b, key := d.Buckets[name], "buckets."+name
		switch {
		case b.Path == "" && b.Bucket == "":
			wrong.add(key, "neither bucket nor path is named: write the name of a bucket of an S3 service (bucket), or the folder of a disk (path)")
		case b.Path != "" && b != BucketSpec{Path: b.Path}:
			wrong.add(key, "path stands alone: a folder on a disk has no endpoint, bucket or keys; leave them or path out")
		case b.Path != "" && !filepath.IsAbs(b.Path):
			wrong.add(key+".path", "%q is no whole path: write one from the root, such as /srv/media", b.Path)
		}
		for _, other := range names[i+1:] {
			o := d.Buckets[other]
			if b.Path != "" && o.Path != "" && !b.Same(o) && nested(filepath.Clean(b.Path)+"/", filepath.Clean(o.Path)+"/") {
				wrong.add("buckets."+other+".path", "the folders %s of bucket %s and %s contain each other; name the outer one, and tell them apart by the prefixes of collections", b.Path, name, o.Path)
			}
		}
	}
	return wrong
}

// Same reports whether two specs are of one bucket, whatever their names and
// keys.
func (b BucketSpec) Same(other BucketSpec) bool {
	if b.Path != "" || other.Path != "" {
		return filepath.Clean(b.Path) == filepath.Clean(other.Path)
	}
	return b.Bucket == other.Bucket && b.Service() == other.Service()
}

// Service returns which service an endpoint is of, however it is written.
func (b BucketSpec) Service() string {
	u, err := url.Parse(b.Endpoint)
	if err != nil {
		return b.Endpoint
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	switch {
	case host == "", strings.HasSuffix(host, ".amazonaws.com"):
		return "amazonaws.com" // there the name of a bucket is unique
	case host == "localhost", host == "::1":
		host = "127.0.0.1"
	}
	if port == "80" || port == "443" {
		port = ""
	}
	return host + ":" + port
}

// overlaps reports collections that could delete each other's objects.
func (d *Description) overlaps() (wrong problems) {
	names := d.Names()
	for i, a := range names {
		for _, b := range names[i+1:] {
			x, y := d.Collections[a], d.Collections[b]
			if x.Bucket == "" || y.Bucket == "" || !d.Buckets[x.Bucket].Same(d.Buckets[y.Bucket]) {
				continue
			}
			wrong = append(wrong, x.Quarantine.meets(b, y).below("collections."+a)...)
			wrong = append(wrong, y.Quarantine.meets(a, x).below("collections."+b)...)
			if nested(x.start(), y.start()) {
				wrong.add("collections."+b+".prefix", "%q overlaps %q of collection %s in the same bucket (%s): the prefixes contain each other; give each collection its own", y.Prefix, x.Prefix, a, x.Bucket)
			}
		}
	}
	return wrong
}

func (c Collection) check(d *Description) (wrong problems) {
	if c.Mode != "" && c.Mode != Report && c.Mode != Reclaim {
		wrong.add("mode", "%q is not known: write report or reclaim", c.Mode)
	}
	wrong = append(wrong, c.checkSchedule()...)
	switch {
	case c.Kind == OfFolders:
		return append(wrong, c.checkFolders(d)...)
	case c.Kind == OfKeys:
		return append(wrong, c.checkKeys(d)...)
	case c.Kind != "" && c.Kind != OfRecords:
		wrong.add("kind", "%q is not known: write records, folders or keys", c.Kind)
	case c.Keys != nil:
		wrong.add("keys", "they belong to a collection of kind: keys; write that, or leave them out")
	case c.Folders != nil:
		wrong.add("folders", "they belong to a collection of kind: folders; write that, or leave them out")
	}
	if c.Batch < 0 || c.Batch > 10_000 {
		wrong.add("batch", "%d does not lie between 1 and 10000", c.Batch)
	}
	if c.Workers < 0 || c.Workers > 64 {
		wrong.add("workers", "%d does not lie between 1 and 64", c.Workers)
	}
	if c.Limit < 0 {
		wrong.add("limit", "%d is below 0; 0 stands for no limit", c.Limit)
	}
	if c.RatePerSecond < 0 {
		wrong.add("rate_per_second", "%d is below 0; 0 stands for no limit", c.RatePerSecond)
	}
	if c.Guard != "" && c.Guard != NoGuard && c.Guard != TriggerGuard && c.Guard != QuarantineGuard {
		wrong.add("guard", "%q is not known: write none, trigger or quarantine", c.Guard)
	}
	return slices.Concat(wrong, c.checkNumbered(), c.Rows.check().below("rows"), c.checkRedis(d), c.checkContents(d), c.checkQuarantine(), c.checkGrace())
}

// checkSchedule reports times at which nothing can begin.
func (c Collection) checkSchedule() (wrong problems) {
	if _, err := c.Schedule.Times(); err != nil {
		wrong.add("schedule", "%v", strings.TrimPrefix(err.Error(), "schedule: "))
	}
	return wrong
}

// ZoneOffset is a time zone that is an offset from UTC, east of it with +.
var ZoneOffset = regexp.MustCompile(`^[+-](0\d|1[0-3]):[0-5]\d$`)

// check reports errors in rows by themselves.
func (r Rows) check() (wrong problems) {
	for _, c := range []struct{ key, value, means string }{
		{"table", r.Table, "the table of the rows that expire"}, {"key", r.Key, "the column of their primary key"}, {"end", r.End, "the column of the instant at which a row ends"},
	} {
		if c.value == "" {
			wrong.add(c.key, "is missing: write %s", c.means)
		}
	}
	if s := r.Status; s != nil && (s.Column == "" || s.Live == "" || s.Claimed == "") {
		wrong.add("status", "column, live and claimed have to be named: the column, and its values for a row that lives and one that is claimed")
	}
	if s := r.Status; s != nil && s.Live != "" && (s.Live == s.Claimed || s.Live == s.Deleted || s.Claimed == s.Deleted) {
		wrong.add("status", "live, claimed and deleted have to differ: a row would be taken again and again")
	}
	if r.Status != nil && r.Initiated == "" {
		wrong.add("initiated", "is missing: beside a status, write the column of the time of a claim")
	}
	if r.Status == nil && r.Initiated != "" {
		wrong.add("initiated", "%q stands without a status: write the status column as well, or leave both out", r.Initiated)
	}
	if _, err := time.LoadLocation(r.Zone); err != nil && !ZoneOffset.MatchString(r.Zone) {
		wrong.add("zone", "%q is no time zone: write one such as Europe/Berlin, UTC or +02:00", r.Zone)
	}
	if r.Unit != "" && r.Unit != "s" && r.Unit != "ms" && r.Unit != "us" {
		wrong.add("unit", "%q is not known: write s, ms or us, what the numbers of the end count since 1970", r.Unit)
	}
	return wrong
}

// checkRedis reports uses of a cache that is not configured.
func (c Collection) checkRedis(d *Description) (wrong problems) {
	if c.Lock && c.Rows.Status == nil {
		wrong.add("lock", "without a status there are no claims to take turns: leave it out")
	}
	if c.Lock && d.Redis == "" {
		wrong.add("lock", "the file names no redis: write its URL above the collections (redis), or leave lock out")
	}
	if len(c.Cache) > 0 && d.Redis == "" {
		wrong.add("cache", "the file names no redis: write its URL above the collections (redis), or leave cache out")
	}
	for i, text := range c.Cache {
		if _, err := ParseTemplate(text); err != nil {
			wrong.add(fmt.Sprintf("cache[%d]", i), "%v", err)
		}
	}
	return wrong
}

func (c Collection) checkContents(d *Description) (wrong problems) {
	t := c.Contents
	if len(c.Rows.Objects) > 0 {
		return c.checkOwned(d)
	}
	if t == nil {
		if c.Rows.Content != "" {
			wrong.add("rows.content", "names a column, but there are no contents: describe their table (contents), or leave it out")
		}
		return wrong
	}
	for _, v := range []struct{ key, value, means string }{
		{"contents.table", t.Table, "the table of contents"}, {"contents.key", t.Key, "the column of their primary key"},
		{"contents.object", t.Object, "a template of keys in the bucket, such as \"{object_key}\""}, {"rows.content", c.Rows.Content, "the column of the rows that names a content"},
	} {
		if v.value == "" {
			wrong.add(v.key, "is missing: write %s", v.means)
		}
	}
	if t.Object != "" {
		wrong = append(wrong, c.checkTemplate("contents.object", t.Object)...)
	}
	return append(wrong, c.checkBucket(d)...)
}

// checkOwned reports errors in objects that belong to rows.
func (c Collection) checkOwned(d *Description) (wrong problems) {
	if c.Contents != nil || c.Rows.Content != "" {
		wrong.add("rows.objects", "they belong to the rows themselves; contents is for those that rows share: leave one of both out")
	}
	if c.Rows.Status != nil && c.Rows.Status.Deleted != "" {
		wrong.add("rows.status.deleted", "a row that is kept as deleted would keep its objects without end; leave out deleted, or objects")
	}
	for i, text := range c.Rows.Objects {
		wrong = append(wrong, c.checkTemplate(fmt.Sprintf("rows.objects[%d]", i), text)...)
	}
	return slices.Concat(wrong, c.Rows.checkFolderTemplates(), c.checkBucket(d))
}

// checkTemplate reports a template that does not make keys of the collection.
func (c Collection) checkTemplate(key, text string) (wrong problems) {
	if _, err := ParseTemplate(text); err != nil {
		wrong.add(key, "%v", err)
	} else if !nested(head(text), c.start()) {
		wrong.add(key, "all keys of %q lie outside of the prefix %q, and are left alone: write whole keys, or another prefix", text, c.Prefix)
	}
	return wrong
}

// wholeBucket is written as the prefix of objects that lie in no folder.
const wholeBucket = "/"

// start returns what the keys of all objects of a collection begin with.
func (c Collection) start() string {
	if c.Prefix == wholeBucket {
		return ""
	}
	return c.Prefix
}

// checkBucket reports errors in bucket and prefix.
func (c Collection) checkBucket(d *Description) (wrong problems) {
	if c.Bucket == "" {
		wrong.add("bucket", "is missing: write the name of one of the buckets of the file")
	} else if _, ok := d.Buckets[c.Bucket]; !ok {
		wrong.add("bucket", "%q is not among the buckets of the file: %s", c.Bucket, orNone(slices.Sorted(maps.Keys(d.Buckets))))
	}
	if c.Prefix == "" {
		wrong.add("prefix", "is missing: what do the keys of all its objects begin with? It keeps a wrong description from emptying the bucket")
	} else if c.Prefix == wholeBucket {
		if d.Buckets[c.Bucket].Path != "" {
			wrong.add("prefix", "%q is for buckets of S3 services: shorten the path by its last folder, and begin prefix and templates with that", wholeBucket)
		}
	} else if err := checkPrefix(c.Prefix); err != nil {
		wrong.add("prefix", "%v", err)
	}
	return wrong
}

// orNone lists names.
func orNone(names []string) string {
	if len(names) == 0 {
		return "it has none; describe one below buckets"
	}
	return "it has " + strings.Join(names, ", ")
}

func checkPrefix(prefix string) error {
	if err := blob.CheckForeign(prefix); err != nil {
		return err
	}
	if !strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("%q does not end in a slash: it would match its neighbours as well", prefix)
	}
	return nil
}

// checkQuarantine reports errors in the quarantine's place.
func (c Collection) checkQuarantine() (wrong problems) {
	q := c.Quarantine
	switch {
	case c.Kind != OfKeys && c.Guard == QuarantineGuard && q == nil:
		wrong.add("guard", "quarantine needs to know where objects are moved: write quarantine: {prefix: quarantine/}")
	case c.Kind != OfKeys && c.Guard == QuarantineGuard && c.Contents == nil:
		wrong.add("guard", "quarantine is for contents that rows refer to; without them a collection of kind keys moves what no row names")
	case c.Kind != OfKeys && c.Guard != QuarantineGuard && q != nil:
		wrong.add("quarantine", "objects are moved there with guard: quarantine, or by a collection of kind keys")
	}
	if q == nil {
		return wrong
	}
	if err := checkPrefix(q.Prefix); err != nil {
		wrong.add("quarantine.prefix", "%v", err)
	} else if nested(q.Prefix, c.start()) {
		wrong.add("quarantine.prefix", "%q and the prefix of the objects, %q, contain each other: move them elsewhere", q.Prefix, c.Prefix)
	}
	if q.Keeps() <= 0 {
		wrong.add("quarantine.retention", "has to be above 0, such as 7d")
	}
	return wrong
}

// nested reports whether one prefix contains the other.
func nested(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// meets reports an error if a quarantine overlaps the objects or the quarantine
// of another collection of the bucket.
func (q *QuarantineSpec) meets(other string, c Collection) (wrong problems) {
	switch {
	case q == nil:
	case nested(q.Prefix, c.start()):
		wrong.add("quarantine.prefix", "%q overlaps the prefix %q of collection %s in the same bucket: they contain each other; give each its own", q.Prefix, c.Prefix, other)
	case c.Quarantine != nil && q.Prefix != c.Quarantine.Prefix && nested(q.Prefix, c.Quarantine.Prefix):
		wrong.add("quarantine.prefix", "the quarantines %q and %q, of collection %s in the same bucket, contain each other; give each its own", q.Prefix, c.Quarantine.Prefix, other)
	}
	return wrong
}

func (c Collection) checkGrace() problems {
	wrong := c.Graces().check()
	if c.Rows.OwnFolders() && c.Graces().ObjectAge != 0 {
		wrong.add("grace.object_age", "rows that own folders have no objects of their own to look at: leave it out")
	}
	return wrong
}

func (g Grace) check() (wrong problems) {
	if g.ObjectAge < 0 {
		wrong.add("grace.object_age", "has to be 0, for not looked at, or above")
	}
	if g.Watchdog <= 0 {
		wrong.add("grace.watchdog", "has to be above 0: it would take rows from workers that live")
	}
	if g.LongestWrite <= 0 {
		wrong.add("grace.longest_write", "has to be above 0, such as 10m: how long an upload and the commit of its row take")
	}
	if g.Late < minLate {
		wrong.add("grace.late", "has to be %s at least: requests take that long", minLate)
	}
	return wrong
}
