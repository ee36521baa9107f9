package s3blob

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lethe-storage/lethe/blob"
)

// Codes of S3 and compatible services, by their meaning here.
var (
	// slowDown: too many requests; most services return 503.
	slowDown = []string{
		"SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "Throttling", "ThrottlingException",
		"RequestLimitExceeded", "TooManyRequests", "TooManyRequestsException", "BandwidthLimitExceeded", "RequestThrottled",
	}
	// refused: the service does not work for this account, for any key.
	refused = []string{
		"NoSuchBucket", "InvalidBucketName", "AccessDenied", "Forbidden", "AllAccessDisabled", "AccountProblem", "NotSignedUp", "UserSuspended",
		"InvalidAccessKeyId", "InvalidAccessKey", "SignatureDoesNotMatch", "InvalidSecurity", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
		"RequestTimeTooSkewed", "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "Redirect", "IllegalLocationConstraintException",
		"Unauthorized", "MovedPermanently", "TemporaryRedirect", "XMinioBackendDown", "XMinioServerNotInitialized",
	}
	// full: there is no room.
	full = []string{"QuotaExceeded", "QuotaExceededException", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage", "InsufficientCapacity", "StorageFull", "ServiceQuotaExceeded"}
	// unable: the service does not have the request.
	unable = []string{"NotImplemented", "MethodNotAllowed", "UnsupportedOperation", "OperationNotSupported"}
)

// verdict is what the error of a request means.
type verdict struct {
	status  int           // of the answer; 0: there was none
	code    string        // of S3, or made from the status
	text    string        // for people
	certain bool          // the request had no effect and never will
	silent  bool          // no whole answer of the service itself: it may yet have an effect
	down    bool          // the service as a whole does not work
	full    bool          // it has no room
	slow    bool          // it requests a slower rate, or took too long
	again   bool          // sent again it may well succeed
	wait    time.Duration // pause that the service requests
	err     error
}

func (v verdict) is(codes ...string) bool { return slices.Contains(codes, v.code) }

// judge classifies the error of a request that was sent with a context of bounded,
// made of ctx.
func judge(ctx context.Context, err error) verdict {
	v := verdict{err: err}
	var answered *smithyhttp.ResponseError
	var said *smithy.GenericAPIError // of one key of an answer
	switch {
	case errors.As(err, &answered) && answered.HTTPStatusCode() != 0:
		v.status = answered.HTTPStatusCode()
		v.answer(answered.Response.Header, err)
	case errors.As(err, &said):
		v.code, v.text = said.ErrorCode(), said.ErrorMessage()
	default:
		v.silence(ctx, err)
	}
	return v
}

// answer classifies a response of the service, or of a proxy before it.
func (v *verdict) answer(header http.Header, err error) {
	var said smithy.APIError
	if errors.As(err, &said) {
		v.code, v.text = said.ErrorCode(), said.ErrorMessage()
	}
	v.wait = retryAfter(header)
	fromS3 := v.code != "" && v.code != strings.ReplaceAll(http.StatusText(v.status), " ", "") && v.code != "UnknownError"
	v.silent = v.status < 300 || v.status == http.StatusBadGateway || v.status == http.StatusGatewayTimeout
	switch {
	case v.status < 300: // a success whose body ended early
		v.down, v.again = true, true
	case v.is(full...) || v.status == http.StatusInsufficientStorage:
		v.full = true
	case v.is(slowDown...) || v.status == http.StatusServiceUnavailable || v.status == http.StatusTooManyRequests:
		v.slow, v.down, v.again = true, true, true
	case v.is(refused...), v.status >= 300 && v.status < 400, v.status == http.StatusBadGateway, v.status == http.StatusGatewayTimeout:
		v.down = true
		v.again = v.status >= 500
	case v.is("RequestTimeout"), v.status == http.StatusRequestTimeout:
		v.slow, v.down, v.again = true, true, true
	case v.status >= 500 && !v.is(unable...):
		v.again = true
	}
	switch {
	case v.status >= 300 && v.status < 500:
		v.certain = fromS3 && v.status != http.StatusRequestTimeout || v.is(unable...) ||
			v.status == http.StatusPreconditionFailed || v.status == http.StatusTooManyRequests
	case v.status >= 500:
		v.certain = v.is(unable...)
	}
	if region := header.Get("X-Amz-Bucket-Region"); region != "" && v.status < 500 && v.is("PermanentRedirect", "MovedPermanently", "AuthorizationHeaderMalformed", "BadRequest", "TemporaryRedirect") {
		v.text += "; the bucket is in region " + region
	}
}

// silence classifies a request without a response.
func (v *verdict) silence(ctx context.Context, err error) {
	v.text, v.silent = brief(err), true
	if ctx.Err() != nil {
		v.err = fmt.Errorf("%w: %w", ctx.Err(), hidden{err})
		return
	}
	v.down = true
	switch {
	case neverSent(err):
		v.certain = true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSlow), isTimeout(err):
		v.slow, v.again = true, true
		v.text = errSlow.Error()
		v.err = fmt.Errorf("%w: %w", context.DeadlineExceeded, hidden{err})
	default:
		v.again = true
	}
}

// neverSent reports whether the request was not sent: there were no credentials to
// sign it, or no connection. So it had no effect.
func neverSent(err error) bool {
	var sent *smithyhttp.RequestSendError
	var cancelled *smithy.CanceledError
	if !errors.As(err, &sent) && !errors.As(err, &cancelled) {
		return true
	}
	var dns *net.DNSError
	var op *net.OpError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) ||
		errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &host) ||
		errors.As(err, &verify) || errors.As(err, &record)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// retryAfter reads the header of that name, in seconds, the form that services
// send.
func retryAfter(header http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(header.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 3600)) * time.Second
}

// hidden keeps the text of an error without its kinds.
type hidden struct{ err error }

// Error implements error.
func (h hidden) Error() string { return brief(h.err) }

// brief returns the innermost of the SDK's many layers that has a text.
func brief(err error) string {
	var operation *smithy.OperationError
	if errors.As(err, &operation) && operation.Err != nil {
		err = operation.Err
	}
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "request send failed, "); ok {
		text = rest
	}
	return text
}

// advice returns what an operator can do about a code.
func (s *Store) advice(v verdict) string {
	at := s.o.Endpoint
	if at == "" {
		at = "AWS, " + s.o.Region
	}
	switch v.code {
	case "NoSuchBucket", "InvalidBucketName":
		return fmt.Sprintf("there is no bucket %s at %s; create it, or correct bucket, region or endpoint", s.o.Bucket, at)
	case "SignatureDoesNotMatch":
		return "the service rejects the signature; correct the secret key (secret_key): it is not that of the access key"
	case "InvalidAccessKeyId", "InvalidAccessKey", "Unauthorized":
		return "the service does not know the access key; correct it (access_key), or use one of this service"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "the temporary access key has expired; get another"
	case "AccessDenied", "Forbidden":
		return s.allow(v)
	case "RequestTimeTooSkewed":
		return "this machine's clock and the service's differ too much; set this machine's clock"
	case "PermanentRedirect", "MovedPermanently", "AuthorizationHeaderMalformed", "TemporaryRedirect", "IllegalLocationConstraintException":
		return "the bucket is in another region; correct region or endpoint"
	}
	return ""
}

// failure is a failed request with its text.
type failure struct {
	text string
	err  error
}

// Error implements error.
func (f failure) Error() string { return f.text }

// Unwrap returns the SDK's error for errors.Is.
func (f failure) Unwrap() error { return f.err }

// say returns the text of a verdict, without outcome and state of the service.
func (s *Store) say(v verdict) error {
	text := v.text
	if v.code != "" {
		text = v.code
		if v.text != "" && v.text != v.code {
			text += ": " + v.text
		}
		if v.status != 0 {
			text = fmt.Sprintf("%s (%d)", text, v.status)
		}
	} else if v.status != 0 {
		text = fmt.Sprintf("%s (%d)", brief(v.err), v.status)
	}
	if advice := s.advice(v); advice != "" {
		text = advice + ": " + text
	}
	return failure{text, v.err}
}

// kinds wraps the state of the service in a verdict.
func (s *Store) kinds(v verdict) error {
	err := s.say(v)
	if v.full {
		err = fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	if v.down {
		err = fmt.Errorf("%w: %w", blob.ErrDown, err)
	}
	return err
}

// reading is the error of a request that changes nothing.
func (s *Store) reading(op, key string, v verdict) error {
	return fmt.Errorf("s3blob: %s %s: %w", op, key, s.kinds(v))
}

// changing is the error of a request that changes something.
func (s *Store) changing(op, key string, v verdict) error {
	return fmt.Errorf("s3blob: %s %s: %w", op, key, s.outcome(v))
}

// outcome wraps whether the request had an effect.
func (s *Store) outcome(v verdict) error {
	if v.certain {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, s.kinds(v))
	}
	return fmt.Errorf("%w: %w", blob.ErrUnknown, s.kinds(v))
}

// notDone is the error of a change that was never requested.
func notDone(op, key string, err error) error {
	return fmt.Errorf("s3blob: %s %s: %w: %w", op, key, blob.ErrNotDone, err)
}
