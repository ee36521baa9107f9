package authz

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/s3"
)

// Conditions that the gateway's library does not know: on the tags of an
// object, on tags that a request sets, and on some headers. Their statements
// have to name their actions, since the compared value depends on the action.

// conditionKey is the key of a condition, in lower case. After a final / comes
// the name of a tag.
type conditionKey struct {
	name    string
	actions []Action // actions that it may be used with, as in S3's reference
	value   func(r Request, a Action, tag string) (*string, error)
}

var (
	tagReaders = []Action{
		"s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectAcl", "s3:PutObjectAcl",
		"s3:GetObjectAttributes", "s3:GetObjectVersionAttributes",
		"s3:GetObjectTagging", "s3:GetObjectVersionTagging", "s3:PutObjectTagging", "s3:PutObjectVersionTagging",
		"s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging",
	}
	tagGivers = []Action{"s3:PutObject", "s3:PutObjectTagging", "s3:PutObjectVersionTagging"}
	copiers   = []Action{"s3:PutObject"}
	granters  = []Action{"s3:PutObject", "s3:PutObjectAcl", "s3:PutBucketAcl"}
)

var conditionKeys = []conditionKey{
	{"s3:existingobjecttag/", tagReaders, existingTag},
	{"s3:requestobjecttag/", tagGivers, givenTag},
	{"s3:x-amz-copy-source", copiers, copySource},
	{"s3:x-amz-metadata-directive", copiers, header("X-Amz-Metadata-Directive")},
	{"s3:x-amz-grant-read", granters, header("X-Amz-Grant-Read")},
	{"s3:x-amz-grant-write", granters, header("X-Amz-Grant-Write")},
	{"s3:x-amz-grant-read-acp", granters, header("X-Amz-Grant-Read-Acp")},
	{"s3:x-amz-grant-write-acp", granters, header("X-Amz-Grant-Write-Acp")},
	{"s3:x-amz-grant-full-control", granters, header("X-Amz-Grant-Full-Control")},
}

// existingTag is a tag of the stored object.
func existingTag(r Request, a Action, tag string) (*string, error) {
	return r.ObjectTag(a, tag)
}

// givenTag is a tag that the request sets.
func givenTag(r Request, _ Action, tag string) (*string, error) {
	tags, err := r.GivenTags()
	return tagOf(tags, tag), err
}

func tagOf(tags map[string]string, tag string) *string {
	if value, ok := tags[tag]; ok {
		return &value
	}
	return nil
}

func copySource(r Request, _ Action, _ string) (*string, error) {
	source, err := r.CopySource()
	if err != nil || source == "" {
		return nil, err
	}
	return &source, nil
}

// header reads a header of the request, nil if it is missing. A repeated one is
// an error: of grant headers all values would count, of others the first.
func header(name string) func(Request, Action, string) (*string, error) {
	return func(r Request, _ Action, _ string) (*string, error) {
		values := r.Header(name)
		switch {
		case len(values) > 1:
			return nil, s3.InvalidArgument(name, values[0], "The bucket's policy has a condition on this header, which the request repeats. Send it once.")
		case len(values) == 0 || values[0] == "":
			return nil, nil
		}
		return &values[0], nil
	}
}

// allHold reports whether all conditions of a statement hold for an action.
func allHold(r Request, clauses []Clause, a Action) (bool, error) {
	for _, c := range clauses {
		have, err := c.key.value(r, a, c.tag)
		if err != nil || !c.holds(have) {
			return false, err
		}
	}
	return true, nil
}

// findConditionKey returns the condition key of a name, and the name of its
// tag.
func findConditionKey(name string) (k *conditionKey, tag string) {
	for i := range conditionKeys {
		k = &conditionKeys[i]
		lower := strings.ToLower(name)
		if lower == k.name && !strings.HasSuffix(k.name, "/") {
			return k, ""
		}
		if strings.HasSuffix(k.name, "/") && len(name) > len(k.name) && strings.HasPrefix(lower, k.name) {
			return k, name[len(k.name):]
		}
	}
	return nil, ""
}

// Clause is one condition that is evaluated here.
type Clause struct {
	key      *conditionKey
	tag      string
	operator string
	values   []string
}

// RawStatement is a statement as a policy has it: the conditions evaluated here,
// and the rest.
type RawStatement struct {
	Clauses []Clause

	rest      map[string]json.RawMessage
	action    string // the names of these elements, as the statement spells them
	condition string
	actions   []string
}

// Condition returns the conditions of the rest, nil if there are none.
func (r *RawStatement) Condition() json.RawMessage { return r.rest[r.condition] }

// ReadStatement parses a statement.
func ReadStatement(statement json.RawMessage) (r RawStatement, err error) {
	if err := json.Unmarshal(statement, &r.rest); err != nil {
		return r, nil
	}
	for name := range r.rest {
		switch strings.ToLower(name) {
		case "action":
			r.action = name
		case "condition":
			r.condition = name
		}
	}
	block := map[string]map[string]json.RawMessage{}
	if r.condition == "" || json.Unmarshal(r.rest[r.condition], &block) != nil {
		return r, nil
	}
	for operator, keys := range block {
		for name, value := range keys {
			key, tag := findConditionKey(name)
			if key == nil {
				continue
			}
			values, err := texts(value)
			if err != nil {
				return r, malformedPolicy(fmt.Sprintf("The condition on %.200q has to be a string, or a list of strings", name))
			}
			r.Clauses = append(r.Clauses, Clause{key: key, tag: tag, operator: operator, values: values})
			delete(keys, name)
		}
		if len(keys) == 0 {
			delete(block, operator)
		}
	}
	if len(r.Clauses) == 0 {
		return r, nil
	}
	if r.actions, err = texts(r.rest[r.action]); err != nil {
		return r, malformedPolicy("Action has to be a string, or a list of strings")
	}
	return r, r.set(block)
}

// set puts the conditions into the statement.
func (r *RawStatement) set(block map[string]map[string]json.RawMessage) (err error) {
	if len(block) == 0 {
		delete(r.rest, r.condition)
		return nil
	}
	r.rest[r.condition], err = json.Marshal(block)
	return err
}

// texts reads a string, or a list of strings.
func texts(value json.RawMessage) (out []string, err error) {
	if json.Unmarshal(value, &out) == nil && len(out) > 0 {
		return out, nil
	}
	var one string
	if err := json.Unmarshal(value, &one); err != nil {
		return nil, err
	}
	return []string{one}, nil
}

// check refuses what would be ignored or is ambiguous.
func (r *RawStatement) check() error {
	for _, c := range r.Clauses {
		if _, ok := operatorOf(c.operator); !ok {
			return malformedPolicy(fmt.Sprintf("The condition on %s%s knows the operators of strings and Null, not %.100q", c.key.name, c.tag, c.operator))
		}
		for _, v := range c.values {
			if strings.Contains(v, "${") || c.operator == operatorNull && v != "true" && v != "false" {
				return malformedPolicy(fmt.Sprintf("The condition on %s%s cannot have the value %.100q", c.key.name, c.tag, v))
			}
		}
		for _, a := range r.actions {
			if !slices.Contains(c.key.actions, Action(a)) {
				return malformedPolicy(fmt.Sprintf("A condition on %s%s does not go with the action %.100q: name those for which it is, in full, and have a statement of its own for the others",
					c.key.name, c.tag, a))
			}
		}
	}
	return nil
}

// WithoutClauses returns a policy without the conditions that are evaluated
// here, after checking these. It returns the policy unchanged if it has none,
// or is no policy: the reader of the rest reports that.
func WithoutClauses(policy []byte) ([]byte, error) {
	doc, name, err := statementsOf(policy)
	if err != nil {
		return policy, nil
	}
	var statements []json.RawMessage
	if err := json.Unmarshal(doc[name], &statements); err != nil {
		return policy, nil
	}
	changed := false
	for i, raw := range statements {
		s, err := ReadStatement(raw)
		if err == nil && len(s.Clauses) > 0 {
			changed = true
			if err = s.check(); err == nil {
				statements[i], err = json.Marshal(s.rest)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !changed {
		return policy, nil
	}
	if doc[name], err = json.Marshal(statements); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// statementsOf reads a policy's elements, and the name of the one that has its
// statements.
func statementsOf(policy []byte) (doc map[string]json.RawMessage, name string, err error) {
	if err := json.Unmarshal(policy, &doc); err != nil {
		return nil, "", err
	}
	for n := range doc {
		if !strings.EqualFold(n, "Statement") {
			continue
		}
		if name != "" {
			return nil, "", errors.New("authz: the policy has Statement twice")
		}
		name = n
	}
	return doc, name, nil
}

// Statements returns the raw statements of a policy.
func Statements(policy []byte) (out []json.RawMessage, err error) {
	doc, name, err := statementsOf(policy)
	if err == nil {
		err = json.Unmarshal(doc[name], &out)
	}
	return out, err
}
