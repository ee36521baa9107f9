package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// conditionValues are the values of conditions, for one request and a bucket
// that it names.
type conditionValues struct {
	ctx     context.Context
	b       *Backend
	req     *request
	bucket  string
	version auth.PolicyVersion // of the policy
}

var _ authz.Request = (*conditionValues)(nil)

// Header returns the values of a header.
func (v *conditionValues) Header(name string) (out []string) {
	for _, value := range v.req.web.Request().Header.PeekAll(name) {
		out = append(out, string(value))
	}
	return out
}

// CopySource returns the source of a copy.
func (v *conditionValues) CopySource() (string, error) {
	bucket, key, err := v.source()
	if err != nil || bucket == "" {
		return "", err
	}
	return bucket + "/" + key, nil
}

func (v *conditionValues) source() (bucket, key string, err error) {
	source := v.req.web.Get("X-Amz-Copy-Source")
	if source == "" || v.req.web.Method() != http.MethodPut {
		return "", "", nil
	}
	bucket, key, _, err = backend.ParseCopySource(strings.Clone(source))
	return bucket, key, err
}

// key returns the key that an action is about in the bucket: of a copy,
// s3:GetObject is about the source.
func (v *conditionValues) key(action authz.Action) (string, error) {
	bucket, key, err := v.source()
	switch {
	case err != nil:
		return "", err
	case bucket != "" && (action == authz.Action(auth.GetObjectAction) || action == authz.Action(auth.GetObjectVersionAction)):
		if bucket != v.bucket {
			return "", nil
		}
		return key, nil
	}
	routed := strings.Clone(v.req.web.Params("bucket"))
	key, ok := strings.CutPrefix(strings.Clone(v.req.web.Path()), "/"+routed+"/")
	if !ok || routed != v.bucket {
		return "", nil
	}
	return key, nil
}

// ObjectTag returns a tag of the object that an action is about, nil if the object has
// none of the name or does not exist. The request is then served no object with another.
func (v *conditionValues) ObjectTag(action authz.Action, tag string) (*string, error) {
	key, err := v.key(action)
	if err != nil || key == "" {
		return nil, err
	}
	name := objectName{v.bucket, key}
	if _, err := v.b.judge(v.req, name); err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) {
		return nil, err
	}
	return v.req.judgesTag(name, tag), nil
}

// GivenTags returns the tags that the request sets by a document, a form field
// or a header.
func (v *conditionValues) GivenTags() (map[string]string, error) {
	web := v.req.web
	form, isForm := formOf(v.ctx)
	switch {
	case web.Method() == http.MethodPut && web.Request().URI().QueryArgs().Has("tagging"):
		return givenDocument(web.Request().Body())
	case isForm:
		for name, value := range form.Fields {
			if strings.EqualFold(name, "tagging") {
				return givenDocument([]byte(value))
			}
		}
		return nil, nil
	case web.Method() == http.MethodPut && web.Get("X-Amz-Copy-Source") != "" && web.Get("X-Amz-Tagging-Directive") != "REPLACE":
		return nil, nil
	}
	text := strings.Clone(web.Get("X-Amz-Tagging"))
	return tagsOf(&text)
}

func givenDocument(body []byte) (map[string]string, error) {
	if len(body) == 0 {
		return nil, nil
	}
	if len(body) <= s3.MaxTagDocument {
		if tags, ok := s3.DocumentTags(body); ok {
			return tags, nil
		}
	}
	return nil, s3err.GetAPIError(s3err.ErrMalformedXML)
}

// Meets evaluates a condition by versitygw. It returns known false if the
// condition has a pattern and the compared values a *: versitygw's matcher lets
// that use up the pattern's.
func (v *conditionValues) Meets(condition json.RawMessage) (holds, known bool) {
	if authz.HasPattern(condition) && v.starred() {
		return false, false
	}
	everybody := shownStatement{Effect: auth.BucketPolicyAccessTypeAllow, Principal: "*", Action: []authz.Action{authz.Action(auth.GetObjectAction)}, Resource: auth.ResourceArnPrefix + v.bucket}
	on, unless := everybody, everybody
	on.Condition, unless.Condition, unless.Effect = condition, condition, auth.BucketPolicyAccessTypeDeny
	if v.passes(on) {
		return true, true
	}
	return false, v.passes(everybody, unless)
}

// starred reports whether a client put a * into a value that versitygw's
// conditions compare.
func (v *conditionValues) starred() bool {
	for _, name := range []string{"User-Agent", "Referer", "X-Amz-Acl"} {
		if strings.Contains(v.req.web.Get(name), "*") {
			return true
		}
	}
	for _, value := range v.req.web.Request().URI().QueryArgs().All() {
		if bytes.ContainsRune(value, '*') {
			return true
		}
	}
	return false
}

// passes reports whether versitygw allows the request by these statements.
func (v *conditionValues) passes(statements ...shownStatement) bool {
	policy, err := showPolicy(v.version, statements)
	return err == nil && auth.VerifyPublicAccess(v.req.web, probe{policy: policy}, auth.GetObjectAction, auth.PermissionRead, v.bucket, "") == nil
}
