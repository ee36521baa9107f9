package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3/authz"
)

// versitygw parses a policy at each decision. It gets one that carries the
// decision made here, by the policy parsed once: a few statements on just the
// resources of the request, so that they allow nothing else.

// ruling is a policy's decision about one request, and the resources that
// versitygw may check.
type ruling struct {
	*authz.Ruling
	conditionValues
}

// rulingOf returns the ruling of a bucket's policy on the request of ctx, with
// the grant of a key that has the bucket; nil if nothing of the policy applies.
func (b *Backend) rulingOf(ctx context.Context, bucket string, policy []byte) (*ruling, error) {
	req, p := requestOf(ctx), b.policies.Of(bucket, policy)
	err := p.Err
	if req.web == nil {
		err = errors.New("s3: a policy is asked for outside of a request")
	}
	if err != nil {
		return nil, b.fail(&op{req: req, names: names{bucket: bucket}}, err)
	}
	rules, err := b.restricted(ctx, bucket, p)
	if err != nil || len(rules) == 0 && len(p.Statements) > 0 {
		return nil, err
	}
	key, err := b.policyGrantee(ctx, req, bucket)
	if err != nil {
		return nil, err
	}
	acct, _ := account(ctx)
	r := &ruling{conditionValues: conditionValues{ctx: ctx, b: b, req: req, bucket: bucket, version: auth.PolicyVersion(p.Version)}}
	var further []authz.PolicyStatement
	if key != nil {
		// What the policy allows, and for which tags, adds nothing to that.
		rules, further = p.Denials(), append(further, authz.KeyRule(bucket, *key))
	}
	r.Ruling = authz.NewRuling(&r.conditionValues, strings.Clone(acct.Access), rules, further...)
	return r, nil
}

// refuses returns why an action on an object is denied; nil if it is not.
func (r *ruling) refuses(action auth.Action, key string) error {
	resource := r.bucket + "/" + key
	allowed, denied, err := r.Decides(authz.Action(action), resource)
	switch {
	case err != nil:
		return r.b.fail(&op{req: r.req, names: names{bucket: r.bucket}}, err)
	case denied:
		acct, _ := account(r.ctx)
		return s3err.GetExplicitDenyAccessErr(acct.Access, string(action), auth.ResourceArnPrefix+resource, "a resource-based policy")
	case !allowed:
		return s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return nil
}

// probe is a backend with a policy, and nothing else.
type probe struct {
	backend.BackendUnsupported
	policy []byte
}

// GetBucketPolicy returns the policy.
func (p probe) GetBucketPolicy(context.Context, string) ([]byte, error) { return p.policy, nil }

// shownStatement is a statement of the policy that versitygw gets.
type shownStatement struct {
	Effect    auth.BucketPolicyAccessType
	Principal string
	Action    []authz.Action
	Resource  string
	Condition json.RawMessage `json:",omitempty"`
}

func showPolicy(version auth.PolicyVersion, statements []shownStatement) ([]byte, error) {
	return json.Marshal(struct {
		Version   auth.PolicyVersion
		Statement []shownStatement
	}{version, append([]shownStatement{}, statements...)})
}

// shown returns the policy by which versitygw makes the ruling's decisions. It
// allows every key of a deletion: DeleteObjects decides on each. For versitygw
// a key with * or ? is a pattern, which allows no more than what is allowed on
// everything that it covers.
func (r *ruling) shown() ([]byte, error) {
	if r.req.deletesMany() {
		return showPolicy(auth.PolicyVersion2012, []shownStatement{{
			Effect: auth.BucketPolicyAccessTypeAllow, Principal: "*",
			Action: []authz.Action{authz.Action(auth.DeleteObjectAction), authz.Action(auth.DeleteObjectVersionAction)}, Resource: auth.ResourceArnPrefix + r.bucket + "/*",
		}})
	}
	var out []shownStatement
	resources := r.resources()
	said := make([]authz.Verdict, len(resources))
	for i, resource := range resources {
		v, err := r.On(resource)
		if err != nil {
			return nil, err
		}
		said[i] = v
	}
	for i, resource := range resources {
		v := said[i]
		for j, other := range resources {
			if i != j && (auth.Resources{}).Match(resource, other, r.b.NormalizeObjectKey) {
				v.Allows = v.Allows.Only(said[j].Allows)
			}
		}
		s := shownStatement{Principal: "*", Resource: auth.ResourceArnPrefix + resource}
		if s.Action = v.Allows.Names(); s.Action != nil {
			s.Effect = auth.BucketPolicyAccessTypeAllow
			out = append(out, s)
		}
		if s.Action = v.Denies.Names(); s.Action != nil {
			s.Effect = auth.BucketPolicyAccessTypeDeny
			out = append(out, s)
		}
	}
	return showPolicy(auth.PolicyVersion2012, out)
}

// deletesMany reports whether the request is a DeleteObjects.
func (r *request) deletesMany() bool {
	return r.web.Method() == http.MethodPost && r.event.Key == "" && r.web.Request().URI().QueryArgs().Has("delete")
}

// resources returns those in the bucket that versitygw may check for the
// request: the bucket, the object that it names, a form's, and the source of a
// copy, with and without its version.
func (r *ruling) resources() []string {
	out := []string{r.bucket}
	add := func(bucket, key string) {
		if bucket == r.bucket && key != "" {
			out = append(out, bucket+"/"+strings.Clone(key))
		}
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.req.web.Path(), "/"), "/")
	add(bucket, key)
	if form, ok := formOf(r.ctx); ok {
		add(bucket, form.Fields["key"])
	}
	if source := r.req.web.Get("X-Amz-Copy-Source"); source != "" {
		if from, key, _, err := backend.ParseCopySource(strings.Clone(source)); err == nil {
			add(from, key)
		}
		if plain, err := url.QueryUnescape(strings.TrimPrefix(source, "/")); err == nil {
			from, key, _ := strings.Cut(plain, "/")
			add(from, key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
