package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3err"
)

// Headers that ask for encryption, for another storage class or to append are refused:
// bytes are kept as they came, in one class, and a write replaces the object. Presigned
// URLs and the fields of forms may carry them, too.

// encryption begins the names of the headers that ask for encryption.
const encryption = "X-Amz-Server-Side-Encryption"

// sourceEncryption begins the names of those that decrypt what is copied.
const sourceEncryption = "X-Amz-Copy-Source-Server-Side-Encryption"

const (
	storageClass = "X-Amz-Storage-Class"
	writeOffset  = "X-Amz-Write-Offset-Bytes"
)

// unkept refuses a request whose headers or query ask for what would not be kept.
func unkept(ctx fiber.Ctx, req *request) s3err.S3Error {
	for name, value := range ctx.Request().Header.All() {
		if e := refuseUnkept(req.event.Method, string(name), string(value)); e != nil {
			return e
		}
	}
	for name, value := range ctx.Request().URI().QueryArgs().All() {
		if e := refuseUnkept(req.event.Method, string(name), string(value)); e != nil {
			return e
		}
	}
	return nil
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

// refuseUnkept refuses one header or its like. Reading with a key what was not
// encrypted by it is an invalid request, as on S3.
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

// notKept says what is not here.
func notKept(format string, args ...any) s3err.S3Error {
	return s3err.APIError{
		Code: "NotImplemented", HTTPStatusCode: http.StatusNotImplemented, Description: fmt.Sprintf(format, args...),
	}
}

// refuseClass refuses storage classes but the one that there is.
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

// begins says that a name begins with a header's, in letters of any case.
func begins(name, header string) bool {
	return len(name) >= len(header) && strings.EqualFold(name[:len(header)], header)
}
