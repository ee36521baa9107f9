package s3

import (
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
)

// signedChunks begins the payload types whose chunks are signed one by one.
const signedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"

// unended is a body in signed chunks that never ends by itself. Its last chunk
// ends it, which says so and is signed: versitygw's reader stops there. Where the
// bytes end before, that reader would take what it has for the whole, and the
// signature of the chunk before, which it looks at with the next one's header, for
// good.
type unended struct {
	r    io.Reader
	over bool
}

// leaveUnended has versitygw read a body in signed chunks through unended.
func leaveUnended(ctx fiber.Ctx, req *request) {
	payload, body := ctx.Get("X-Amz-Content-Sha256"), ctx.Request().BodyStream()
	if !streams(ctx, req) || !strings.HasPrefix(payload, signedChunks) || body == nil {
		return
	}
	if payload == signedChunks+"-TRAILER" {
		body = &trailing{r: body}
	}
	utils.ContextKeyBodyReader.Set(ctx, &unended{r: body})
}

// Read implements io.Reader; after the last byte it fails.
func (u *unended) Read(p []byte) (n int, err error) {
	if !u.over {
		n, err = u.r.Read(p)
		u.over = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	switch {
	case u.over && n > 0:
		return n, nil
	case u.over:
		return 0, s3err.GetAPIError(s3err.ErrIncompleteBody)
	}
	return n, err
}
