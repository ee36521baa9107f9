package authz_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe/s3/authz"
)

// asked is a request with fixed values for conditions.
type asked struct {
	headers map[string][]string
	tags    map[string]string // of the object
	err     error             // of evaluating them
	known   bool              // whether a condition can be evaluated
}

func (a asked) Header(name string) []string { return a.headers[name] }
func (asked) CopySource() (string, error)   { return "", nil }
func (a asked) ObjectTag(_ authz.Action, tag string) (*string, error) {
	if value, ok := a.tags[tag]; ok {
		return &value, a.err
	}
	return nil, a.err
}
func (asked) GivenTags() (map[string]string, error)       { return nil, nil }
func (a asked) Meets(json.RawMessage) (holds, known bool) { return true, a.known }

// rule reads one statement about everything in a bucket.
func rule(t *testing.T, allow bool, who, condition string) authz.PolicyStatement {
	t.Helper()
	s, err := authz.ReadStatement(json.RawMessage(`{"Action":"s3:GetObject"` + condition + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return authz.PolicyStatement{
		Allow: allow, Principals: map[string]struct{}{who: {}}, Clauses: s.Clauses, Condition: s.Condition(),
		Actions:   authz.ActionsThat(func(a authz.Action) bool { return a == "s3:GetObject" }),
		Resources: []authz.Pattern{authz.PatternOf("b/*")},
	}
}

// TestRulings checks that a Deny takes precedence over an Allow in any order,
// and that a statement that cannot be evaluated denies.
func TestRulings(t *testing.T) {
	const (
		none   = ``
		tagged = `,"Condition":{"StringEquals":{"s3:ExistingObjectTag/class":"secret"}}`
		other  = `,"Condition":{"Bool":{"aws:SecureTransport":"true"}}`
	)
	secret := asked{tags: map[string]string{"class": "secret"}}
	for name, c := range map[string]struct {
		req             asked
		access          string
		rules           []authz.PolicyStatement
		allowed, denied bool
	}{
		"nothing":                    {rules: nil},
		"everybody":                  {rules: []authz.PolicyStatement{rule(t, true, "*", none)}, allowed: true},
		"another":                    {access: "bob", rules: []authz.PolicyStatement{rule(t, true, "alice", none)}},
		"a Deny behind":              {access: "bob", rules: []authz.PolicyStatement{rule(t, true, "*", none), rule(t, false, "bob", none)}, denied: true},
		"a Deny before":              {access: "bob", rules: []authz.PolicyStatement{rule(t, false, "bob", none), rule(t, true, "*", none)}, denied: true},
		"a tag that it has":          {req: secret, rules: []authz.PolicyStatement{rule(t, true, "*", tagged)}, allowed: true},
		"a tag that it lacks":        {rules: []authz.PolicyStatement{rule(t, true, "*", tagged)}},
		"a condition that is met":    {req: asked{known: true}, rules: []authz.PolicyStatement{rule(t, true, "*", other)}, allowed: true},
		"an Allow that is not known": {rules: []authz.PolicyStatement{rule(t, true, "*", other)}, denied: true},
	} {
		allowed, denied, err := authz.NewRuling(c.req, c.access, c.rules).Decides("s3:GetObject", "b/k")
		if err != nil || allowed != c.allowed || denied != c.denied {
			t.Errorf("%s: allowed %v, denied %v, %v", name, allowed, denied, err)
		}
	}
	broken := asked{err: errors.New("no answer")}
	if _, _, err := authz.NewRuling(broken, "", []authz.PolicyStatement{rule(t, true, "*", tagged)}).Decides("s3:GetObject", "b/k"); !errors.Is(err, broken.err) {
		t.Errorf("tags that cannot be looked up: %v", err)
	}
}
