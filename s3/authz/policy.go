package authz

import (
	"encoding/json"
	"slices"
	"strings"
)

// PolicyStatement is a statement of a policy, parsed for evaluation. It is immutable.
type PolicyStatement struct {
	Allow      bool
	Principals map[string]struct{} // ids of keys; "*" is everyone
	Actions    ActionSet
	Resources  []Pattern       // of buckets, and of bucket/key
	Condition  json.RawMessage // of the keys that Request.Meets knows; nil: none
	Clauses    []Clause        // the conditions that are evaluated here
}

// covers reports whether the statement applies to a resource.
func (r PolicyStatement) covers(resource string) bool {
	text := characters(resource)
	return slices.ContainsFunc(r.Resources, func(p Pattern) bool { return p.matches(text) })
}

// concerns reports whether the statement applies to an account, by its id or as
// everyone.
func (r PolicyStatement) concerns(access string) bool {
	_, named := r.Principals[access]
	_, everybody := r.Principals["*"]
	return named || everybody
}

// Policy is a bucket's policy, parsed for evaluation. It is immutable.
type Policy struct {
	Body       []byte
	Version    string
	Statements []PolicyStatement
	Err        error // why it cannot be parsed
}

// Public reports whether the policy allows something to everyone. A denial does
// not count.
func (p *Policy) Public() bool {
	return slices.ContainsFunc(p.Statements, func(r PolicyStatement) bool {
		_, everybody := r.Principals["*"]
		return everybody && r.Allow
	})
}

// Denials returns the statements that deny something.
func (p *Policy) Denials() []PolicyStatement {
	return slices.DeleteFunc(slices.Clone(p.Statements), func(r PolicyStatement) bool { return r.Allow })
}

// Request provides the values that the conditions of a policy are compared
// with: a request, and a bucket that it names.
type Request interface {
	// Header returns the values of a header, in the order in which they came.
	Header(name string) []string
	// CopySource returns the source of a copy, decoded: bucket/key. It is empty if the
	// request copies nothing.
	CopySource() (string, error)
	// ObjectTag returns a tag of the stored object that an action is about, nil if it has none of the name.
	ObjectTag(a Action, tag string) (*string, error)
	// GivenTags returns the tags that the request sets.
	GivenTags() (map[string]string, error)
	// Meets reports whether the request meets the condition of a statement;
	// known is false if that cannot be determined.
	Meets(condition json.RawMessage) (holds, known bool)
}

// Ruling is what a policy allows and denies to one request. It is not safe for
// concurrent use.
type Ruling struct {
	req        Request
	statements []PolicyStatement
	// found caches the verdict of each rule, once its conditions were
	// evaluated.
	found map[int]Verdict
}

// NewRuling returns the ruling of the rules that apply to an account, which is
// empty if anonymous. further rules apply to every account.
func NewRuling(req Request, access string, rules []PolicyStatement, further ...PolicyStatement) *Ruling {
	r := &Ruling{req: req, found: map[int]Verdict{}}
	for _, rule := range rules {
		if rule.concerns(access) {
			r.statements = append(r.statements, rule)
		}
	}
	r.statements = append(r.statements, further...)
	return r
}

// Verdict is what is allowed and what is denied; nil is nothing.
type Verdict struct{ Allows, Denies ActionSet }

// On returns what is allowed and denied on a resource: a bucket, or bucket/key.
func (r *Ruling) On(resource string) (v Verdict, err error) {
	v = Verdict{make(ActionSet, len(Actions)), make(ActionSet, len(Actions))}
	for i := range r.statements {
		found, err := r.counts(i, resource)
		if err != nil {
			return v, err
		}
		v.Allows.add(found.Allows)
		v.Denies.add(found.Denies)
	}
	return v, nil
}

// Decides reports whether an action on a resource is allowed, and whether it is
// denied, which takes precedence.
func (r *Ruling) Decides(a Action, resource string) (allowed, denied bool, err error) {
	for i, rule := range r.statements {
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

// counts returns what a rule allows and denies on a resource.
func (r *Ruling) counts(i int, resource string) (v Verdict, err error) {
	rule := r.statements[i]
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

// judge evaluates a statement's conditions. If they cannot be evaluated, a Deny
// holds.
func (r *Ruling) judge(rule PolicyStatement) (v Verdict, err error) {
	actions := rule.Actions
	if len(rule.Clauses) > 0 {
		actions = slices.Clone(actions)
		for i, has := range actions {
			if has {
				if actions[i], err = allHold(r.req, rule.Clauses, Actions[i]); err != nil {
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

// HasPattern reports whether a condition uses patterns.
func HasPattern(condition json.RawMessage) bool {
	return strings.Contains(strings.ToLower(string(condition)), "like")
}
