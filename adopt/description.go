package adopt

import (
	"cmp"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// Description describes an application's database, buckets and cache. ${NAME}
// is replaced by a variable of the environment, such as a secret.
type Description struct {
	Database string `yaml:"database"`
	// Schema holds Lethe's own tables (default "lethe").
	Schema string `yaml:"schema"`
	// Receipts is how long receipts are kept (default 90d).
	Receipts Duration `yaml:"receipts"`
	// Audit is the path of a file to which audit lines are appended (default:
	// the log's output).
	Audit       string                `yaml:"audit"`
	Tracing     TracingSpec           `yaml:"tracing"`
	Redis       string                `yaml:"redis"`
	Buckets     map[string]BucketSpec `yaml:"buckets"`
	Collections map[string]Collection `yaml:"collections"`

	file *yamlfile.File // nil if it was not read from a file
}

// Place returns file, line and column of a collection's description, empty if
// unknown.
func (d *Description) Place(collection string) string {
	if d.file == nil {
		return ""
	}
	return d.file.Place("collections." + collection)
}

// TracingSpec is the destination of traces (OpenTelemetry, OTLP over HTTP).
type TracingSpec struct {
	Enabled bool `yaml:"enabled"`
	// Endpoint is the URL of a collector; empty for that of the environment.
	Endpoint    string  `yaml:"endpoint"`
	SampleRatio float64 `yaml:"sample_ratio"` // of runs (default 0.1)
	Names       bool    `yaml:"names"`        // show texts of errors, and the keys in them
}

// BucketSpec is a bucket of an S3 service, with the access of its owner, or a
// folder.
type BucketSpec struct {
	// Path is a folder on a disk, instead of all others.
	Path      string `yaml:"path"`
	Endpoint  string `yaml:"endpoint"`
	Region    string `yaml:"region"`
	Bucket    string `yaml:"bucket"`
	AccessKey string `yaml:"access_key"`
	SecretKey string `yaml:"secret_key"`
	PathStyle bool   `yaml:"path_style"`
}

// Mode selects whether a collection only reports, or reclaims.
type Mode string

// Modes of a collection.
const (
	Report  Mode = "report"  // the default: nothing is changed
	Reclaim Mode = "reclaim" // what is due is deleted
)

// Kind is the kind of a collection.
type Kind string

// Kinds of collections.
const (
	OfRecords Kind = "records" // the default: rows that expire
	OfFolders Kind = "folders" // folders that live as long as a row does
	OfKeys    Kind = "keys"    // single objects that live as long as a row names them
)

// Collection is one kind of things that are reclaimed together.
type Collection struct {
	Kind Kind `yaml:"kind"`
	Mode Mode `yaml:"mode"`
	// Bucket names one of the buckets, Prefix begins all keys in it. A key
	// elsewhere is never touched. A slash alone in the file is the whole bucket,
	// and empty here.
	Bucket   string    `yaml:"bucket"`
	Prefix   string    `yaml:"prefix"`
	Rows     Rows      `yaml:"rows"`
	Contents *Table    `yaml:"contents"`
	Cache    []string  `yaml:"cache"` // templates of keys: "paste:{short_code}"
	Guard    GuardKind `yaml:"guard"`
	// Quarantine is where objects are moved instead of being deleted.
	Quarantine *QuarantineSpec `yaml:"quarantine"`
	Grace      GraceSpec       `yaml:"grace"`
	Schedule   Timetable       `yaml:"schedule"`
	Batch      int             `yaml:"batch"`
	Workers    int             `yaml:"workers"`
	// Limit is the most rows, and the most objects, of one run; the rest waits
	// for the next. 0 means no limit.
	Limit int64 `yaml:"limit"`
	// RatePerSecond is the most rows, and the most objects, of an instance in a
	// second; batches are then smaller. 0 means no limit.
	RatePerSecond int `yaml:"rate_per_second"`
	// Lock serialises claims by a lock in Redis that expires within 30 s.
	// Claims are disjoint without it.
	Lock bool `yaml:"lock"`
	// Folders replaces rows in a collection of folders.
	Folders *FolderSpec `yaml:"folders"`
	// Keys replaces rows in a collection of keys.
	Keys *KeySpec `yaml:"keys"`
}

// Cleans reports whether objects of unreferenced contents are deleted.
func (c Collection) Cleans() bool {
	return c.HasObjects() && (c.Guard == TriggerGuard || c.Guard == QuarantineGuard)
}

// defaultBatch is the number of keys in one delete request of S3.
const defaultBatch = 1000

// BatchSize returns the number of rows in a transaction. With a rate it is 50
// ms worth of it, to keep transactions short; a few rows take a quarter of a
// second's worth, since statements for a handful cost more than they save. A run with a limit
// takes whole batches.
func (c Collection) BatchSize() int {
	size := cmp.Or(c.Batch, defaultBatch)
	if c.RatePerSecond > 0 {
		size = min(size, max(c.RatePerSecond/20, min(c.RatePerSecond/4, fewRows), 1))
	}
	if c.Limit > 0 {
		steps := (c.Limit + int64(size) - 1) / int64(size)
		size = int(c.Limit / steps) // steps of one size that fit
	}
	return size
}

// fewRows are handled by the database in some 10 ms.
const fewRows = 50

// HasObjects reports whether the rows of a collection have objects.
func (c Collection) HasObjects() bool { return c.Contents != nil || len(c.Rows.Objects) > 0 }

// Rows are rows that expire.
type Rows struct {
	Table string `yaml:"table"`
	Key   string `yaml:"key"`
	// End is the column of the instant at which a row expires, Keep how much
	// longer it stays: expires_at and 0, or deleted_at and a retention. NULL
	// never expires.
	End  string   `yaml:"end"`
	Keep Duration `yaml:"keep"`
	// Zone is the time zone of an end that is stored without one.
	Zone string `yaml:"zone"`
	// Unit is the unit of an end that is a number: s, ms or us since 1970.
	Unit string `yaml:"unit"`
	// Status and Initiated are the columns of a claim. Without them rows are
	// deleted in one transaction, under their locks.
	Status    *Status `yaml:"status"`
	Initiated string  `yaml:"initiated"`
	// Content is the column that names a row of the table of contents.
	Content string `yaml:"content"`
	// Objects are templates of the keys of objects that belong to one row each,
	// without a table of contents: "{object_key}", "uploads/{id}/original".
	// NULL names none. Those that end in a slash name everything below:
	// "uploads/{id}/".
	Objects []string `yaml:"objects"`
}

// Status is the column of a claim, and the names of its states.
type Status struct {
	Column  string `yaml:"column"`
	Live    string `yaml:"live"`
	Claimed string `yaml:"claimed"`
	// Deleted, if set, is the state of an expired row, instead of removing it.
	Deleted string `yaml:"deleted"`
}

// Table is the contents that rows refer to, each an object in the bucket.
type Table struct {
	Table string `yaml:"table"`
	Key   string `yaml:"key"`
	// Count is the column that counts references. Without it references are
	// looked up.
	Count string `yaml:"count"`
	// Object is a template of the key in the bucket: "{object_key}", or "content/{content_hash}".
	Object string `yaml:"object"`
}

// GuardKind is the protection of a condemned content against new references.
type GuardKind string

// Kinds of guards.
const (
	NoGuard      GuardKind = "none"    // the default: objects are counted, and stay
	TriggerGuard GuardKind = "trigger" // triggers that "lethe adopt guard" installs
	// QuarantineGuard prevents no references: objects are moved, and copied
	// back when something refers to them again.
	QuarantineGuard GuardKind = "quarantine"
)

// QuarantineSpec is where unreferenced objects are moved.
type QuarantineSpec struct {
	// Prefix, in the same bucket, precedes their whole keys there.
	Prefix string `yaml:"prefix"`
	// Retention is how long they stay there (default 7d).
	Retention *Duration `yaml:"retention"`
}

// Keeps returns the retention.
func (q QuarantineSpec) Keeps() time.Duration { return q.Retention.or(7 * 24 * time.Hour) }

// GraceSpec is a Grace as a file has it, with defaults for what it omits.
type GraceSpec struct {
	Watchdog     *Duration `yaml:"watchdog"`
	Unreferenced *Duration `yaml:"unreferenced"`
	LongestWrite *Duration `yaml:"longest_write"`
	Late         *Duration `yaml:"late"`
	CacheAgain   *Duration `yaml:"cache_again"`
	ObjectAge    *Duration `yaml:"object_age"`
}

// Timetable is when a collection is worked on.
type Timetable struct {
	Every    Duration `yaml:"every"`
	Cron     string   `yaml:"cron"`
	Zone     string   `yaml:"zone"`
	Until    string   `yaml:"until"`
	Watchdog Duration `yaml:"watchdog"`
}

// defaultCron is the default schedule.
const defaultCron = "0 0 * * *"

// Times returns the schedule, midnight by default.
func (t Timetable) Times() (schedule.Schedule, error) {
	spec := schedule.Spec{Every: time.Duration(t.Every), Cron: t.Cron, Zone: t.Zone, Until: t.Until}
	if spec.Every == 0 && spec.Cron == "" {
		spec.Cron = defaultCron
	}
	return schedule.New(spec)
}

// Duration is a span of time as people write it: 30s, 2h, 7d.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	if s := string(text); s == "0" || s == "0s" || s == "none" {
		*d = 0
		return nil
	}
	parsed, err := lethe.ParseTTL(string(text))
	*d = Duration(parsed)
	return err
}

// or returns the duration, or the default if the description omits it.
func (d *Duration) or(otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return time.Duration(*d)
}

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(lethe.FormatTTL(time.Duration(d))), nil
}

// Graces returns the grace periods, with defaults for those that the
// description omits.
func (c Collection) Graces() Grace {
	s, d := c.Grace, DefaultGrace
	return Grace{
		Watchdog: s.Watchdog.or(d.Watchdog), Unreferenced: s.Unreferenced.or(d.Unreferenced), LongestWrite: s.LongestWrite.or(d.LongestWrite),
		Late: s.Late.or(d.Late), CacheAgain: s.CacheAgain.or(d.CacheAgain), ObjectAge: s.ObjectAge.or(d.ObjectAge),
	}
}
