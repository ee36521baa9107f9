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
	// signedChunks is the prefix of the payload types with signed chunks.
	signedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	// unsignedChunks is the payload type with unsigned chunks.
	unsignedChunks = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// truncationReader is a body in signed chunks that never ends by itself. Its
// signed last chunk ends it: versitygw's reader stops there. If the bytes ended
// earlier, that reader would accept what it has, and the signature of the
// previous chunk, which it checks with the next one's header, unverified.
type truncationReader struct {
	r    io.Reader
	over bool
}

// readChunks makes versitygw read a chunked body through chunked, and one with
// signed chunks through truncationReader.
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
