package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// An object without its own access control list is under its bucket's. One that
// has its own is read, and its list read and written, by that alone: where
// versitygw reads the bucket's list to decide, it gets the object's. The
// bucket's owner may always do everything, and owns the objects in the bucket.
// With the ownership BucketOwnerEnforced lists have no effect and cannot be
// set, as on S3.

// GetObjectAcl returns the effective grants of the object, in our own XML:
// versitygw has none for it.
func (b *Backend) GetObjectAcl(ctx context.Context, in *awss3.GetObjectAclInput) (*awss3.GetObjectAclOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key)})
	defer o.cancel()
	if err != nil {
		return nil, err
	}
	obj, err := b.store.Objects.Head(o.ctx, o.at())
	if err != nil {
		return nil, b.fail(o, err)
	}
	list, err := b.storedACL(ctx, o.names.bucket)
	if err != nil {
		return nil, err
	}
	off, err := b.listsOff(ctx, o.names.bucket)
	if err != nil {
		return nil, err
	}
	grants := list.GroupsFirst()
	if own := obj.Attrs.ACL; own != nil && !off {
		grants = own.Grants
	}
	o.req.document = authz.ObjectListXML(list.Owner, grants)
	return &awss3.GetObjectAclOutput{}, nil
}

// PutObjectAcl replaces the object's own list.
func (b *Backend) PutObjectAcl(ctx context.Context, in *awss3.PutObjectAclInput) error {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return err
	}
	rc, ok := ctx.(*fasthttp.RequestCtx)
	if !ok {
		return notImplemented()
	}
	w, err := wished(&rc.Request.Header)
	if err != nil {
		return err
	}
	list, err := b.replacement(ctx, o, w, rc.Request.Body())
	if err != nil {
		return b.fail(o, err)
	}
	if list == nil {
		// It requests the default.
		_, err = b.store.Objects.Head(o.ctx, o.at())
		return b.fail(o, err)
	}
	return b.fail(o, b.setObjectList(o, list))
}

// replacement returns the list that a PutObjectAcl requests, nil if that is the
// default of a bucket without lists.
func (b *Backend) replacement(ctx context.Context, o *op, w authz.RequestedACL, body []byte) (*ledger.ACL, error) {
	switch given := !w.Empty(); {
	case given && len(body) > 0:
		return nil, s3err.GetAPIError(s3err.ErrUnexpectedContent)
	case given:
		return b.granted(ctx, o, w)
	case len(body) == 0:
		return nil, s3err.GetAPIError(s3err.ErrMissingSecurityHeader)
	}
	owner, err := b.bucketOwner(ctx, o.names.bucket)
	if err != nil {
		return nil, err
	}
	if w.Grants, err = authz.DocumentGrants(body, owner); err != nil {
		return nil, err
	}
	return b.granted(ctx, o, w)
}

// ownACL returns the list that a request sets for the object it writes, nil for
// none. Writing an object includes setting its list, unless a policy says
// otherwise.
func (b *Backend) ownACL(ctx context.Context, o *op) (*ledger.ACL, error) {
	rc, ok := ctx.(*fasthttp.RequestCtx)
	if !ok {
		return nil, nil
	}
	w, err := wished(&rc.Request.Header)
	if form, ok := formOf(ctx); ok {
		w, err = wishedByForm(&rc.Request.Header, form.Fields)
	}
	if err != nil || w.Empty() {
		return nil, err
	}
	list, err := b.granted(ctx, o, w)
	if err != nil || list == nil {
		return nil, err
	}
	owner, err := b.bucketOwner(ctx, o.names.bucket)
	if err == nil && !w.IsDefault(owner) {
		err = b.allow(ctx, o.req, o.names.bucket, authz.Setting)
	}
	if err != nil {
		return nil, err
	}
	return list, b.maySetACL(ctx, o)
}

// granted converts a wish to a list. Grants without effect are refused.
func (b *Backend) granted(ctx context.Context, o *op, w authz.RequestedACL) (*ledger.ACL, error) {
	bucket := o.names.bucket
	off, err := b.listsOff(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if off {
		owner, err := b.bucketOwner(ctx, bucket)
		if err == nil && !w.IsDefault(owner) {
			err = s3err.GetAPIError(s3err.ErrAclNotSupported)
		}
		return nil, err
	}
	if w.Canned != "" {
		owner, err := b.bucketOwner(ctx, bucket)
		if err != nil {
			return nil, err
		}
		acct, _ := account(ctx)
		writer := strings.Clone(acct.Access)
		if !b.isAccount(o.req) {
			writer = owner
		}
		if w.Grants, err = canned(w.Canned, owner, writer); err != nil {
			return nil, err
		}
	}
	if err := b.unblockedGrants(ctx, bucket, w.Grants); err != nil {
		return nil, err
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err == nil {
		err = b.holdable(ctx, w.Grants, owner)
	}
	return &ledger.ACL{Grants: w.Grants}, err
}

// holdable refuses grants without effect: accounts have to exist, and access
// keys that are not accounts are confined to their buckets.
func (b *Backend) holdable(ctx context.Context, grants []ledger.Grant, owner string) error {
	var ids []string
	for _, g := range grants {
		if g.Account != "" && g.Account != owner {
			ids = append(ids, g.Account)
		}
	}
	if len(ids) == 0 || b.accounts == nil {
		return nil
	}
	missing, err := b.accounts.ResolveAccounts(ids)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return refusal(authz.InvalidID(missing[0]))
	}
	return b.grantable(ctx, ids)
}

// maySetACL checks by the bucket's policy, if it has one, that the writer may
// also set a list.
func (b *Backend) maySetACL(ctx context.Context, o *op) error {
	acct, root := account(ctx)
	policy, err := b.document(ctx, o.names.bucket, s3.KindPolicy, 0)
	if root || err != nil || policy == nil {
		return err
	}
	if acct.Access == "" || o.req.web == nil {
		return s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return o.req.withFormsACL(ctx, func() error {
		return auth.VerifyAccess(o.req.web, b, auth.AccessOptions{
			AclPermission: auth.PermissionWriteAcp, Acc: acct, Bucket: o.names.bucket, Object: o.names.key,
			Actions: []auth.Action{auth.PutObjectAclAction}, Iam: b.accounts,
		})
	})
}

// listsOff reports whether access control lists have no effect in a bucket.
func (b *Backend) listsOff(ctx context.Context, bucket string) (bool, error) {
	doc, err := b.document(ctx, bucket, s3.KindOwnership, 0)
	return types.ObjectOwnership(doc) == types.ObjectOwnershipBucketOwnerEnforced, err
}

// documentACL returns the bucket's stored list, or the default.
func (b *Backend) documentACL(ctx context.Context, bucket string) ([]byte, error) {
	doc, err := b.document(ctx, bucket, s3.KindACL, 0)
	if err == nil && doc == nil {
		doc, err = b.defaultACL(ctx, bucket)
	}
	return doc, err
}

// storedACL returns the bucket's list as it was set.
func (b *Backend) storedACL(ctx context.Context, bucket string) (authz.ACL, error) {
	doc, err := b.documentACL(ctx, bucket)
	if err != nil {
		return authz.ACL{}, err
	}
	list, err := parseList(doc)
	return list, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
}

// deciding returns the list by which versitygw has to decide on the request:
// the object's own, if there is one and the request reads the object or is
// about its list; else the bucket's.
func (b *Backend) deciding(ctx context.Context, bucket string, list authz.ACL) (authz.ACL, error) {
	if _, root := account(ctx); root {
		return list, nil
	}
	req := requestOf(ctx)
	key, settles := req.decidedBy(bucket)
	if key == "" {
		return list, nil
	}
	if off, err := b.listsOff(ctx, bucket); off || err != nil {
		return list, err
	}
	name := objectName{bucket, key}
	obj, err := b.judge(req, name)
	if err != nil {
		return authz.ACL{}, b.fail(&op{req: req, names: names{bucket: bucket, key: key}}, err)
	}
	acct, _ := account(ctx)
	grants := obj.Attrs.ACL
	// The owner, and a key of the bucket, may whatever the object's list says.
	if acct.Access != list.Owner && b.grantee(ctx, req, bucket) == nil {
		req.judgesList(name)
	}
	if grants == nil && !settles {
		return list, nil
	}
	out := authz.OwnersOnly(list.Owner)
	if grants != nil {
		out = out.With(authz.GrantsFor(grants.Grants, strings.Clone(acct.Access))...)
	}
	if settles {
		out = out.AsWrite()
	}
	return out, nil
}

// decidedBy returns the object whose own list decides on the request in the
// bucket, none if it is the bucket's. settles reports that the request sets
// that list. versitygw reads the list of a copy's target first, then its
// source's.
func (r *request) decidedBy(bucket string) (key string, settles bool) {
	if r.web == nil {
		return "", false
	}
	routed := strings.Clone(r.web.Params("bucket"))
	key, ok := strings.CutPrefix(r.web.Path(), fmt.Sprintf("/%s/", routed))
	if !ok || key == "" {
		return "", false
	}
	list := listOf(r.web.Method(), r.web.Request().URI().QueryArgs())
	if source := r.web.Get("X-Amz-Copy-Source"); source != "" && list == sourceDecides {
		r.lists++
		from, key, _, err := backend.ParseCopySource(strings.Clone(source))
		if err != nil || r.lists == 1 || from != bucket {
			return "", false
		}
		return key, false
	}
	if routed != bucket || (list != objectDecides && list != objectSettled) {
		return "", false
	}
	return strings.Clone(key), list == objectSettled
}

// deciders select the list that decides on a request to an object.
type deciders int

const (
	bucketDecides deciders = iota // its bucket's
	objectDecides                 // its own
	objectSettled                 // its own, which the request sets
	sourceDecides                 // its bucket's, and that of a copy's source if there is one
)

// listOf decides by the operation that versitygw routes a request to, in the
// order of its routes: of several sub-resources one counts, and HEAD has none.
func listOf(method string, q *fasthttp.Args) deciders {
	// These come first, for every method that has them.
	first := slices.ContainsFunc([]string{"tagging", "retention", "legal-hold"}, q.Has)
	switch {
	case method == http.MethodHead:
		return objectDecides
	case first:
	case method == http.MethodGet && (q.Has("acl") || q.Has("attributes") || !q.Has("uploadId")):
		return objectDecides
	case method == http.MethodPut && q.Has("acl"):
		return objectSettled
	case method == http.MethodPut && q.Has("uploadId") == q.Has("partNumber"):
		return sourceDecides
	}
	return bucketDecides
}
