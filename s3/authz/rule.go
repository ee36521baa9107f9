package authz

import (
	"encoding/json"
	"slices"
	"strings"
)

// Rule is a statement of a policy. It is not changed.
type Rule struct {
	Allow      bool
	Principals map[string]struct{} // ids of keys; "*" is everybody
	Actions    ActionSet
	Resources  []Pattern       // of buckets, and of bucket/key
	Condition  json.RawMessage // of the keys that Request.Meets knows; nil: none
	Clauses    []Clause        // the conditions that are held against the request here
}

// covers reports whether the statement is about a resource.
func (r Rule) covers(resource string) bool {
	text := characters(resource)
	return slices.ContainsFunc(r.Resources, func(p Pattern) bool { return p.matches(text) })
}

// concerns reports whether the statement is about an account, or about everybody.
func (r Rule) concerns(access string) bool {
	_, named := r.Principals[access]
	_, everybody := r.Principals["*"]
	return named || everybody
}

// Policy is a bucket's policy as requests need it. It is not changed.
type Policy struct {
	Body    []byte
	Version string
	Rules   []Rule
	Err     error // why it cannot be taken apart
}

// Public reports whether the policy allows something to everybody. One that denies
// them something does not.
func (p *Policy) Public() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		_, everybody := r.Principals["*"]
		return everybody && r.Allow
	})
}

// Denials returns the statements that deny something.
func (p *Policy) Denials() []Rule {
	return slices.DeleteFunc(slices.Clone(p.Rules), func(r Rule) bool { return r.Allow })
}

// Request is what the conditions of a policy are held against: a request, and a bucket
// that it names.
type Request interface {
	// Header returns the values of a header, in the order in which they came.
	Header(name string) []string
	// CopySource returns the source of a copy, decoded: bucket/key. It is empty if the
	// request copies nothing.
	CopySource() (string, error)
	// ObjectTags returns the tags of the object that an action is about, as it lies there.
	ObjectTags(a Action) (map[string]string, error)
	// GivenTags returns the tags that the request gives the object.
	GivenTags() (map[string]string, error)
	// Meets reports whether the request meets the condition of a statement; known is
	// false where that cannot be said.
	Meets(condition json.RawMessage) (holds, known bool)
}

// Ruling is what a policy allows and denies to one request. One goroutine uses it at a time.
type Ruling struct {
	req   Request
	rules []Rule
	// found is what of each rule counts for the request, once its conditions were looked at.
	found map[int]Verdict
}

// NewRuling returns what those of the rules say that concern an account, empty for who
// did not sign. Further rules count whomever they concern.
func NewRuling(req Request, access string, rules []Rule, further ...Rule) *Ruling {
	r := &Ruling{req: req, found: map[int]Verdict{}}
	for _, rule := range rules {
		if rule.concerns(access) {
			r.rules = append(r.rules, rule)
		}
	}
	r.rules = append(r.rules, further...)
	return r
}

// Verdict is what is allowed and what is denied; nil: nothing.
type Verdict struct{ Allows, Denies ActionSet }

// On returns what is allowed and denied on a resource: a bucket, or bucket/key.
func (r *Ruling) On(resource string) (v Verdict, err error) {
	v = Verdict{make(ActionSet, len(Actions)), make(ActionSet, len(Actions))}
	for i := range r.rules {
		found, err := r.counts(i, resource)
		if err != nil {
			return v, err
		}
		v.Allows.add(found.Allows)
		v.Denies.add(found.Denies)
	}
	return v, nil
}

// Decides returns whether an action on a resource is allowed, and whether it is denied,
// which counts more.
func (r *Ruling) Decides(a Action, resource string) (allowed, denied bool, err error) {
	for i, rule := range r.rules {
		if !rule.Actions.has(a) {
			continue
		}
		found, err := r.counts(i, resource)
		if err != nil {
			return false, false, err
		}
		if found.Denies.has(a) {
			return false, true, nil
		}
		allowed = allowed || found.Allows.has(a)
	}
	return allowed, false, nil
}

// counts is what a rule allows and denies on a resource.
func (r *Ruling) counts(i int, resource string) (v Verdict, err error) {
	rule := r.rules[i]
	if !rule.covers(resource) {
		return v, nil
	}
	v, ok := r.found[i]
	if !ok {
		if v, err = r.judge(rule); err != nil {
			return v, err
		}
		r.found[i] = v
	}
	return v, nil
}

// judge looks at a statement's conditions. One that cannot be looked at denies.
func (r *Ruling) judge(rule Rule) (v Verdict, err error) {
	actions := rule.Actions
	if len(rule.Clauses) > 0 {
		actions = slices.Clone(actions)
		for i, has := range actions {
			if has {
				if actions[i], err = hold(r.req, rule.Clauses, Actions[i]); err != nil {
					return v, err
				}
			}
		}
	}
	holds, known := true, true
	if rule.Condition != nil {
		holds, known = r.req.Meets(rule.Condition)
	}
	switch {
	case known && !holds:
	case known && rule.Allow:
		v.Allows = actions
	default:
		v.Denies = actions
	}
	return v, nil
}

// HasPattern reports whether a condition compares with patterns.
func HasPattern(condition json.RawMessage) bool {
	return strings.Contains(strings.ToLower(string(condition)), "like")
}
