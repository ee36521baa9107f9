package gateway

import (
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/middlewares"
)

// judgements bounds how often a read is decided on.
const judgements = 5

// readers are the reads of objects.
var readers = map[string]struct {
	action string
	read   func(controllers.S3ApiController, fiber.Ctx) (*controllers.Response, error)
}{
	"GetObject":  {metrics.ActionGetObject, controllers.S3ApiController.GetObject},
	"HeadObject": {metrics.ActionHeadObject, controllers.S3ApiController.HeadObject},
}

// readAgain decides on a read again, by what is there now, as long as the object's list or tags change
// between the decision and the read: nothing was read or counted. The signature is verified by then.
func (s *Server) readAgain(ctx fiber.Ctx, req *request) error {
	for range judgements - 1 {
		again, ok := readers[req.event.Operation]
		if !ok || !req.replaced {
			return nil
		}
		req.replaced, req.decided, req.judging, req.judged = false, false, nil, nil
		req.failures, req.event.Code, req.unchanged = nil, "", nil
		ctx.Response().Reset()
		err := controllers.ProcessHandlers(
			func(ctx fiber.Ctx) (*controllers.Response, error) { return again.read(s.operations, ctx) },
			again.action, &controllers.Services{MetricsManager: recorder{}},
			middlewares.AuthorizePublicBucketAccess(s.backend, again.action, auth.GetObjectAction, auth.PermissionRead, s.opt.Region, false),
			middlewares.ApplyBucketCORS(s.backend, middlewares.BucketFromPath, s.opt.CORSOrigin),
			middlewares.ParseAcl(s.backend),
		)(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}
