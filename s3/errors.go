package s3

import (
	"fmt"
	"net/http"
)

// Error is a refusal in S3's terms. The client receives all of it.
type Error struct {
	Code    string // S3's, such as "AccessDenied"
	Message string // for the client
	Status  int    // of HTTP
	// Argument and Value are those that an InvalidArgument is about.
	Argument, Value string
}

// Error returns the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("s3: %s: %s", e.Code, e.Message) }

// Denied returns an AccessDenied error with the reason.
func Denied(format string, args ...any) error {
	return &Error{Code: "AccessDenied", Message: fmt.Sprintf(format, args...), Status: http.StatusForbidden}
}

// InvalidArgument returns an error about an argument of a request.
func InvalidArgument(name, value, why string) error {
	return &Error{Code: "InvalidArgument", Message: why, Status: http.StatusBadRequest, Argument: name, Value: value}
}
