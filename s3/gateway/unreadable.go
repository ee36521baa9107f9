package gateway

import (
	"errors"
	"net"
	"net/http"

	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
)

// headerLimit is the size of a request's header in bytes, as in S3.
const headerLimit = 8 << 10

// unreadable responds to what could not be parsed as a request.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	var e s3err.S3Error = s3err.GetAPIError(s3err.ErrCannotParseHTTPRequest)
	switch {
	case errors.As(err, &small):
		e = s3err.GetRequestHeaderSectionTooLargeErr(headerLimit)
	case errors.As(err, &network) && network.Timeout():
		e = s3err.APIError{
			Code: "RequestTimeout", HTTPStatusCode: http.StatusRequestTimeout,
			Description: "Your socket connection to the server was not read from or written to within the timeout period.",
		}
	}
	ctx.Response.Reset()
	ctx.SetContentType("application/xml")
	ctx.SetStatusCode(e.StatusCode())
	ctx.SetConnectionClose()
	ctx.SetBody(e.XMLBody(utils.NewS3RequestID(), utils.NewS3HostID()))
}
