package notification

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Kind is what happened to an object, as S3 names it without "s3:".
type Kind string

// The kinds that are told.
const (
	Put      Kind = "ObjectCreated:Put"
	Post     Kind = "ObjectCreated:Post"
	Copy     Kind = "ObjectCreated:Copy"
	Complete Kind = "ObjectCreated:CompleteMultipartUpload"
	Deleted  Kind = "ObjectRemoved:Delete"
	Expired  Kind = "LifecycleExpiration:Delete"
)

// Kinds are all of them.
var Kinds = []Kind{Put, Post, Copy, Complete, Deleted, Expired}

// Rule tells one target about some objects of a bucket.
type Rule struct {
	ID     string `json:"id"`
	Target string `json:"target"` // its name in the configuration
	// Events are S3's names, such as "s3:ObjectCreated:*".
	Events []string `json:"events"`
	Prefix string   `json:"prefix,omitempty"`
	Suffix string   `json:"suffix,omitempty"`
}

// matches reports whether the rule tells of this.
func (r *Rule) matches(k Kind, key string) bool {
	return strings.HasPrefix(key, r.Prefix) && strings.HasSuffix(key, r.Suffix) &&
		slices.ContainsFunc(r.Events, func(name string) bool { return slices.Contains(kindsOf(name), k) })
}

// kindsOf returns the kinds of a name of S3's, none if it is not told here.
func kindsOf(name string) (out []Kind) {
	name, ok := strings.CutPrefix(name, "s3:")
	for _, k := range Kinds {
		group, all := strings.CutSuffix(name, "*")
		if ok && (name == string(k) || all && strings.HasSuffix(group, ":") && strings.HasPrefix(string(k), group)) {
			out = append(out, k)
		}
	}
	return out
}

// overlaps reports whether one event could match both rules.
func (r *Rule) overlaps(o *Rule) bool {
	either := func(a, b string, of func(string, string) bool) bool { return of(a, b) || of(b, a) }
	shared := slices.ContainsFunc(r.kinds(), func(k Kind) bool { return slices.Contains(o.kinds(), k) })
	return shared && either(r.Prefix, o.Prefix, strings.HasPrefix) && either(r.Suffix, o.Suffix, strings.HasSuffix)
}

func (r *Rule) kinds() (out []Kind) {
	for _, name := range r.Events {
		out = append(out, kindsOf(name)...)
	}
	return out
}

// Rules are the rules of a bucket. No two of them match one event.
type Rules []Rule

// For returns the rule that tells of this, nil if none does.
func (rs Rules) For(k Kind, key string) *Rule {
	for i := range rs {
		if rs[i].matches(k, key) {
			return &rs[i]
		}
	}
	return nil
}

// Targets returns the names of the targets, each once, sorted.
func (rs Rules) Targets() (names []string) {
	for _, r := range rs {
		names = append(names, r.Target)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Allows reports whether names of buckets, or beginnings with * after them, name a bucket; none
// name all.
func Allows(patterns []string, bucket string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		begin, all := strings.CutSuffix(p, "*")
		return p == bucket || all && strings.HasPrefix(bucket, begin)
	})
}

// Encode returns the stored form; "" for no rules.
func (rs Rules) Encode() string {
	if len(rs) == 0 {
		return ""
	}
	text, _ := json.Marshal(rs) // strings only
	return string(text)
}

// Decode is the inverse of Encode.
func Decode(text string) (rs Rules, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &rs); err != nil {
		return nil, fmt.Errorf("notification rules: %w", err)
	}
	return rs, nil
}

// Created returns the kind of what a commit of an object records as done.
func Created(what string) Kind {
	switch what {
	case "copy":
		return Copy
	case "complete":
		return Complete
	case "post":
		return Post
	}
	return Put
}
