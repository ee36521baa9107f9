package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/lifecycle"
)

// LifecycleRule is a lifecycle rule of a bucket. It is written as words:
//
//	bucket=logs prefix=2023/ expiration_days=30
//	bucket=logs id=drafts prefix=drafts/ tag=team=red larger_than=1000 expiration_date=2031-01-01
//	bucket=scratch prefix="" whole_bucket expiration_days=1 abort_days=1 disabled
//
// Values with spaces or semicolons have double quotes, and are possible only in
// a file. An empty prefix with an expiration needs a tag, or whole_bucket as a
// confirmation.
type LifecycleRule struct {
	Bucket string
	Rule   lifecycle.Rule
}

// LifecycleRules are rules of buckets: a list in the file; one text, separated by
// semicolons, in the environment and in flags.
type LifecycleRules []LifecycleRule

// MarshalText writes the form that UnmarshalText reads.
func (l LifecycleRules) MarshalText() ([]byte, error) {
	texts := make([]string, len(l))
	for i, r := range l {
		texts[i] = r.String()
	}
	return []byte(strings.Join(texts, "; ")), nil
}

// UnmarshalText reads rules that are separated by semicolons.
func (l *LifecycleRules) UnmarshalText(text []byte) error {
	out := LifecycleRules{}
	for part := range strings.SplitSeq(string(text), ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		var r LifecycleRule
		if err := r.UnmarshalText([]byte(part)); err != nil {
			return err
		}
		out = append(out, r)
	}
	*l = out
	return nil
}

// MarshalText writes the form that UnmarshalText reads.
func (r LifecycleRule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String writes the form that UnmarshalText reads.
func (r LifecycleRule) String() string {
	var words []string
	add := func(name, value string) { words = append(words, name+"="+quoted(value)) }
	add("bucket", r.Bucket)
	if r.Rule.ID != "" {
		add("id", r.Rule.ID)
	}
	add("prefix", r.Rule.Prefix)
	for _, k := range slices.Sorted(maps.Keys(r.Rule.Tags)) {
		add("tag", k+"="+r.Rule.Tags[k])
	}
	if r.Rule.Over != nil {
		add("larger_than", strconv.FormatInt(*r.Rule.Over, 10))
	}
	if r.Rule.Under != nil {
		add("smaller_than", strconv.FormatInt(*r.Rule.Under, 10))
	}
	if r.Rule.Days > 0 {
		add("expiration_days", strconv.Itoa(r.Rule.Days))
	}
	if r.Rule.Date != 0 {
		add("expiration_date", r.Rule.Date.Time().Format(time.DateOnly))
	}
	if r.Rule.AbortDays > 0 {
		add("abort_days", strconv.Itoa(r.Rule.AbortDays))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"whole_bucket", r.Rule.Whole}, {"disabled", r.Rule.Disabled}} {
		if f.set {
			words = append(words, f.name)
		}
	}
	return strings.Join(words, " ")
}

// quoted puts a value in quotes if it could not be parsed otherwise.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"\\,;") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// UnmarshalText reads a rule.
func (r *LifecycleRule) UnmarshalText(text []byte) error {
	var out LifecycleRule
	seen := map[string]bool{}
	for rest := strings.TrimSpace(string(text)); rest != ""; rest = strings.TrimSpace(rest) {
		name, value, after, err := word(rest)
		if err != nil {
			return err
		}
		if seen[name] && name != "tag" {
			return fmt.Errorf("%s is there twice", name)
		}
		seen[name], rest = true, after
		if err := out.set(name, value); err != nil {
			return err
		}
	}
	switch {
	case out.Bucket == "":
		return fmt.Errorf("names no bucket; write bucket=NAME")
	case !seen["prefix"]:
		return fmt.Errorf("has no prefix; write prefix=..., or prefix=\"\" for the whole bucket")
	}
	*r = out
	return nil
}

// word returns the first word of a text: a name, or a name and a value.
func word(text string) (name, value, rest string, err error) {
	end := strings.IndexAny(text, "= \t")
	if end < 0 || text[end] != '=' {
		name, rest, _ = strings.Cut(text, " ")
		return name, "", rest, nil
	}
	name, rest = text[:end], text[end+1:]
	if !strings.HasPrefix(rest, `"`) {
		value, rest, _ = strings.Cut(rest, " ")
		return name, value, rest, nil
	}
	q, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", "", fmt.Errorf("the quotes of %s do not end", name)
	}
	value, err = strconv.Unquote(q)
	return name, value, rest[len(q):], err
}

// words are the names that a rule may have.
var words = []string{"bucket", "id", "prefix", "tag", "larger_than", "smaller_than", "expiration_days", "expiration_date", "abort_days", "whole_bucket", "disabled"}

func (r *LifecycleRule) set(name, value string) (err error) {
	switch name {
	case "bucket":
		r.Bucket = value
	case "id":
		r.Rule.ID = value
	case "prefix":
		r.Rule.Prefix = value
	case "tag":
		return r.tag(value)
	case "larger_than":
		r.Rule.Over, err = bytesOf(name, value)
	case "smaller_than":
		r.Rule.Under, err = bytesOf(name, value)
	case "expiration_days":
		r.Rule.Days, err = daysOf(name, value)
	case "abort_days":
		r.Rule.AbortDays, err = daysOf(name, value)
	case "expiration_date":
		r.Rule.Date, err = dateOf(value)
	case "whole_bucket":
		r.Rule.Whole = true
	case "disabled":
		r.Rule.Disabled = true
	default:
		return fmt.Errorf("%q is not known here; use %s", yamlfile.Brief(name), strings.Join(words, ", "))
	}
	return err
}

func (r *LifecycleRule) tag(text string) error {
	k, v, ok := strings.Cut(text, "=")
	if _, twice := r.Rule.Tags[k]; !ok || twice {
		return fmt.Errorf("tag=%s is not a new key=value", yamlfile.Brief(text))
	}
	if r.Rule.Tags == nil {
		r.Rule.Tags = map[string]string{}
	}
	r.Rule.Tags[k] = v
	return nil
}

func bytesOf(name, text string) (*int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s=%s is not a number of bytes", name, yamlfile.Brief(text))
	}
	return &n, nil
}

func daysOf(name, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%s is not a number of days of at least 1", name, yamlfile.Brief(text))
	}
	return int(n), nil
}

func dateOf(text string) (lethe.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || !t.After(time.Unix(0, 0)) {
		return 0, fmt.Errorf("expiration_date=%s is not a date such as 2031-01-01", yamlfile.Brief(text))
	}
	return lethe.FromTime(t), nil
}

// LifecycleRules returns the configured rules by bucket, complete. An error
// names the bucket.
func (c *Config) LifecycleRules() (map[string]lifecycle.Rules, error) {
	out := map[string]lifecycle.Rules{}
	for _, r := range c.Lifecycle {
		out[r.Bucket] = append(out[r.Bucket], r.Rule)
	}
	for _, bucket := range slices.Sorted(maps.Keys(out)) {
		if err := out[bucket].Complete(); err != nil {
			return nil, fmt.Errorf("rules of bucket %s: %w", bucket, err)
		}
	}
	return out, nil
}

func (c *Config) validateLifecycle(p *Problems) {
	for _, r := range c.Lifecycle {
		p.check(bucketForm.MatchString(r.Bucket), "lifecycle", "%q is no name of a bucket", yamlfile.Brief(r.Bucket))
		p.check(!r.Rule.Everything() || r.Rule.Whole, "lifecycle",
			"the rule %s would delete every object of bucket %s; if that is meant confirm it: add whole_bucket", r, r.Bucket)
	}
	_, err := c.LifecycleRules()
	p.check(err == nil, "lifecycle", "%v", err)
}
