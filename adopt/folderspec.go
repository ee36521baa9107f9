package adopt

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// FolderSpec describes folders that live as long as a row names them. A folder
// is the prefix of a collection and the next Depth segments.
type FolderSpec struct {
	// Depth is the number of segments; a template of names implies it.
	Depth int      `yaml:"depth"`
	Live  LiveSpec `yaml:"live"`
	// MinAge is the least age of a folder's newest object to consider the
	// folder (default 1d).
	MinAge *Duration `yaml:"min_age"`
	// Retention is how long a folder stays marked before it is purged (default
	// 7d).
	Retention *Duration `yaml:"retention"`
	// Interval is the time from one run to the next (default 1h).
	Interval *Duration `yaml:"interval"`
	// Most is the largest number of folders that a run marks, and purges
	// (default 1000).
	Most int `yaml:"most"`
	// Least is the part of the last run's rows that has to be present (default
	// 0.5).
	Least *float64 `yaml:"least"`
}

// LiveSpec defines the live folders, by their names below the prefix: a query
// of one column, or a table with a template over its columns.
type LiveSpec struct {
	Query string `yaml:"query"`
	Table string `yaml:"table"`
	Name  string `yaml:"name"` // "{sequence}/topics/{topic}"
}

// FolderRules are a FolderSpec with its defaults.
type FolderRules struct {
	Depth                       int
	MinAge, Retention, Interval time.Duration
	Most                        int
	Least                       float64
	shape                       *regexp.Regexp // of names; nil allows any of the depth
}

// Rules returns the rules of a checked spec.
func (s FolderSpec) Rules() FolderRules {
	r := FolderRules{
		Depth: s.Depth, MinAge: s.MinAge.or(24 * time.Hour), Retention: s.Retention.or(7 * 24 * time.Hour), Interval: s.Interval.or(time.Hour),
		Most: cmp.Or(s.Most, 1000), Least: leastOr(s.Least),
	}
	if s.Live.Name == "" {
		return r
	}
	r.Depth = strings.Count(s.Live.Name, "/") + 1
	if t, err := ParseTemplate(s.Live.Name); err == nil {
		var parts []string
		for _, l := range t.Literals() {
			parts = append(parts, regexp.QuoteMeta(l))
		}
		r.shape = regexp.MustCompile("^" + strings.Join(parts, "[^/]+") + "$")
	}
	return r
}

// fits reports whether a name has the form of a folder's.
func (r FolderRules) fits(name string) bool {
	return strings.Count(name, "/")+1 == r.Depth && blob.CheckForeign(name) == nil && !blob.IsMarker(name) &&
		(r.shape == nil || r.shape.MatchString(name))
}

// Variables of the environment that set the times of all folders; the first
// takes precedence. The second of each are those of Mosaico.
var (
	intervalVariables  = []string{"LETHE_CLEANUP_TIME_INTERVAL", "MOSAICOD_CLEANUP_TIME_INTERVAL"}
	retentionVariables = []string{"LETHE_CLEANUP_RETENTION_DURATION", "MOSAICOD_CLEANUP_RETENTION_DURATION"}
)

// environment sets the times of folders from the environment.
func (d *Description) environment(lookup func(string) (string, bool)) error {
	interval, err := durationOf(lookup, intervalVariables)
	if err != nil {
		return err
	}
	retention, err := durationOf(lookup, retentionVariables)
	if err != nil {
		return err
	}
	for _, c := range d.Collections {
		if c.Folders == nil {
			continue
		}
		if interval != nil {
			c.Folders.Interval = interval
		}
		if retention != nil {
			c.Folders.Retention = retention
		}
	}
	return nil
}

func durationOf(lookup func(string) (string, bool), names []string) (*Duration, error) {
	for _, name := range names {
		text, ok := lookup(name)
		if !ok {
			continue
		}
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if d <= 0 {
			return nil, fmt.Errorf("%s: %q is not above 0: set a duration such as 24h, or unset it", name, text)
		}
		return &d, nil
	}
	return nil, nil
}

// parameter matches what the database would take for a parameter of a
// statement.
var parameter = regexp.MustCompile(`[?$][0-9]`)

// checkFolders reports errors in a collection of folders by itself.
func (c Collection) checkFolders(d *Description) (wrong problems) {
	if c.Folders == nil {
		wrong.add("folders", "is missing: a collection of this kind says here how deep they lie and which live")
		return wrong
	}
	if c.Rows.Table != "" || c.Contents != nil || len(c.Cache) > 0 || c.Guard != "" || c.Quarantine != nil || c.Schedule != (Timetable{}) || c.Grace != (GraceSpec{}) ||
		c.Batch != 0 || c.Workers != 0 || c.Limit != 0 || c.RatePerSecond != 0 || c.Lock {
		wrong.add("kind", "rows, contents, cache, guard, quarantine, grace, schedule, batch, workers, limit, rate_per_second and lock belong to records: leave them out here; folders have depth, live, min_age, retention, interval, most and least, below folders")
	}
	s, r := *c.Folders, c.Folders.Rules()
	wrong = append(wrong, s.checkLive(r).below("folders")...)
	times := passTimes{s.MinAge, s.Retention, s.Interval, time.Nanosecond, "1d"}
	return slices.Concat(wrong, times.check().below("folders"), checkPass(s.Most, r.Least).below("folders"), c.checkBucket(d))
}

// checkLive reports errors in the definition of live folders.
func (s FolderSpec) checkLive(r FolderRules) (wrong problems) {
	switch {
	case (s.Live.Query == "") == (s.Live.Table == ""), (s.Live.Table == "") != (s.Live.Name == ""):
		wrong.add("live", "write either a query of one column, or table and name")
	case s.Live.Query != "" && (strings.Contains(s.Live.Query, ";") || parameter.MatchString(s.Live.Query)):
		wrong.add("live.query", "write one SELECT, without a semicolon or parameters")
	case s.Live.Query != "" && s.Depth < 1:
		wrong.add("depth", "how many segments below the prefix make a folder? Write 1 or more")
	case s.Live.Name != "":
		if _, err := ParseTemplate(s.Live.Name); err != nil {
			wrong.add("live.name", "%v", err)
		}
		if s.Depth != 0 && s.Depth != r.Depth {
			wrong.add("depth", "is %d, but the names of %q have %d segments: leave depth out", s.Depth, s.Live.Name, r.Depth)
		}
	}
	return wrong
}

// passTimes are the times of a comparison of a bucket with rows.
type passTimes struct {
	minAge, retention, interval *Duration
	youngest                    time.Duration // smallest valid min_age
	such                        string
}

func (t passTimes) check() (wrong problems) {
	if t.minAge != nil && time.Duration(*t.minAge) < t.youngest {
		wrong.add("min_age", "%s is too young: uploads take longer; write one such as %s", lethe.FormatTTL(time.Duration(*t.minAge)), t.such)
	}
	if t.retention != nil && *t.retention <= 0 {
		wrong.add("retention", "has to be above 0, such as 7d")
	}
	if t.interval != nil && *t.interval <= 0 {
		wrong.add("interval", "has to be above 0, such as 1h")
	}
	return wrong
}

// checkPass reports invalid limits of a pass.
func checkPass(most int, least float64) (wrong problems) {
	if most < 0 {
		wrong.add("most", "%d is below 0", most)
	}
	if least < 0 || least > 1 {
		wrong.add("least", "%v does not lie between 0 and 1", least)
	}
	return wrong
}
