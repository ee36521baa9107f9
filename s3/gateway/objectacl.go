package gateway

import (
	"context"
	"errors"
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

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
)

// An object without an access control list of its own is under its bucket's. One
// that has its own is read, and its list read and written, by that alone: where
// versitygw asks for the bucket's list to decide, it is shown the object's. The
// bucket's owner may always do everything, and owns what lies in the bucket. In a
// bucket whose ownership is BucketOwnerEnforced lists do not count and cannot be
// set, as on S3.

// GetObjectAcl answers the grants that hold for the object, in our own XML:
// versitygw has none for it.
func (b *Backend) GetObjectAcl(ctx context.Context, in *awss3.GetObjectAclInput) (*awss3.GetObjectAclOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key)})
	defer o.cancel()
	if err != nil {
		return nil, err
	}
	obj, err := b.store.Objects.Head(o.ctx, object.GetRequest{Bucket: o.names.bucket, Key: o.names.key})
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
	grants := grantsOf(list)
	if own := obj.Attrs.ACL; own != nil && !off {
		grants = own.Grants
	}
	o.req.document = aclXML(list.Owner, grants)
	return &awss3.GetObjectAclOutput{}, nil
}

// PutObjectAcl replaces the object's own list.
func (b *Backend) PutObjectAcl(ctx context.Context, in *awss3.PutObjectAclInput) error {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: setting})
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
		// It asks for what the bucket gives anyway.
		_, err = b.store.Objects.Head(o.ctx, object.GetRequest{Bucket: o.names.bucket, Key: o.names.key})
		return b.fail(o, err)
	}
	return b.fail(o, b.setObjectList(o, list))
}

// replacement is the list that a PutObjectAcl asks for, nil if that is what an
// object has in a bucket without lists.
func (b *Backend) replacement(ctx context.Context, o *op, w wish, body []byte) (*meta.ACL, error) {
	switch given := w.canned != "" || len(w.grants) > 0; {
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
	if w.grants, err = documentGrants(body, owner); err != nil {
		return nil, err
	}
	return b.granted(ctx, o, w)
}

// ownACL is the list that a request wants for the object it writes; nil: none of
// its own. Whoever writes an object may set its list, unless a policy says who
// may.
func (b *Backend) ownACL(ctx context.Context, o *op) (*meta.ACL, error) {
	rc, ok := ctx.(*fasthttp.RequestCtx)
	if !ok {
		return nil, nil
	}
	w, err := wished(&rc.Request.Header)
	if form, ok := formOf(ctx); ok {
		w, err = wishedByForm(&rc.Request.Header, form.Fields)
	}
	if err != nil || (w.canned == "" && len(w.grants) == 0) {
		return nil, err
	}
	list, err := b.granted(ctx, o, w)
	if err != nil || list == nil {
		return nil, err
	}
	owner, err := b.bucketOwner(ctx, o.names.bucket)
	if err == nil && !ordinary(w, owner) {
		err = b.allow(ctx, o.req, o.names.bucket, setting)
	}
	if err != nil {
		return nil, err
	}
	return list, b.maySetACL(ctx, o)
}

// granted turns a wish into a list. What would not hold is refused.
func (b *Backend) granted(ctx context.Context, o *op, w wish) (*meta.ACL, error) {
	bucket := o.names.bucket
	off, err := b.listsOff(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if off {
		owner, err := b.bucketOwner(ctx, bucket)
		if err == nil && !ordinary(w, owner) {
			err = s3err.GetAPIError(s3err.ErrAclNotSupported)
		}
		return nil, err
	}
	if w.canned != "" {
		owner, err := b.bucketOwner(ctx, bucket)
		if err != nil {
			return nil, err
		}
		acct, _ := account(ctx)
		writer := strings.Clone(acct.Access)
		if !b.isAccount(o.req) {
			writer = owner
		}
		if w.grants, err = canned(w.canned, owner, writer); err != nil {
			return nil, err
		}
	}
	if err := b.unblockedGrants(ctx, bucket, w.grants); err != nil {
		return nil, err
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err == nil {
		err = b.holdable(ctx, w.grants, owner)
	}
	return &meta.ACL{Grants: w.grants}, err
}

// ordinary says that a wish is for what holds in a bucket without lists, however
// it is written: clients send back the list that they were shown.
func ordinary(w wish, owner string) bool {
	switch w.canned {
	case "":
		return len(w.grants) == 1 && w.grants[0] == meta.Grant{Account: owner, Permission: string(auth.PermissionFullControl)}
	case types.ObjectCannedACLPrivate, types.ObjectCannedACLBucketOwnerFullControl:
		return len(w.grants) == 0
	}
	return false
}

// holdable refuses grants that nothing would honour: accounts have to exist, and
// access keys that are no accounts are confined to their buckets, whatever lists say.
func (b *Backend) holdable(ctx context.Context, grants []meta.Grant, owner string) error {
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
		return invalidID(missing[0])
	}
	return b.grantable(ctx, ids)
}

// maySetACL asks the bucket's policy, if it has one, whether the writer may also
// set a list.
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

// listsOff says that access control lists do not count in a bucket.
func (b *Backend) listsOff(ctx context.Context, bucket string) (bool, error) {
	doc, err := b.document(ctx, bucket, s3.KindOwnership, 0)
	return types.ObjectOwnership(doc) == types.ObjectOwnershipBucketOwnerEnforced, err
}

// documentACL is the bucket's list as it was stored, or the one it has without.
func (b *Backend) documentACL(ctx context.Context, bucket string) ([]byte, error) {
	doc, err := b.document(ctx, bucket, s3.KindACL, 0)
	if err == nil && doc == nil {
		doc, err = b.defaultACL(ctx, bucket)
	}
	return doc, err
}

// storedACL is the bucket's list as it was set.
func (b *Backend) storedACL(ctx context.Context, bucket string) (auth.ACL, error) {
	doc, err := b.documentACL(ctx, bucket)
	if err != nil {
		return auth.ACL{}, err
	}
	list, err := auth.ParseACL(doc)
	return list, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
}

// grantsOf are the grants of a bucket's list, groups first.
func grantsOf(list auth.ACL) []meta.Grant {
	var groups, accounts []meta.Grant
	for _, g := range list.Grantees {
		if g.Type == types.TypeGroup {
			group := allUsers
			if g.Access == versityAuthenticatedUsers {
				group = authenticatedUsers
			}
			groups = append(groups, meta.Grant{Group: group, Permission: string(g.Permission)})
		} else {
			accounts = append(accounts, meta.Grant{Account: g.Access, Permission: string(g.Permission)})
		}
	}
	return append(groups, accounts...)
}

// deciding returns the list by which versitygw is to decide on the request: the
// object's own, if it has one and the request reads the object or is about its
// list; else the bucket's.
func (b *Backend) deciding(ctx context.Context, bucket string, list auth.ACL) (auth.ACL, error) {
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
	own, cancel := b.context(req, false)
	defer cancel()
	obj, err := b.store.Objects.Head(own, object.GetRequest{Bucket: bucket, Key: key})
	if err != nil && !errors.Is(err, lethe.ErrNoSuchKey) && !errors.Is(err, lethe.ErrInvalidKey) {
		return auth.ACL{}, b.fail(&op{req: req, names: names{bucket: bucket, key: key}}, err)
	}
	acct, _ := account(ctx)
	grants := obj.Attrs.ACL
	if grants == nil && !settles {
		return list, nil
	}
	out := auth.ACL{Owner: list.Owner, Grantees: []auth.Grantee{
		{Permission: auth.PermissionFullControl, Access: list.Owner, Type: types.TypeCanonicalUser},
	}}
	if grants != nil {
		out.Grantees = append(out.Grantees, granteesOf(grants.Grants, acct.Access)...)
	}
	if settles {
		out.Grantees = settling(out.Grantees)
	}
	return out, nil
}

// granteesOf writes grants as versitygw decides by them, for one requester.
func granteesOf(grants []meta.Grant, requester string) (out []auth.Grantee) {
	for _, g := range grants {
		to := auth.Grantee{Permission: auth.Permission(g.Permission), Access: g.Account, Type: types.TypeCanonicalUser}
		switch {
		case g.Group == allUsers:
			to.Access, to.Type = versityAllUsers, types.TypeGroup
		case g.Group == authenticatedUsers && requester != "":
			to.Access = requester
		case g.Account == "":
			continue
		}
		out = append(out, to)
	}
	return out
}

// settling keeps the grants that let somebody set the object's list. versitygw
// asks for WRITE where S3 wants WRITE_ACP.
func settling(list []auth.Grantee) []auth.Grantee {
	list = slices.DeleteFunc(slices.Clone(list), func(g auth.Grantee) bool {
		return g.Permission != auth.PermissionFullControl && g.Permission != auth.PermissionWriteAcp
	})
	for i := range list {
		if list[i].Permission == auth.PermissionWriteAcp {
			list[i].Permission = auth.PermissionWrite
		}
	}
	return list
}

// decidedBy names the object whose own list decides on what the request does in
// the bucket, none if it is the bucket's; settles: the request sets that list.
// versitygw asks for the list of a copy's target first, then for its source's.
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

// deciders say whose list decides on a request to an object.
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
