package gateway

import (
	"context"
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

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// PutBucketAcl replaces the access control list of a bucket. Grants without
// effect are refused.
func (b *Backend) PutBucketAcl(ctx context.Context, bucket string, data []byte) error {
	list, err := parseList(data)
	if err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: str(&bucket)}}, err)
	}
	// versitygw adds the owner's grant also to a list that has it already.
	return b.setBucketList(ctx, str(&bucket), list.Unique())
}

func (b *Backend) setBucketList(ctx context.Context, bucket string, list authz.ACL) error {
	if err := b.unblockedGrants(ctx, bucket, list.Grants); err != nil {
		return err
	}
	if err := b.holdable(ctx, list.Grants, list.Owner); err != nil {
		return err
	}
	data, err := writeList(list)
	if err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	return b.putDocument(ctx, bucket, s3.KindACL, data)
}

// bucketLists handles access control lists of a bucket that versitygw refuses
// and S3 accepts: groups by their address, grantees of headers by their kind,
// authenticated-read. A missing account is an internal error to versitygw.
var bucketLists = bucketAction{
	metrics.ActionPutBucketAcl, auth.PutBucketAclAction, auth.PermissionWriteAcp, (*Backend).putBucketList,
}

// listRefused reports whether versitygw refused such a list, after it had
// verified the request.
func (s *Server) listRefused(ctx fiber.Ctx, req *request) bool {
	if req.event.Operation != "PutBucketAcl" || req.routed == "" {
		return false
	}
	codes := []string{
		s3err.GetAPIError(s3err.ErrMalformedACL).Code, s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, "").BaseError().Code,
		s3err.GetAPIError(s3err.ErrInternalError).Code,
	}
	return slices.Contains(codes, req.event.Code) && utils.ContextKeyParsedAcl.IsSet(ctx)
}

// putBucketList reads a list by S3's rules and stores it.
func (b *Backend) putBucketList(ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	list, err := b.bucketList(ctx, bucket, body)
	if err == nil {
		err = b.setBucketList(ctx, bucket, list)
	}
	return &controllers.Response{}, err
}

func (b *Backend) bucketList(ctx context.Context, bucket string, body []byte) (list authz.ACL, err error) {
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
	var w authz.RequestedACL
	if web := requestOf(ctx).web; web != nil {
		if w, err = wished(&web.Request().Header); err != nil {
			return list, err
		}
	}
	switch {
	case w.Canned == types.ObjectCannedACLAuthenticatedRead:
		w.Grants = []ledger.Grant{{Group: authz.AuthenticatedUsers, Permission: authz.Read}}
	case w.Canned != "":
		return list, s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, string(w.Canned))
	case len(body) > 0:
		w.Grants, err = authz.DocumentGrants(body, list.Owner)
	}
	return authz.BucketList(list.Owner, w.Grants), refusal(err)
}

// showsList reports whether the request reads the bucket's list itself.
func (r *request) showsList() bool {
	return r.web != nil && r.web.Method() == http.MethodGet && r.web.Request().URI().QueryArgs().Has("acl") &&
		strings.Trim(r.web.Path(), "/") == r.web.Params("bucket")
}
