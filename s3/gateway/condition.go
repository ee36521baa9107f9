package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/utils"
)

// A policy may have conditions that versitygw does not know: on the tags of an object,
// on those that a request gives it, and on some headers. They want statements that name
// their actions: what the conditions are held against depends on the action.

// conditionKey is one that versitygw does not know, in lower case; with / at its end
// the name of a tag follows.
type conditionKey struct {
	name    string
	actions []auth.Action // that it may stand with, as in S3's reference
	value   func(v *conditionValues, action auth.Action, tag string) (*string, error)
}

var (
	tagReaders = []auth.Action{
		auth.GetObjectAction, auth.GetObjectVersionAction, auth.GetObjectAclAction, auth.PutObjectAclAction,
		auth.GetObjectAttributesAction, auth.GetObjectVersionAttributesAction,
		auth.GetObjectTaggingAction, auth.GetObjectVersionTaggingAction, auth.PutObjectTaggingAction, auth.PutObjectVersionTaggingAction,
		auth.DeleteObjectTaggingAction, auth.DeleteObjectVersionTaggingAction,
	}
	tagGivers = []auth.Action{auth.PutObjectAction, auth.PutObjectTaggingAction, auth.PutObjectVersionTaggingAction}
	copiers   = []auth.Action{auth.PutObjectAction}
	granters  = []auth.Action{auth.PutObjectAction, auth.PutObjectAclAction, auth.PutBucketAclAction}
)

var conditionKeys = []conditionKey{
	{"s3:existingobjecttag/", tagReaders, (*conditionValues).existingTag},
	{"s3:requestobjecttag/", tagGivers, (*conditionValues).requestTag},
	{"s3:x-amz-copy-source", copiers, (*conditionValues).copySource},
	{"s3:x-amz-metadata-directive", copiers, header("X-Amz-Metadata-Directive")},
	{"s3:x-amz-grant-read", granters, header("X-Amz-Grant-Read")},
	{"s3:x-amz-grant-write", granters, header("X-Amz-Grant-Write")},
	{"s3:x-amz-grant-read-acp", granters, header("X-Amz-Grant-Read-Acp")},
	{"s3:x-amz-grant-write-acp", granters, header("X-Amz-Grant-Write-Acp")},
	{"s3:x-amz-grant-full-control", granters, header("X-Amz-Grant-Full-Control")},
}

// findConditionKey answers which of them a name is, and of which tag.
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

// clause is one such condition.
type clause struct {
	key      *conditionKey
	tag      string
	operator string
	values   []string
}

// ruled is a statement without its conditions of ours, and these.
type ruled struct {
	rest      map[string]json.RawMessage
	action    string // the names of these elements, as the statement spells them
	condition string
	actions   []string
	clauses   []clause
}

// readRuled takes a statement apart.
func readRuled(statement json.RawMessage) (r ruled, err error) {
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
			r.clauses = append(r.clauses, clause{key: key, tag: tag, operator: operator, values: values})
			delete(keys, name)
		}
		if len(keys) == 0 {
			delete(block, operator)
		}
	}
	if len(r.clauses) == 0 {
		return r, nil
	}
	if r.actions, err = texts(r.rest[r.action]); err != nil {
		return r, malformedPolicy("Action has to be a string, or a list of strings")
	}
	return r, r.set(block)
}

// set puts the conditions into the statement.
func (r *ruled) set(block map[string]map[string]json.RawMessage) (err error) {
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

// check refuses what would be passed over, or not be told apart.
func (r *ruled) check() error {
	for _, c := range r.clauses {
		if _, ok := operatorOf(c.operator); !ok {
			return malformedPolicy(fmt.Sprintf("The condition on %s%s knows the operators of strings and Null, not %.100q", c.key.name, c.tag, c.operator))
		}
		for _, v := range c.values {
			if strings.Contains(v, "${") || c.operator == operatorNull && v != "true" && v != "false" {
				return malformedPolicy(fmt.Sprintf("The condition on %s%s cannot have the value %.100q", c.key.name, c.tag, v))
			}
		}
		for _, a := range r.actions {
			if !slices.Contains(c.key.actions, auth.Action(a)) {
				return malformedPolicy(fmt.Sprintf("A condition on %s%s does not go with the action %.100q: name those for which it is, in full, and have a statement of its own for the others",
					c.key.name, c.tag, a))
			}
		}
	}
	return nil
}

// eachRuled goes over the statements of a policy, and answers it with what change makes
// of those that have conditions of ours; as it is if none has, and if it is none:
// versitygw has its own words for that.
func eachRuled(policy []byte, change func(*ruled) error) ([]byte, error) {
	doc, name, err := statementsOf(policy)
	if err != nil {
		return policy, nil
	}
	var statements []json.RawMessage
	if err := json.Unmarshal(doc[name], &statements); err != nil {
		return policy, nil
	}
	changed := false
	for i, s := range statements {
		r, err := readRuled(s)
		if err == nil && len(r.clauses) > 0 {
			changed = true
			if err = change(&r); err == nil {
				statements[i], err = json.Marshal(r.rest)
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

// asksForPolicy says that the request asks for the bucket's policy itself.
func (r *request) asksForPolicy() bool {
	return r.policyRead && r.web != nil && strings.Trim(r.web.Path(), "/") == r.web.Params("bucket")
}

// taggedPolicies are the policies that versitygw refuses for conditions of ours.
var taggedPolicies = bucketAction{
	metrics.ActionPutBucketPolicy, auth.PutBucketPolicyAction, auth.PermissionWrite, (*Backend).putConditioned,
}

// policyRefused says that versitygw refused a policy, after it had verified the
// request.
func (s *Server) policyRefused(ctx fiber.Ctx, req *request) bool {
	return req.event.Operation == "PutBucketPolicy" && req.routed != "" && req.event.Code == "MalformedPolicy" && utils.ContextKeyParsedAcl.IsSet(ctx)
}

// putConditioned has versitygw look at a policy without the conditions that are ours,
// which are looked at here, and stores it.
func (b *Backend) putConditioned(ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	plain, err := eachRuled(body, (*ruled).check)
	if err == nil {
		err = auth.ValidatePolicyDocument(plain, bucket, b.accounts)
	}
	if err == nil {
		err = b.PutBucketPolicy(ctx, bucket, body)
	}
	if err != nil {
		return &controllers.Response{}, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, nil
}
