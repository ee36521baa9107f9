package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/s3"
)

// names are the arguments of an operation, for the texts of its errors.
type names struct {
	bucket, key, upload string
}

// mappings from the store's errors to S3's. The first match counts.
var mappings = []struct {
	err error
	to  func(n names, err error) s3err.S3Error
}{
	{lethe.ErrNoSuchBucket, bucketError(s3err.ErrNoSuchBucket)},
	{lethe.ErrBucketNotEmpty, bucketError(s3err.ErrBucketNotEmpty)},
	{lethe.ErrBucketExists, bucketError(s3err.ErrBucketAlreadyExists)},
	{lethe.ErrTooManyBuckets, tooManyBuckets},
	{lethe.ErrInvalidBucketName, bucketError(s3err.ErrInvalidBucketName)},
	{lethe.ErrNoSuchKey, apiError(s3err.ErrNoSuchKey)},
	{lethe.ErrNoSuchUpload, func(n names, _ error) s3err.S3Error { return s3err.GetNoSuchUploadErr(n.upload) }},
	{lethe.ErrPreconditionFailed, func(names, error) s3err.S3Error {
		return s3err.GetPreconditionFailedErr(s3err.ConditionIfMatch)
	}},
	{lethe.ErrHeld, apiError(s3err.ErrObjectLocked)},
	{lethe.ErrNotModified, apiError(s3err.ErrNotModified)},
	{lethe.ErrInvalidRange, apiError(s3err.ErrInvalidRange)},
	{lethe.ErrInvalidPart, apiError(s3err.ErrInvalidPart)},
	{lethe.ErrInvalidPartOrder, apiError(s3err.ErrInvalidPartOrder)},
	{lethe.ErrPartTooSmall, apiError(s3err.ErrEntityTooSmall)},
	{lethe.ErrInvalidKey, func(n names, err error) s3err.S3Error { return invalidKey(n.key, err.Error()) }},
	{lethe.ErrInvalidTTL, func(_ names, err error) s3err.S3Error { return gatewayError(s3.InvalidTTL("", "", err)) }},
	{lethe.ErrCounted, func(_ names, err error) s3err.S3Error { return gatewayError(s3.Counted(err)) }},
	{lethe.ErrDigestMismatch, apiError(s3err.ErrBadDigest)},
	{errReplaced, unavailable("The object was replaced meanwhile. Please try again.")},
	{errCutOff, apiError(s3err.ErrIncompleteBody)},
	{lethe.ErrQuotaExceeded, quotaExceeded},
	{lethe.ErrNoRoom, noRoom},
	{lethe.ErrReaped, unavailable("The upload showed no sign of life for too long and was given up. Please try again.")},
	{lethe.ErrUnknownOutcome, unavailable("It is not known whether the request was carried out. Please look, and try again.")},
	{blob.ErrMisplaced, unavailable("What was stored here lies on a disk that is not in its place. Nothing is lost by that. Please tell the operator, and try again later.")},
	{lethe.ErrUnavailable, func(n names, err error) s3err.S3Error {
		var why *placement.RefusalError
		if errors.As(err, &why) {
			return unavailable(why.Error()+" Please try again.")(n, err)
		}
		return unavailable("The store cannot be reached at the moment. Please try again.")(n, err)
	}},
	// Before ErrUnexpectedEOF, which it may wrap: the body ended, and is
	// shorter than declared.
	{lethe.ErrIncompleteBody, apiError(s3err.ErrContentLengthMismatch)},
	// After ErrUnavailable, since a backend's response may break off too.
	{io.ErrUnexpectedEOF, apiError(s3err.ErrIncompleteBody)},
	{lethe.ErrTooLarge, apiError(s3err.ErrContentLengthMismatch)},
	{context.DeadlineExceeded, unavailable("The request took too long. Please try again.")},
	{context.Canceled, unavailable("The server is shutting down. Please try again.")},
}

// madeAnew is the error where another bucket has the name of the one by which the request was
// decided on. For whoever owns the other one, too, the bucket exists, and the next try finds it.
var madeAnew = unavailable("Another bucket was made with this name meanwhile. Please try again.")

// exists reports whether the bucket of an operation exists.
func (b *Backend) exists(o *op) bool {
	ctx, cancel := b.context(o.req, false)
	defer cancel()
	_, err := b.store.Buckets.Bucket(ctx, o.names.bucket)
	return err == nil
}

// fail converts an error of the store to S3's. An unexpected one is reported as
// an event and returned as InternalError.
func (b *Backend) fail(o *op, err error) error {
	if err == nil {
		return nil
	}
	var known s3err.S3Error
	if errors.As(err, &known) {
		return known
	}
	var own *s3.Error
	if errors.As(err, &own) {
		return gatewayError(own)
	}
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		b.cache.Drop(o.names.bucket)
		if b.exists(o) {
			return madeAnew(o.names, err)
		}
	}
	for _, m := range mappings {
		if errors.Is(err, m.err) {
			if m.err == blob.ErrMisplaced || m.err == lethe.ErrUnavailable || m.err == lethe.ErrUnknownOutcome {
				o.failed(err)
			}
			return m.to(o.names, err)
		}
	}
	o.failed(err)
	return s3err.GetAPIError(s3err.ErrInternalError)
}

// refusal converts an s3.Error to versitygw's form, and returns other errors
// unchanged.
func refusal(err error) error {
	var own *s3.Error
	if errors.As(err, &own) {
		return gatewayError(own)
	}
	return err
}

// gatewayError converts a refusal to versitygw's form.
func gatewayError(e *s3.Error) s3err.S3Error {
	if e.Code == "InvalidArgument" {
		return s3err.InvalidArgumentError{Description: e.Message, ArgumentName: e.Argument, ArgumentValue: e.Value}
	}
	return s3err.APIError{Code: e.Code, Description: e.Message, HTTPStatusCode: e.Status}
}

func apiError(code s3err.ErrorCode) func(names, error) s3err.S3Error {
	return func(names, error) s3err.S3Error { return s3err.GetAPIError(code) }
}

func bucketError(code s3err.ErrorCode) func(names, error) s3err.S3Error {
	return func(n names, _ error) s3err.S3Error { return s3err.GetBucketErr(code, n.bucket) }
}

func unavailable(text string) func(names, error) s3err.S3Error {
	e := s3err.APIError{Code: "ServiceUnavailable", Description: text, HTTPStatusCode: http.StatusServiceUnavailable}
	return func(names, error) s3err.S3Error { return e }
}

// noRoom names each backend and why it accepts no writes, where that is known.
func noRoom(_ names, err error) s3err.S3Error {
	e := s3err.GetAPIError(s3err.ErrNoSpaceLeftOnDevice)
	var why *placement.RefusalError
	if errors.As(err, &why) {
		e.Description = why.Error()
	}
	return e
}

// quotaExceeded says what the bucket may have and, where it evicts, what kept the rest.
func quotaExceeded(n names, err error) s3err.S3Error {
	e := s3err.GetAPIError(s3err.ErrQuotaExceeded)
	if at := strings.Index(err.Error(), "bucket "+n.bucket+" may have "); at >= 0 {
		e.Description = "The " + err.Error()[at:] + "."
	}
	return e
}

// denied returns an AccessDenied error with its reason.
func denied(format string, args ...any) error {
	return s3err.APIError{
		Code: "AccessDenied", Description: fmt.Sprintf(format, args...), HTTPStatusCode: http.StatusForbidden,
	}
}

func notImplemented() error { return s3err.GetAPIError(s3err.ErrNotImplemented) }

func invalidKey(key, why string) s3err.S3Error {
	return s3err.InvalidArgumentError{Description: why, ArgumentName: "key", ArgumentValue: fmt.Sprintf("%q", key)}
}

// checkKey refuses keys that are invalid in S3: not UTF-8 of 1 to 1,024 bytes.
// A NUL cannot be stored by every ledger.
func checkKey(key string) error {
	switch {
	case len(key) > ledger.MaxKey:
		return s3err.GetKeyTooLongErr(int64(len(key)), ledger.MaxKey)
	case !utf8.ValidString(key):
		return invalidKey(key, "An object key has to be UTF-8.")
	}
	for i := range len(key) {
		if key[i] == 0 {
			return invalidKey(key, "An object key cannot contain a NUL.")
		}
	}
	return nil
}

// checkVersion refuses versions other than "null", the only one of each object.
func checkVersion(version string) error {
	if version == "" || version == "null" {
		return nil
	}
	return s3err.GetInvalidArgumentErr(s3err.InvalidArgVersionId, version)
}

// tooManyBuckets refuses another bucket to an owner at its limit.
func tooManyBuckets(names, error) s3err.S3Error {
	return s3err.APIError{
		Code: "TooManyBuckets", HTTPStatusCode: http.StatusBadRequest,
		Description: "You have as many buckets as you may. Delete one that you do not need, or ask the operator for more.",
	}
}
