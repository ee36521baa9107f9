package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// KeySpec describes single objects that live as long as a row names their key.
type KeySpec struct {
	// Query returns the whole keys that rows name, in one column.
	Query string `yaml:"query"`
	// MinAge is the least age of an orphan (default 1d). It is longer than any
	// upload and the commit of its row take.
	MinAge *Duration `yaml:"min_age"`
	// Retention is how long an object is known as an orphan before it is
	// deleted (default 7d).
	Retention *Duration `yaml:"retention"`
	// Interval is the time from one run to the next (default 1d).
	Interval *Duration `yaml:"interval"`
	// Most is the largest number of objects that a run deletes (default 10000).
	Most int `yaml:"most"`
	// Least is the part of the last run's rows that has to be present (default
	// 0.5).
	Least *float64 `yaml:"least"`
	// Hook is a program with its arguments that receives keys without an
	// object.
	Hook []string `yaml:"hook"`
}

// KeyRules are a KeySpec with its defaults.
type KeyRules struct {
	MinAge, Retention, Interval time.Duration
	Most                        int
	Least                       float64
}

// Rules returns the rules of a checked spec.
func (s KeySpec) Rules() KeyRules {
	return KeyRules{
		MinAge: s.MinAge.or(24 * time.Hour), Retention: s.Retention.or(7 * 24 * time.Hour), Interval: s.Interval.or(24 * time.Hour),
		Most: cmp.Or(s.Most, 10_000), Least: leastOr(s.Least),
	}
}

// Enough returns ErrFewRows if too few rows name a key below the prefix,
// compared with the last run.
func (r KeyRules) Enough(rows, last int64) error {
	if rows == 0 {
		return fmt.Errorf("%w: the query returns no key below the prefix, so all would go; nothing is touched until it returns one", ErrFewRows)
	}
	_, err := floorOf(rows, last, r.Least, "keys.least")
	return err
}

// checkKeys reports errors in a collection of keys by itself.
func (c Collection) checkKeys(d *Description) (wrong problems) {
	if c.Keys == nil {
		wrong.add("keys", "is missing: a collection of this kind says here which keys rows name (query)")
		return wrong
	}
	if c.Rows.Table != "" || c.Contents != nil || len(c.Cache) > 0 || c.Guard != "" || c.Folders != nil || c.RatePerSecond != 0 {
		wrong.add("kind", "rows, contents, cache, guard, rate_per_second and folders do not belong to a collection of keys: leave them out")
	}
	s := *c.Keys
	if strings.TrimSpace(s.Query) == "" || strings.Contains(s.Query, ";") || parameter.MatchString(s.Query) {
		wrong.add("keys.query", "write one SELECT that returns the whole keys that rows name, without a semicolon or parameters")
	}
	if len(s.Hook) > 0 && s.Hook[0] == "" {
		wrong.add("keys.hook", "names no program: write one, and its arguments, such as [/usr/local/bin/missing]")
	}
	times := passTimes{s.MinAge, s.Retention, s.Interval, 10 * time.Minute, "10m at least"}
	return slices.Concat(wrong, times.check().below("keys"), checkPass(s.Most, s.Rules().Least).below("keys"), c.Graces().check(), c.checkBucket(d), c.checkQuarantine())
}
