package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ErrBadRequest is wrapped by errors about invalid requests.
var ErrBadRequest = errors.New("bad request")

// ErrForbidden reports that a request needs a higher role than its caller has.
var ErrForbidden = errors.New("forbidden")

// ErrNoDeadLetter reports that no blob with an id is a dead letter.
var ErrNoDeadLetter = errors.New("no such dead letter")

// ErrNoBlob reports that the ledger has no row of a blob.
var ErrNoBlob = errors.New("no such blob")

// ErrNoBackend reports that there is no backend with a name.
var ErrNoBackend = errors.New("no such backend")

// ErrNoTarget reports that neither the configuration nor a bucket names a target of events.
var ErrNoTarget = errors.New("no such target")

// ErrNoRule reports that a bucket has no lifecycle rule with an id.
var ErrNoRule = errors.New("no such rule")

// ErrRunning reports that what runs once at a time is running.
var ErrRunning = errors.New("runs elsewhere")

// Error is a failure in the API's form. errors.Is finds the sentinel of its
// code.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is compares with the sentinel of the code.
func (e *Error) Is(target error) bool {
	for _, k := range kinds {
		if k.code == e.Code {
			return k.err == target
		}
	}
	return false
}

// kinds are the failures that clients can distinguish; the first match counts.
var kinds = []struct {
	err    error
	code   string
	status int
}{
	{ErrBadRequest, "bad_request", http.StatusBadRequest},
	{ErrForbidden, "forbidden", http.StatusForbidden},
	{lethe.ErrNoSuchBucket, "no_such_bucket", http.StatusNotFound},
	{lethe.ErrNoSuchKey, "no_such_key", http.StatusNotFound},
	{lethe.ErrNoSuchAccessKey, "no_such_access_key", http.StatusNotFound},
	{lethe.ErrHeld, "held", http.StatusConflict},
	{lethe.ErrCounted, "reads_counted", http.StatusConflict},
	{ledger.ErrNoSuchHold, "no_such_hold", http.StatusNotFound},
	{lethe.ErrTrashNotFound, "no_such_trash_entry", http.StatusNotFound},
	{ErrNoDeadLetter, "no_such_dead_letter", http.StatusNotFound},
	{ErrNoBlob, "no_such_blob", http.StatusNotFound},
	{ErrNoBackend, "no_such_backend", http.StatusNotFound},
	{ErrNoTarget, "no_such_target", http.StatusNotFound},
	{ErrNoRule, "no_such_rule", http.StatusNotFound},
	{ledger.ErrNoSuchToken, "no_such_token", http.StatusNotFound},
	{ledger.ErrTokenExists, "token_exists", http.StatusConflict},
	{ledger.ErrNoSealing, "no_sealing_key", http.StatusConflict},
	{ledger.ErrSealed, "sealed", http.StatusConflict},
	{ledger.ErrRulesChanged, "rules_changed", http.StatusConflict},
	{lethe.ErrAccessKeyExists, "access_key_exists", http.StatusConflict},
	{lethe.ErrPreconditionFailed, "precondition_failed", http.StatusConflict},
	{lethe.ErrBackendMismatch, "backend_mismatch", http.StatusConflict},
	{ErrRunning, "running", http.StatusConflict},
	{lethe.ErrQuotaExceeded, "quota_exceeded", http.StatusConflict},
	{lethe.ErrInvalidTTL, "invalid_ttl", http.StatusBadRequest},
	{lethe.ErrInvalidKey, "invalid_key", http.StatusBadRequest},
	{lethe.ErrInvalidBucketName, "invalid_bucket_name", http.StatusBadRequest},
	{lethe.ErrUnknownOutcome, "unknown_outcome", http.StatusInternalServerError},
	{lethe.ErrCorrupt, "corrupt", http.StatusInternalServerError},
	{lethe.ErrUnavailable, "unavailable", http.StatusServiceUnavailable},
}

// ErrorOf returns err in the API's form, with its HTTP status.
func ErrorOf(err error) (*Error, int) {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &Error{k.code, Plain(err.Error())}, k.status
		}
	}
	return &Error{"failed", Plain(err.Error())}, http.StatusInternalServerError
}

// IsNotFound reports whether err is about something that does not exist.
func IsNotFound(err error) bool {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status == http.StatusNotFound
		}
	}
	return false
}

// layers are the names of packages that errors begin with, and of sentinels that calls are
// retried by. They help who reads the code, not who made the call.
var layers = []string{
	"adopt", "bad request", "fsblob", "importer", "ledger", "lethe", "not done", "object", "pairing", "placement", "reclaim", "reconcile", "s3blob",
	"sqlledger", "treeblob", "verify",
}

// Plain returns the text of an error without the layers that it came through. What each of them
// was doing to the same thing is said once.
func Plain(text string) string {
	var out []string
	for _, part := range strings.Split(text, ": ") {
		if slices.Contains(layers, part) || slices.Contains(out, part) || len(out) > 0 && repeats(part, out[len(out)-1]) {
			continue
		}
		out = append(out, part)
	}
	return strings.Join(out, ": ")
}

// repeats reports whether a short part of an error, such as "resolve a/b", is about what the part
// before it named.
func repeats(part, before string) bool {
	last := func(text string) string {
		words := strings.Fields(text)
		if len(words) == 0 {
			return text
		}
		return strings.Trim(words[len(words)-1], `"/`)
	}
	words := len(strings.Fields(part))
	return 1 < words && words <= 4 && last(part) == last(before)
}

// Failure is the body of a failed response.
type Failure struct {
	Error *Error `json:"error"`
}
