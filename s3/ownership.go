package s3

import (
	"cmp"
	"context"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3err"
)

// headerOwnership says who owns a new bucket's objects, and so whether access
// control lists count.
const headerOwnership = "X-Amz-Object-Ownership"

// owned makes a bucket that comes with an access control list, but does not say
// who owns its objects, with the server's default, where versitygw has refused:
// after it had verified the request.
func (s *Server) owned(ctx fiber.Ctx, req *request) error {
	refused := s3err.GetAPIError(s3err.ErrInvalidBucketAclWithObjectOwnership).Code
	if s.opt.Ownership == "" || req.event.Operation != "CreateBucket" || req.event.Code != refused || ctx.Get(headerOwnership) != "" {
		return nil
	}
	ctx.Request().Header.Set(headerOwnership, string(s.opt.Ownership))
	ctx.Response().ResetBody()
	req.event.Code = ""
	return controllers.ProcessController(ctx, s.operations.CreateBucket, metrics.ActionCreateBucket,
		&controllers.Services{MetricsManager: recorder{}})
}

// ownership is that of a new bucket: as the request says, or the server's.
func (b *Backend) ownership(rctx context.Context, chosen string) string {
	if rc, ok := rctx.(*fasthttp.RequestCtx); ok && len(rc.Request.Header.Peek(headerOwnership)) == 0 {
		return cmp.Or(string(b.opt.Ownership), chosen)
	}
	return chosen
}
