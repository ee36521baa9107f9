package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// The groups as versitygw writes them in a bucket's list; it knows the first one.
const (
	versityAllUsers           = "all-users"
	versityAuthenticatedUsers = "authenticated-users"
)

// PutBucketAcl replaces the access control list of a bucket. What nothing would
// honour is refused.
func (b *Backend) PutBucketAcl(ctx context.Context, bucket string, data []byte) error {
	list, err := auth.ParseACL(data)
	if err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: str(&bucket)}}, err)
	}
	// versitygw adds the owner's grant also to a list that has it.
	once := list.Grantees[:0]
	for _, g := range list.Grantees {
		if !slices.Contains(once, g) {
			once = append(once, g)
		}
	}
	list.Grantees = once
	return b.setBucketList(ctx, str(&bucket), list)
}

func (b *Backend) setBucketList(ctx context.Context, bucket string, list auth.ACL) error {
	grants := grantsOf(list)
	if err := b.unblockedGrants(ctx, bucket, grants); err != nil {
		return err
	}
	if err := b.holdable(ctx, grants, list.Owner); err != nil {
		return err
	}
	data, err := json.Marshal(list)
	if err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	return b.putDocument(ctx, bucket, s3.KindACL, data)
}

// bucketLists is what versitygw refuses of an access control list of a bucket and
// S3 has: groups by their address, grantees of headers by their kind,
// authenticated-read. An account that is not there is an internal error to it.
var bucketLists = bucketAction{
	metrics.ActionPutBucketAcl, auth.PutBucketAclAction, auth.PermissionWriteAcp, (*Backend).putBucketList,
}

// listRefused says that versitygw refused such a list, after it had verified the
// request.
func (s *Server) listRefused(ctx fiber.Ctx, req *request) bool {
	codes := []string{
		s3err.GetAPIError(s3err.ErrMalformedACL).Code, s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, "").BaseError().Code,
		s3err.GetAPIError(s3err.ErrInternalError).Code,
	}
	return req.event.Operation == "PutBucketAcl" && req.routed != "" && slices.Contains(codes, req.event.Code) && utils.ContextKeyParsedAcl.IsSet(ctx)
}

// putBucketList reads a list by S3's rules and stores it.
func (b *Backend) putBucketList(ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	list, err := b.bucketList(ctx, bucket, body)
	if err == nil {
		err = b.setBucketList(ctx, bucket, list)
	}
	return &controllers.Response{}, err
}

func (b *Backend) bucketList(ctx context.Context, bucket string, body []byte) (list auth.ACL, err error) {
	off, err := b.listsOff(ctx, bucket)
	if err == nil && off {
		err = s3err.GetAPIError(s3err.ErrAclNotSupported)
	}
	if err != nil {
		return list, err
	}
	if list.Owner, err = b.bucketOwner(ctx, bucket); err != nil {
		return list, err
	}
	var w wish
	if web := requestOf(ctx).web; web != nil {
		if w, err = wished(&web.Request().Header); err != nil {
			return list, err
		}
	}
	switch {
	case w.canned == types.ObjectCannedACLAuthenticatedRead:
		w.grants = []meta.Grant{{Group: authenticatedUsers, Permission: string(auth.PermissionRead)}}
	case w.canned != "":
		return list, s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, string(w.canned))
	case len(body) > 0:
		w.grants, err = documentGrants(body, list.Owner)
	}
	list.Grantees = bucketGrantees(w.grants, list.Owner)
	return list, err
}

// bucketGrantees writes grants as versitygw keeps them; the owner's full control
// is always among them.
func bucketGrantees(grants []meta.Grant, owner string) []auth.Grantee {
	out := []auth.Grantee{{Permission: auth.PermissionFullControl, Access: owner, Type: types.TypeCanonicalUser}}
	for _, g := range grants {
		to := auth.Grantee{Permission: auth.Permission(g.Permission), Access: g.Account, Type: types.TypeCanonicalUser}
		switch g.Group {
		case allUsers:
			to.Access, to.Type = versityAllUsers, types.TypeGroup
		case authenticatedUsers:
			to.Access, to.Type = versityAuthenticatedUsers, types.TypeGroup
		}
		if to != out[0] {
			out = append(out, to)
		}
	}
	return out
}

// admitting adds to a bucket's list what it grants to everybody who signs, for
// one who does.
func admitting(list auth.ACL, requester string) auth.ACL {
	list.Grantees = slices.Clone(list.Grantees)
	for _, g := range list.Grantees {
		if requester != "" && g.Type == types.TypeGroup && g.Access == versityAuthenticatedUsers {
			list.Grantees = append(list.Grantees, auth.Grantee{Permission: g.Permission, Access: requester, Type: types.TypeCanonicalUser})
		}
	}
	return list
}

// showsList says that the request asks for the bucket's list itself.
func (r *request) showsList() bool {
	return r.web != nil && r.web.Method() == http.MethodGet && r.web.Request().URI().QueryArgs().Has("acl") &&
		strings.Trim(r.web.Path(), "/") == r.web.Params("bucket")
}
