package gateway

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"regexp"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// webDate is the date of a conditional deletion in the form of HTTP headers, as
// S3's own clients write it. versitygw cannot read it.
var webDate = regexp.MustCompile(`(<LastModifiedTime>)\s*([^<]*?)\s*(</LastModifiedTime>)`)

// withISODates rewrites the dates of a DeleteObjects request that versitygw
// could not read, after it verified the request.
func withISODates(ctx fiber.Ctx, req *request) bool {
	refused := s3err.GetAPIError(s3err.ErrInvalidRequest).Code
	if req.event.Operation != "DeleteObjects" || req.event.Code != refused || !utils.ContextKeyParsedAcl.IsSet(ctx) {
		return false
	}
	if bytes.Contains(ctx.BodyRaw(), []byte("<!")) {
		// Text that looks like an element may be part of a key.
		return false
	}
	changed := false
	body := webDate.ReplaceAllFunc(ctx.BodyRaw(), func(element []byte) []byte {
		parts := webDate.FindSubmatch(element)
		at, err := http.ParseTime(string(parts[2]))
		if err != nil {
			return element
		}
		changed = true
		return []byte(string(parts[1]) + at.UTC().Format(time.RFC3339) + string(parts[3]))
	})
	if !changed || xml.Unmarshal(body, &s3response.DeleteObjects{}) != nil {
		return false
	}
	ctx.Request().SetBodyRaw(body)
	return true
}

// deleteAgain runs the corrected request through versitygw.
func (s *Server) deleteAgain(ctx fiber.Ctx, req *request) error {
	req.event.Code = ""
	ctx.Response().Reset()
	return controllers.ProcessController(ctx, s.operations.DeleteObjects, metrics.ActionDeleteObjects,
		&controllers.Services{MetricsManager: recorder{}})
}
