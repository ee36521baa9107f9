package authz

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/s3"
)

// Elements that a policy and its statements may have here; * is required. The
// gateway's library ignores any other, so that a Deny with NotPrincipal would
// deny nothing, and an Allow with a misspelt Condition would be unconditional.
var (
	policyElements    = []string{"Version", "Id", "Statement*"}
	statementElements = []string{"Sid", "Effect*", "Principal*", "Action*", "Resource*", "Condition"}
	principalElements = []string{"AWS*"}
)

// version2012 is the policy version that introduced variables.
const version2012 = "2012-10-17"

// CheckPolicy refuses the parts of a policy that would have no effect. It fails
// with an s3.Error.
func CheckPolicy(policy []byte) error {
	doc, err := elements("The policy", policy, policyElements)
	if err != nil {
		return err
	}
	var statements []json.RawMessage
	if err := json.Unmarshal(doc["statement"], &statements); err != nil {
		return malformedPolicy("Statement has to be a list")
	}
	for _, s := range statements {
		parts, err := elements("A statement", s, statementElements)
		if err != nil {
			return err
		}
		if who := bytes.TrimSpace(parts["principal"]); bytes.HasPrefix(who, []byte("{")) {
			if _, err := elements("Principal", who, principalElements); err != nil {
				return err
			}
		}
		if err := strictCondition(parts["condition"]); err != nil {
			return err
		}
		if err := strictResource(parts["resource"], doc["version"]); err != nil {
			return err
		}
	}
	return nil
}

// strictResource refuses variables from policy version 2012-10-17 on: the
// gateway's library takes them for object names.
func strictResource(resource, version json.RawMessage) error {
	var names, since any
	if err := json.Unmarshal(resource, &names); err != nil {
		return malformedPolicy("Resource is no JSON")
	}
	if len(version) > 0 && json.Unmarshal(version, &since) != nil {
		return malformedPolicy("Version is no JSON")
	}
	if since == version2012 && strings.Contains(fmt.Sprint(names), "${") {
		return malformedPolicy("Resource has a variable, which is not supported there: nothing of the policy was taken")
	}
	return nil
}

// noRequestHas are the condition keys, in lower case, that the gateway's
// library accepts and never evaluates: a Deny by them would deny nothing.
var noRequestHas = []string{"aws:principalarn", "aws:username", "aws:userid"}

// strictCondition refuses conditions that would be ignored: of two of a kind
// the gateway's library takes the last.
func strictCondition(condition []byte) error {
	if condition == nil {
		return nil
	}
	operators, err := elements("Condition", condition, nil)
	if err != nil {
		return err
	}
	for name, operator := range operators {
		keys, err := elements("Condition "+name, operator, nil)
		if err != nil {
			return err
		}
		for key := range keys {
			if slices.Contains(noRequestHas, key) {
				return malformedPolicy("Policy has a condition key that is not known of requests here: " + key + "; name accounts by Principal")
			}
		}
	}
	return nil
}

// elements reads an object by the names of its elements in lower case. Each may
// occur once, and has to be in known (nil: any).
func elements(what string, object []byte, known []string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, malformedPolicy(what + " has to be an object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, malformedPolicy(what + " is no JSON")
		}
		given := fmt.Sprint(t)
		name := strings.ToLower(given)
		if known != nil && !slices.ContainsFunc(known, func(k string) bool { return strings.ToLower(strings.TrimSuffix(k, "*")) == name }) {
			return nil, malformedPolicy(fmt.Sprintf("%s has an element %.100q, which is not supported: nothing of the policy was taken", what, given))
		}
		if _, again := out[name]; again {
			return nil, malformedPolicy(fmt.Sprintf("%s has %s twice", what, given))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, malformedPolicy(what + " is no JSON")
		}
		out[name] = value
	}
	for _, k := range known {
		if name, needed := strings.CutSuffix(k, "*"); needed && out[strings.ToLower(name)] == nil {
			return nil, malformedPolicy(what + " lacks " + name)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, malformedPolicy(what + " is no JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, malformedPolicy("something follows " + what)
	}
	return out, nil
}

func malformedPolicy(why string) error {
	return &s3.Error{Code: "MalformedPolicy", Message: why + ".", Status: http.StatusBadRequest}
}
