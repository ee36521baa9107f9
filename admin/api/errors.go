package api

import (
	"errors"
	"net/http"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ErrBadRequest is wrapped by errors about invalid requests.
var ErrBadRequest = errors.New("bad request")

// ErrNoDeadLetter reports that no blob with an id is a dead letter.
var ErrNoDeadLetter = errors.New("no such dead letter")

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
	{lethe.ErrNoSuchBucket, "no_such_bucket", http.StatusNotFound},
	{lethe.ErrNoSuchKey, "no_such_key", http.StatusNotFound},
	{lethe.ErrNoSuchAccessKey, "no_such_access_key", http.StatusNotFound},
	{lethe.ErrHeld, "held", http.StatusConflict},
	{ledger.ErrNoSuchHold, "no_such_hold", http.StatusNotFound},
	{lethe.ErrTrashNotFound, "no_such_trash_entry", http.StatusNotFound},
	{ErrNoDeadLetter, "no_such_dead_letter", http.StatusNotFound},
	{ledger.ErrNoSuchToken, "no_such_token", http.StatusNotFound},
	{ledger.ErrTokenExists, "token_exists", http.StatusConflict},
	{ledger.ErrNoSealing, "no_sealing_key", http.StatusConflict},
	{ledger.ErrSealed, "sealed", http.StatusConflict},
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
			return &Error{k.code, err.Error()}, k.status
		}
	}
	return &Error{"failed", err.Error()}, http.StatusInternalServerError
}

// Failure is the body of a failed response.
type Failure struct {
	Error *Error `json:"error"`
}
