package gateway

import (
	"bytes"
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
)

// versitygw reads a policy anew at each decision. It is shown one that says what was
// decided here, by the policy as it was read once: a few statements on just the
// resources that the request is about, so that nothing else is allowed by them.

// policyActions are those that versitygw asks policies for. One that lacked here would
// be allowed by none.
var policyActions = []auth.Action{
	auth.GetBucketAclAction, auth.CreateBucketAction, auth.PutBucketAclAction, auth.DeleteBucketAction, auth.PutBucketVersioningAction,
	auth.GetBucketVersioningAction, auth.PutBucketPolicyAction, auth.GetBucketPolicyAction, auth.DeleteBucketPolicyAction,
	auth.AbortMultipartUploadAction, auth.ListMultipartUploadPartsAction, auth.ListBucketMultipartUploadsAction, auth.PutObjectAction,
	auth.GetObjectAction, auth.GetObjectVersionAction, auth.DeleteObjectAction, auth.DeleteObjectVersionAction, auth.GetObjectAclAction,
	auth.GetObjectAttributesAction, auth.GetObjectVersionAttributesAction, auth.PutObjectAclAction, auth.RestoreObjectAction,
	auth.GetBucketTaggingAction, auth.PutBucketTaggingAction, auth.GetObjectTaggingAction, auth.GetObjectVersionTaggingAction,
	auth.PutObjectTaggingAction, auth.PutObjectVersionTaggingAction, auth.DeleteObjectTaggingAction, auth.DeleteObjectVersionTaggingAction,
	auth.ListBucketVersionsAction, auth.ListBucketAction, auth.GetBucketObjectLockConfigurationAction, auth.PutBucketObjectLockConfigurationAction,
	auth.GetObjectLegalHoldAction, auth.PutObjectLegalHoldAction, auth.GetObjectRetentionAction, auth.PutObjectRetentionAction,
	auth.BypassGovernanceRetentionAction, auth.PutBucketOwnershipControlsAction, auth.GetBucketOwnershipControlsAction, auth.PutBucketCorsAction,
	auth.GetBucketCorsAction, auth.PutAnalyticsConfigurationAction, auth.GetAnalyticsConfigurationAction, auth.PutEncryptionConfigurationAction,
	auth.GetEncryptionConfigurationAction, auth.PutIntelligentTieringConfigurationAction, auth.GetIntelligentTieringConfigurationAction,
	auth.PutInventoryConfigurationAction, auth.GetInventoryConfigurationAction, auth.PutLifecycleConfigurationAction,
	auth.GetLifecycleConfigurationAction, auth.PutBucketLoggingAction, auth.GetBucketLoggingAction, auth.PutBucketRequestPaymentAction,
	auth.GetBucketRequestPaymentAction, auth.PutMetricsConfigurationAction, auth.GetMetricsConfigurationAction, auth.PutReplicationConfigurationAction,
	auth.GetReplicationConfigurationAction, auth.PutBucketPublicAccessBlockAction, auth.GetBucketPublicAccessBlockAction,
	auth.PutBucketNotificationAction, auth.GetBucketNotificationAction, auth.PutAccelerateConfigurationAction, auth.GetAccelerateConfigurationAction,
	auth.PutBucketWebsiteAction, auth.GetBucketWebsiteAction, auth.DeleteBucketWebsiteAction, auth.GetBucketPolicyStatusAction,
	auth.GetBucketLocationAction,
}

// actionSet says of each of policyActions whether it is in it.
type actionSet []bool

// actionsOf are the actions that patterns name.
func actionsOf(patterns auth.Actions) actionSet {
	out := make(actionSet, len(policyActions))
	for i, a := range policyActions {
		out[i] = patterns.FindMatch(a)
	}
	return out
}

func (s actionSet) add(other actionSet) {
	for i, has := range other {
		s[i] = s[i] || has
	}
}

// only are the actions that are in another set, too.
func (s actionSet) only(other actionSet) actionSet {
	out := make(actionSet, len(s))
	for i, has := range s {
		out[i] = has && other[i]
	}
	return out
}

// names are those of its actions.
func (s actionSet) names() (out []auth.Action) {
	for i, has := range s {
		if has {
			out = append(out, policyActions[i])
		}
	}
	if len(out) == len(policyActions) {
		return []auth.Action{auth.AllActions}
	}
	return out
}

// rule is a statement of a policy. It is not changed.
type rule struct {
	allow      bool
	principals auth.Principals
	actions    actionSet
	resources  []glob
	condition  json.RawMessage // versitygw's; nil: none
	clauses    []clause        // the conditions that versitygw does not know
}

// globs are the patterns of resources.
func globs(patterns auth.Resources) (out []glob) {
	for p := range patterns {
		out = append(out, characters(p))
	}
	return out
}

// covers reports whether the statement is about a resource. versitygw's own matcher lets a
// * in a key use up the pattern's.
func (r rule) covers(resource string) bool {
	text := characters(resource)
	return slices.ContainsFunc(r.resources, func(g glob) bool { return g.matches(text) })
}

// concerns says that the statement is about an account, or about everybody.
func (r rule) concerns(access string) bool {
	_, named := r.principals[access]
	_, everybody := r.principals["*"]
	return named || everybody
}

// ruling is what a policy says about one request. It is used by one goroutine at a time.
type ruling struct {
	conditionValues
	version auth.PolicyVersion
	rules   []rule
	// found is what of each rule counts for the request, once its conditions were looked at.
	found map[int]verdict
}

// verdict is what is allowed and what is denied; nil: nothing.
type verdict struct{ allows, denies actionSet }

// rulingOf returns what a bucket's policy says about the request of ctx, with the grant
// of the key that has the bucket; nil if nothing of the policy counts.
func (b *Backend) rulingOf(ctx context.Context, bucket string, policy []byte) (*ruling, error) {
	req, p := requestOf(ctx), b.policies.of(bucket, policy)
	err := p.err
	if req.web == nil {
		err = errors.New("s3: a policy is asked for outside of a request")
	}
	if err != nil {
		return nil, b.fail(&op{req: req, names: names{bucket: bucket}}, err)
	}
	rules, err := b.restricted(ctx, bucket, p)
	if err != nil || len(rules) == 0 && len(p.rules) > 0 {
		return nil, err
	}
	key, err := b.policyGrantee(ctx, req, bucket)
	if err != nil {
		return nil, err
	}
	acct, _ := account(ctx)
	r := &ruling{
		conditionValues: conditionValues{ctx: ctx, b: b, req: req, bucket: bucket},
		version:         p.version, found: map[int]verdict{},
	}
	for _, rule := range rules {
		if rule.concerns(acct.Access) {
			r.rules = append(r.rules, rule)
		}
	}
	if key != nil {
		r.rules = append(r.rules, keyRule(bucket, key))
	}
	return r, nil
}

// on is what is allowed and denied on a resource: a bucket, or bucket/key.
func (r *ruling) on(resource string) (v verdict, err error) {
	v = verdict{make(actionSet, len(policyActions)), make(actionSet, len(policyActions))}
	for i := range r.rules {
		found, err := r.counts(i, resource)
		if err != nil {
			return v, err
		}
		v.allows.add(found.allows)
		v.denies.add(found.denies)
	}
	return v, nil
}

// refuses is why an action on an object is refused; nil: it is not.
func (r *ruling) refuses(action auth.Action, key string) error {
	resource, allowed := r.bucket+"/"+key, false
	a := slices.Index(policyActions, action)
	for i, rule := range r.rules {
		if !rule.actions[a] {
			continue
		}
		found, err := r.counts(i, resource)
		if err != nil {
			return err
		}
		if found.denies != nil && found.denies[a] {
			acct, _ := account(r.ctx)
			return s3err.GetExplicitDenyAccessErr(acct.Access, string(action), auth.ResourceArnPrefix+resource, "a resource-based policy")
		}
		allowed = allowed || found.allows != nil && found.allows[a]
	}
	if !allowed {
		return s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return nil
}

// counts is what a rule allows and denies on a resource.
func (r *ruling) counts(i int, resource string) (v verdict, err error) {
	rule := r.rules[i]
	if !rule.covers(resource) {
		return v, nil
	}
	v, ok := r.found[i]
	if !ok {
		if v, err = r.judge(rule); err != nil {
			return v, r.b.fail(&op{req: r.req, names: names{bucket: r.bucket}}, err)
		}
		r.found[i] = v
	}
	return v, nil
}

// judge looks at a statement's conditions. One that cannot be looked at denies, as
// versitygw has it.
func (r *ruling) judge(rule rule) (v verdict, err error) {
	actions := rule.actions
	if len(rule.clauses) > 0 {
		actions = slices.Clone(actions)
		for i, has := range actions {
			if has {
				if actions[i], err = r.hold(rule.clauses, policyActions[i]); err != nil {
					return v, err
				}
			}
		}
	}
	holds, known := r.met(rule.condition)
	switch {
	case known && !holds:
	case known && rule.allow:
		v.allows = actions
	default:
		v.denies = actions
	}
	return v, nil
}

// met has versitygw say whether a condition holds for the request; known: it can say. Where
// the condition has a pattern, and the request a * in what it is held against, it cannot:
// its matcher lets that use up the pattern's.
func (r *ruling) met(condition json.RawMessage) (holds, known bool) {
	if condition == nil {
		return true, true
	}
	if strings.Contains(strings.ToLower(string(condition)), "like") && r.starred() {
		return false, false
	}
	everybody := shownStatement{Effect: auth.BucketPolicyAccessTypeAllow, Principal: "*", Action: []auth.Action{auth.GetObjectAction}, Resource: auth.ResourceArnPrefix + r.bucket}
	on, unless := everybody, everybody
	on.Condition, unless.Condition, unless.Effect = condition, condition, auth.BucketPolicyAccessTypeDeny
	if r.passes(on) {
		return true, true
	}
	return false, r.passes(everybody, unless)
}

// starred reports whether the request has a * in what versitygw's conditions are held
// against and a client may choose.
func (r *ruling) starred() bool {
	for _, name := range []string{"User-Agent", "Referer", "X-Amz-Acl"} {
		if strings.Contains(r.req.web.Get(name), "*") {
			return true
		}
	}
	for _, value := range r.req.web.Request().URI().QueryArgs().All() {
		if bytes.ContainsRune(value, '*') {
			return true
		}
	}
	return false
}

// passes says that versitygw lets the request pass by these statements.
func (r *ruling) passes(statements ...shownStatement) bool {
	policy, err := showPolicy(r.version, statements)
	return err == nil && auth.VerifyPublicAccess(r.req.web, probe{policy: policy}, auth.GetObjectAction, auth.PermissionRead, r.bucket, "") == nil
}

// probe is a backend with a policy, and nothing else.
type probe struct {
	backend.BackendUnsupported
	policy []byte
}

// GetBucketPolicy returns it.
func (p probe) GetBucketPolicy(context.Context, string) ([]byte, error) { return p.policy, nil }

// shownStatement is one of a policy as versitygw is shown it.
type shownStatement struct {
	Effect    auth.BucketPolicyAccessType
	Principal string
	Action    []auth.Action
	Resource  string
	Condition json.RawMessage `json:",omitempty"`
}

func showPolicy(version auth.PolicyVersion, statements []shownStatement) ([]byte, error) {
	return json.Marshal(struct {
		Version   auth.PolicyVersion
		Statement []shownStatement
	}{version, append([]shownStatement{}, statements...)})
}

// shown is the policy by which versitygw comes to the decisions of the ruling. It lets
// every key of a deletion pass: DeleteObjects decides on each. To versitygw a key with * or
// ? is a pattern, which allows no more than what is allowed on all that it covers.
func (r *ruling) shown() ([]byte, error) {
	if r.req.deletesMany() {
		return showPolicy(auth.PolicyVersion2012, []shownStatement{{
			Effect: auth.BucketPolicyAccessTypeAllow, Principal: "*",
			Action: []auth.Action{auth.DeleteObjectAction, auth.DeleteObjectVersionAction}, Resource: auth.ResourceArnPrefix + r.bucket + "/*",
		}})
	}
	var out []shownStatement
	resources := r.resources()
	said := make([]verdict, len(resources))
	for i, resource := range resources {
		v, err := r.on(resource)
		if err != nil {
			return nil, err
		}
		said[i] = v
	}
	for i, resource := range resources {
		v := said[i]
		for j, other := range resources {
			if i != j && (auth.Resources{}).Match(resource, other, r.b.NormalizeObjectKey) {
				v.allows = v.allows.only(said[j].allows)
			}
		}
		s := shownStatement{Principal: "*", Resource: auth.ResourceArnPrefix + resource}
		if s.Action = v.allows.names(); s.Action != nil {
			s.Effect = auth.BucketPolicyAccessTypeAllow
			out = append(out, s)
		}
		if s.Action = v.denies.names(); s.Action != nil {
			s.Effect = auth.BucketPolicyAccessTypeDeny
			out = append(out, s)
		}
	}
	return showPolicy(auth.PolicyVersion2012, out)
}

// deletesMany says that the request is a deletion of many objects.
func (r *request) deletesMany() bool {
	return r.web.Method() == http.MethodPost && r.event.Key == "" && r.web.Request().URI().QueryArgs().Has("delete")
}

// resources are those in the bucket that versitygw may ask about for the request: the
// bucket, the object that it names, a form's, and the source of a copy, with and
// without its version.
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
