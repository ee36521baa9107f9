package adopt

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lethe-storage/lethe/blob"
)

// Load reads a file and fills variables in; lookup is os.LookupEnv.
func Load(path string, lookup func(string) (string, bool)) (*Description, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := Parse(text, lookup)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Parse reads a description. Its errors name each thing that is wrong.
func Parse(text []byte, lookup func(string) (string, bool)) (*Description, error) {
	d := Description{Tracing: TracingSpec{SampleRatio: 0.1}}
	if err := yaml.UnmarshalWithOptions(text, &d, yaml.DisallowUnknownField()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	var missing []string
	fill := func(s *string) {
		*s = variable.ReplaceAllStringFunc(*s, func(v string) string {
			name := v[2 : len(v)-1]
			value, ok := lookup(name)
			if !ok {
				missing = append(missing, name)
			}
			return value
		})
	}
	fill(&d.Database)
	fill(&d.Redis)
	fill(&d.Tracing.Endpoint)
	for name, b := range d.Buckets {
		for _, s := range []*string{&b.Path, &b.Endpoint, &b.Region, &b.Bucket, &b.AccessKey, &b.SecretKey} {
			fill(s)
		}
		d.Buckets[name] = b
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("variables of the environment are not set: %s", strings.Join(slices.Compact(missing), ", "))
	}
	if err := d.environment(lookup); err != nil {
		return nil, err
	}
	return &d, d.check()
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Names returns the names of the collections in order.
func (d *Description) Names() []string { return slices.Sorted(maps.Keys(d.Collections)) }

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// check reports everything that is wrong with a description by itself.
func (d *Description) check() error {
	var errs []error
	if d.Database == "" {
		errs = append(errs, errors.New("database: no URL; write one such as postgres://user@host/name, or ${DATABASE_URL}"))
	}
	if len(d.Collections) == 0 {
		errs = append(errs, errors.New("collections: none; \"lethe adopt init\" proposes some"))
	}
	for _, name := range d.Names() {
		c := d.Collections[name]
		if !collectionName.MatchString(name) {
			errs = append(errs, fmt.Errorf("collection %q: a name has 1 to 40 lower-case letters, digits and underscores", name))
		}
		for _, err := range c.check(d) {
			errs = append(errs, fmt.Errorf("collection %s: %w", name, err))
		}
	}
	return errors.Join(slices.Concat(errs, d.checkBuckets(), d.overlaps())...)
}

// checkBuckets reports what is wrong with buckets by themselves. One folder in another
// would be a way around the prefixes of collections.
func (d *Description) checkBuckets() (errs []error) {
	names := slices.Sorted(maps.Keys(d.Buckets))
	for i, name := range names {
		b := d.Buckets[name]
		switch {
		case b.Path == "" && b.Bucket == "":
			errs = append(errs, fmt.Errorf("bucket %s: neither bucket nor path is named", name))
		case b.Path != "" && (b != BucketSpec{Path: b.Path} || !filepath.IsAbs(b.Path)):
			errs = append(errs, fmt.Errorf("bucket %s: path is a whole one, /srv/media, and stands alone", name))
		}
		for _, other := range names[i+1:] {
			o := d.Buckets[other]
			if b.Path != "" && o.Path != "" && !b.same(o) && nested(filepath.Clean(b.Path)+"/", filepath.Clean(o.Path)+"/") {
				errs = append(errs, fmt.Errorf("buckets %s and %s: the folders %s and %s contain each other; name the outer one, and tell them apart by the prefixes of collections", name, other, b.Path, o.Path))
			}
		}
	}
	return errs
}

// same reports whether two specs are of one bucket, whatever their names and keys are.
func (b BucketSpec) same(other BucketSpec) bool {
	if b.Path != "" || other.Path != "" {
		return filepath.Clean(b.Path) == filepath.Clean(other.Path)
	}
	return b.Bucket == other.Bucket && strings.TrimSuffix(b.Endpoint, "/") == strings.TrimSuffix(other.Endpoint, "/")
}

// overlaps reports collections that could delete each other's objects.
func (d *Description) overlaps() (errs []error) {
	names := d.Names()
	for i, a := range names {
		for _, b := range names[i+1:] {
			x, y := d.Collections[a], d.Collections[b]
			if x.Bucket == "" || y.Bucket == "" || !d.Buckets[x.Bucket].same(d.Buckets[y.Bucket]) {
				continue
			}
			errs = append(errs, x.Quarantine.meets(a, b, y), y.Quarantine.meets(b, a, x))
			if nested(x.Prefix, y.Prefix) {
				errs = append(errs, fmt.Errorf("collections %s and %s overlap in bucket %s: the prefixes %q and %q contain each other; give each its own", a, b, x.Bucket, x.Prefix, y.Prefix))
			}
		}
	}
	return errs
}

func (c Collection) check(d *Description) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Mode != "" && c.Mode != Report && c.Mode != Reclaim {
		bad("mode %q is not known: report or reclaim", c.Mode)
	}
	switch {
	case c.Kind == OfFolders:
		return append(errs, c.checkFolders(d)...)
	case c.Kind == OfKeys:
		return append(errs, c.checkKeys(d)...)
	case c.Kind != "" && c.Kind != OfRecords:
		bad("kind %q is not known: records, folders or keys", c.Kind)
	case c.Keys != nil:
		bad("keys belong to a collection of kind: keys")
	case c.Folders != nil:
		bad("folders belong to a collection of kind: folders")
	}
	if c.Rows.Table == "" || c.Rows.Key == "" || c.Rows.End == "" {
		bad("rows: table, key and end have to be named")
	}
	if s := c.Rows.Status; s != nil && (s.Column == "" || s.Live == "" || s.Claimed == "" || c.Rows.Initiated == "") {
		bad("rows: a status has column, live and claimed, and initiated names the column of its time")
	}
	if c.Rows.Status == nil && c.Rows.Initiated != "" {
		bad("rows: initiated without a status")
	}
	if c.Batch < 0 || c.Batch > 10_000 || c.Workers < 0 || c.Workers > 64 {
		bad("batch is at most 10000, workers at most 64")
	}
	if c.Limit < 0 || c.RatePerSecond < 0 {
		bad("limit and rate_per_second are not below 0")
	}
	if c.Lock && c.Rows.Status == nil {
		bad("lock: without a status there are no claims to take turns")
	}
	if c.Lock && d.Redis == "" {
		bad("lock: the file names no redis")
	}
	if len(c.Cache) > 0 && d.Redis == "" {
		bad("cache: the file names no redis")
	}
	for _, text := range c.Cache {
		if _, err := ParseTemplate(text); err != nil {
			bad("cache: %w", err)
		}
	}
	if c.Guard != "" && c.Guard != NoGuard && c.Guard != TriggerGuard && c.Guard != QuarantineGuard {
		bad("guard %q is not known: none, trigger or quarantine", c.Guard)
	}
	return slices.Concat(errs, c.checkContents(d), c.checkQuarantine(), c.Graces().check())
}

func (c Collection) checkContents(d *Description) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	t := c.Contents
	if len(c.Rows.Objects) > 0 {
		return c.checkOwned(d)
	}
	if t == nil {
		if c.Rows.Content != "" {
			bad("rows: content names a column, but there are no contents")
		}
		return errs
	}
	if t.Table == "" || t.Key == "" || t.Object == "" || c.Rows.Content == "" {
		bad("contents: table, key and object have to be named, and rows.content")
	}
	if _, err := ParseTemplate(t.Object); t.Object != "" && err != nil {
		bad("contents: object: %w", err)
	}
	return append(errs, c.checkBucket(d)...)
}

// checkOwned reports what is wrong with objects that belong to rows.
func (c Collection) checkOwned(d *Description) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Contents != nil || c.Rows.Content != "" {
		bad("rows: objects belong to the rows themselves; contents is for those that rows share")
	}
	if c.Rows.Status != nil && c.Rows.Status.Deleted != "" {
		bad("rows: a row that is kept as deleted would name its objects for ever; leave out deleted, or objects")
	}
	for _, text := range c.Rows.Objects {
		if _, err := ParseTemplate(text); err != nil {
			bad("rows: objects: %w", err)
		}
	}
	return slices.Concat(errs, c.Rows.checkFolderTemplates(), c.checkBucket(d))
}

// checkBucket reports what is wrong with bucket and prefix.
func (c Collection) checkBucket(d *Description) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, ok := d.Buckets[c.Bucket]; !ok {
		bad("bucket %q is not among the buckets of the file", c.Bucket)
	}
	if c.Prefix == "" {
		bad("prefix: what do the keys of all its objects begin with? It keeps a wrong description from emptying the bucket")
	} else if err := checkPrefix(c.Prefix); err != nil {
		bad("prefix %w", err)
	}
	return errs
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

// checkQuarantine reports what is wrong with where objects are moved.
func (c Collection) checkQuarantine() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	q := c.Quarantine
	switch {
	case c.Kind != OfKeys && c.Guard == QuarantineGuard && q == nil:
		bad("guard: quarantine needs to know where objects are moved (quarantine: prefix)")
	case c.Kind != OfKeys && c.Guard == QuarantineGuard && c.Contents == nil:
		bad("guard: quarantine is for contents that rows refer to; without them a collection of kind keys moves what no row names")
	case c.Kind != OfKeys && c.Guard != QuarantineGuard && q != nil:
		bad("quarantine: objects are moved there with guard: quarantine, or by a collection of kind keys")
	}
	if q == nil {
		return errs
	}
	if err := checkPrefix(q.Prefix); err != nil {
		bad("quarantine: prefix: %w", err)
	} else if nested(q.Prefix, c.Prefix) {
		bad("quarantine: the prefix %q and that of the objects, %q, contain each other", q.Prefix, c.Prefix)
	}
	if q.Keeps() <= 0 {
		bad("quarantine: retention is above 0")
	}
	return errs
}

// nested reports whether one prefix contains the other.
func nested(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// meets refuses a quarantine that lies among the objects, or in the quarantine, of
// another collection of the bucket.
func (q *QuarantineSpec) meets(mine, other string, c Collection) error {
	switch {
	case q == nil:
	case nested(q.Prefix, c.Prefix):
		return fmt.Errorf("collections %s and %s overlap in bucket %s: the quarantine %q and the prefix %q contain each other; give each its own", mine, other, c.Bucket, q.Prefix, c.Prefix)
	case c.Quarantine != nil && q.Prefix != c.Quarantine.Prefix && nested(q.Prefix, c.Quarantine.Prefix):
		return fmt.Errorf("collections %s and %s overlap in bucket %s: the quarantines %q and %q contain each other", mine, other, c.Bucket, q.Prefix, c.Quarantine.Prefix)
	}
	return nil
}

func (g Grace) check() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("grace: "+format, args...)) }
	if g.Watchdog <= 0 {
		bad("watchdog has to be above 0: it would take rows from workers that live")
	}
	if g.LongestWrite <= 0 {
		bad("longest_write has to be above 0")
	}
	if g.Late < minLate {
		bad("late is %s at least: requests take that long", minLate)
	}
	if g.Unreferenced < 0 || g.CacheAgain < 0 {
		bad("no time is below 0")
	}
	return errs
}
