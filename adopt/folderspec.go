package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// FolderSpec is folders that live as long as a row names them. A folder is what lies
// below the prefix of a collection and so many segments more.
type FolderSpec struct {
	// Depth is the number of segments; a template of names implies it.
	Depth int      `yaml:"depth"`
	Live  LiveSpec `yaml:"live"`
	// MinAge: a folder whose newest object is younger is not looked at (default 1d).
	MinAge *Duration `yaml:"min_age"`
	// Retention: how long a folder stays marked before it is purged (default 7d).
	Retention *Duration `yaml:"retention"`
	// Interval: how long after a run the next begins (default 1h).
	Interval *Duration `yaml:"interval"`
	// Most is how many folders a run marks, and purges, at most (default 1000).
	Most int `yaml:"most"`
	// Least is the part of the rows of the last run that have to be there still
	// (default 0.5).
	Least *float64 `yaml:"least"`
}

// LiveSpec says which folders live, by their names below the prefix: a query of one
// column, or a table with a template over its columns.
type LiveSpec struct {
	Query string `yaml:"query"`
	Table string `yaml:"table"`
	Name  string `yaml:"name"` // "{sequence}/topics/{topic}"
}

// FolderRules are a FolderSpec, what it leaves out by default.
type FolderRules struct {
	Depth                       int
	MinAge, Retention, Interval time.Duration
	Most                        int
	Least                       float64
	shape                       *regexp.Regexp // of names; nil: any of the depth
}

// Rules returns the rules of a spec that was checked.
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

// fits reports whether a name may be that of a folder of the collection.
func (r FolderRules) fits(name string) bool {
	return strings.Count(name, "/")+1 == r.Depth && blob.CheckForeign(name) == nil && !blob.IsMarker(name) &&
		(r.shape == nil || r.shape.MatchString(name))
}

// Variables of the environment that set the times of all folders, the first wins.
// The second of each are those of Mosaico.
var (
	intervalVariables  = []string{"LETHE_CLEANUP_TIME_INTERVAL", "MOSAICOD_CLEANUP_TIME_INTERVAL"}
	retentionVariables = []string{"LETHE_CLEANUP_RETENTION_DURATION", "MOSAICOD_CLEANUP_RETENTION_DURATION"}
)

// environment sets the times of folders that the environment names.
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
		return &d, nil
	}
	return nil, nil
}

// parameter is what the database would take for a parameter of a statement.
var parameter = regexp.MustCompile(`[?$][0-9]`)

// checkFolders reports what is wrong with a collection of folders by itself.
func (c Collection) checkFolders(d *Description) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Folders == nil {
		return []error{errors.New("folders: a collection of this kind says here how deep they lie and which live")}
	}
	if c.Rows.Table != "" || c.Contents != nil || len(c.Cache) > 0 || c.Guard != "" || c.Quarantine != nil || c.Schedule != (Timetable{}) || c.Grace != (GraceSpec{}) ||
		c.Batch != 0 || c.Workers != 0 || c.Limit != 0 || c.RatePerSecond != 0 || c.Lock {
		bad("rows, contents, cache, guard, quarantine, grace, schedule, batch, workers, limit, rate_per_second and lock belong to records; folders have depth, live, min_age, retention, interval, most and least, below folders")
	}
	s, r := *c.Folders, c.Folders.Rules()
	switch {
	case (s.Live.Query == "") == (s.Live.Table == ""), (s.Live.Table == "") != (s.Live.Name == ""):
		bad("folders: live: either a query of one column, or table and name")
	case s.Live.Query != "" && (strings.Contains(s.Live.Query, ";") || parameter.MatchString(s.Live.Query)):
		bad("folders: live: query: one SELECT, without a semicolon or parameters")
	case s.Live.Query != "" && s.Depth < 1:
		bad("folders: depth: how many segments below the prefix make a folder? 1 or more")
	case s.Live.Name != "":
		if _, err := ParseTemplate(s.Live.Name); err != nil {
			bad("folders: live: name: %w", err)
		}
		if s.Depth != 0 && s.Depth != r.Depth {
			bad("folders: depth is %d, but the names of %q have %d segments", s.Depth, s.Live.Name, r.Depth)
		}
	}
	if r.MinAge <= 0 || r.Retention <= 0 || r.Interval <= 0 {
		bad("folders: min_age, retention and interval have to be above 0")
	}
	if s.Most < 0 || r.Least < 0 || r.Least > 1 {
		bad("folders: most is not below 0, and least lies between 0 and 1")
	}
	return append(errs, c.checkBucket(d)...)
}
