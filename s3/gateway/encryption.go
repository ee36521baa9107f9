package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3err"
)

// Requests for encryption, another storage class, appending or a range are refused:
// bytes are stored as received, in one class, and a write replaces the object.
// Presigned URLs and form fields may carry these headers, too.

// encryption is the prefix of the headers that request encryption.
const encryption = "X-Amz-Server-Side-Encryption"

// sourceEncryption is the prefix of those that decrypt a copy's source.
const sourceEncryption = "X-Amz-Copy-Source-Server-Side-Encryption"

const (
	storageClass = "X-Amz-Storage-Class"
	writeOffset  = "X-Amz-Write-Offset-Bytes"
)

// unkept refuses a request whose headers or query ask for something that is not
// supported.
func unkept(ctx fiber.Ctx, req *request) s3err.S3Error {
	switch {
	case !streams(ctx, req):
	case ctx.Get(fiber.HeaderContentRange) != "":
		return notKept("No part of an object can be replaced, so the request was refused for its Content-Range. Send the whole object, or parts of an upload.")
	case ctx.Request().URI().QueryArgs().Has(linkSignature) && strings.HasPrefix(ctx.Get("X-Amz-Content-Sha256"), "STREAMING-"):
		// versitygw would store the headers of the chunks as well.
		return notKept("The body of a presigned request cannot come in chunks. Send it as it is, or sign the request in its header.")
	}
	for name, value := range ctx.Request().Header.All() {
		if e := unkeptLine(req, name, value); e != nil {
			return e
		}
	}
	for name, value := range ctx.Request().URI().QueryArgs().All() {
		if e := unkeptLine(req, name, value); e != nil {
			return e
		}
		if e := unhoistable(req.event.Method, string(name), value); e != nil {
			return e
		}
	}
	return nil
}

// unkeptLine copies only what can be refused: other headers come with every request.
func unkeptLine(req *request, name, value []byte) s3err.S3Error {
	const own = "X-Amz-"
	if len(name) < len(own) || !bytes.EqualFold(name[:len(own)], []byte(own)) {
		return nil
	}
	return refuseUnkept(req.event.Method, string(name), string(value))
}

// unkeptFields refuses the fields of a form likewise.
func unkeptFields(fields map[string]string) error {
	for name, value := range fields {
		if e := refuseUnkept(http.MethodPost, name, value); e != nil {
			return e
		}
	}
	return nil
}

// refuseUnkept refuses one header or parameter. As on S3, reading an
// unencrypted object with a key is an invalid request.
func refuseUnkept(method, name, value string) s3err.S3Error {
	reads := method == http.MethodGet || method == http.MethodHead
	encrypts := begins(name, encryption) || begins(name, sourceEncryption)
	switch {
	case encrypts && reads:
		return s3err.APIError{
			Code: "InvalidRequest", HTTPStatusCode: http.StatusBadRequest,
			Description: "The encryption parameters are not applicable to this object.",
		}
	case encrypts:
		return notKept("This store does not encrypt objects, so the request was refused for its %s. "+
			"Leave it out, and encrypt in the client (rclone crypt, restic) or on the disks below.", strings.ToLower(name))
	case reads:
		return nil
	case strings.EqualFold(name, storageClass) && value != "":
		return refuseClass(value)
	case strings.EqualFold(name, writeOffset):
		return notKept("Nothing can be appended to an object, so the request was refused for its x-amz-write-offset-bytes. " +
			"Send the whole object, or parts of an upload.")
	}
	return nil
}

// notKept returns the error for something that is not supported.
func notKept(format string, args ...any) s3err.S3Error {
	return s3err.APIError{
		Code: "NotImplemented", HTTPStatusCode: http.StatusNotImplemented, Description: fmt.Sprintf(format, args...),
	}
}

// refuseClass refuses storage classes other than the only one.
func refuseClass(class string) s3err.S3Error {
	switch {
	case class == string(types.StorageClassStandard):
		return nil
	case !slices.Contains(types.StorageClass("").Values(), types.StorageClass(class)):
		return s3err.APIError{
			Code: "InvalidStorageClass", HTTPStatusCode: http.StatusBadRequest,
			Description: "The storage class you specified is not valid",
		}
	}
	return notKept("This store has one storage class, STANDARD, so the request was refused for its x-amz-storage-class %s. Leave it out.", class)
}

// begins reports whether a name has a header's prefix, in any case of letters.
func begins(name, header string) bool {
	return len(name) >= len(header) && strings.EqualFold(name[:len(header)], header)
}
