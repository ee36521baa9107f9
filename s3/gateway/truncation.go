package gateway

import (
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
)

const (
	// signedChunks begins the payload types whose chunks are signed one by one.
	signedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	// unsignedChunks is the one whose chunks are not signed.
	unsignedChunks = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// truncationReader is a body in signed chunks that never ends by itself. Its last chunk
// ends it, which says so and is signed: versitygw's reader stops there. Where the
// bytes end before, that reader would take what it has for the whole, and the
// signature of the chunk before, which it looks at with the next one's header, for
// good.
type truncationReader struct {
	r    io.Reader
	over bool
}

// readChunks has versitygw read a body in chunks through chunked, and one whose chunks
// are signed through truncationReader.
func readChunks(ctx fiber.Ctx, req *request) {
	payload, body := ctx.Get("X-Amz-Content-Sha256"), ctx.Request().BodyStream()
	signed := strings.HasPrefix(payload, signedChunks)
	if !streams(ctx, req) || !signed && payload != unsignedChunks || body == nil {
		return
	}
	body = &chunked{r: body, trailer: payload != signedChunks, feeds: payload == signedChunks+"-TRAILER"}
	if signed {
		body = &truncationReader{r: body}
	}
	utils.ContextKeyBodyReader.Set(ctx, body)
}

// Read implements io.Reader; after the last byte it fails.
func (u *truncationReader) Read(p []byte) (n int, err error) {
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
