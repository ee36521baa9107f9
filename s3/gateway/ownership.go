package gateway

import (
	"cmp"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3/authz"
)

// headerOwnership sets the ownership of a new bucket's objects, and so whether
// access control lists have an effect.
const headerOwnership = "X-Amz-Object-Ownership"

// listedRefused reports whether versitygw refused to create a bucket with an
// access control list that S3 accepts, after it had verified the request: one
// with grantees by their kind, which are an internal error to it,
// authenticated-read, or any where the server's default enables lists.
func listedRefused(ctx fiber.Ctx, req *request) bool {
	codes := []string{
		s3err.GetAPIError(s3err.ErrInvalidBucketAclWithObjectOwnership).Code, s3err.GetAPIError(s3err.ErrInternalError).Code,
		s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, "").BaseError().Code,
	}
	return req.event.Operation == "CreateBucket" && slices.Contains(codes, req.event.Code) && utils.ContextKeyBucketOwner.IsSet(ctx)
}

// owned creates a bucket with such a list, which the backend reads by S3's
// rules instead of versitygw.
func (s *Server) owned(ctx fiber.Ctx, req *request) error {
	if !listedRefused(ctx, req) {
		return nil
	}
	h := &ctx.Request().Header
	w, err := wished(h)
	if err == nil && len(w.Grants) == 0 && !slices.Contains(bucketCanned, w.Canned) {
		return nil
	}
	own := types.ObjectOwnership(cmp.Or(ctx.Get(headerOwnership), string(s.opt.Ownership), string(types.ObjectOwnershipBucketOwnerEnforced)))
	if err == nil && own == types.ObjectOwnershipBucketOwnerEnforced {
		err = s3err.GetAPIError(s3err.ErrInvalidBucketAclWithObjectOwnership)
	}
	if e, ok := err.(s3err.S3Error); ok {
		req.event.Code = e.BaseError().Code
		return refuse(ctx, e)
	}
	req.wish = &w
	h.Set(headerOwnership, string(own))
	h.Del(headerACL)
	for _, g := range grantHeaders {
		h.Del(g.name)
	}
	ctx.Response().ResetBody()
	req.event.Code = ""
	return controllers.ProcessController(ctx, s.operations.CreateBucket, metrics.ActionCreateBucket,
		&controllers.Services{MetricsManager: recorder{}})
}

// bucketCanned are the canned lists of buckets.
var bucketCanned = []types.ObjectCannedACL{
	types.ObjectCannedACLPrivate, types.ObjectCannedACLPublicRead, types.ObjectCannedACLPublicReadWrite, types.ObjectCannedACLAuthenticatedRead,
}

// wishedList returns the requested list for a bucket of owner.
func wishedList(w authz.RequestedACL, owner string) (authz.ACL, error) {
	grants, err := w.Grants, error(nil)
	if w.Canned != "" {
		grants, err = canned(w.Canned, "", "")
	}
	return authz.BucketList(owner, grants), err
}

// ownership returns that of a new bucket: the request's or the default.
func (b *Backend) ownership(rctx context.Context, chosen string) string {
	if rc, ok := rctx.(*fasthttp.RequestCtx); ok && len(rc.Request.Header.Peek(headerOwnership)) == 0 {
		return cmp.Or(string(b.opt.Ownership), chosen)
	}
	return chosen
}
