package paste

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// problem is an error whose text is for the client.
type problem struct {
	status int
	text   string
	retry  time.Duration // when to try again; 0: not given
	allow  string        // methods, of a 405
}

func (p *problem) Error() string { return p.text }

func badRequest(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

// notFound does not reveal which of them it is.
var notFound = &problem{status: http.StatusNotFound, text: "there is no such paste: it has expired, was deleted, or never was"}

// problemOf returns the client's view of an error; known is false for unexpected
// errors.
func problemOf(err error) (p *problem, known bool) {
	if errors.As(err, &p) {
		return p, true
	}
	for _, is := range []struct {
		err error
		problem
	}{
		{lethe.ErrNoSuchKey, *notFound},
		{lethe.ErrPreconditionFailed, problem{status: http.StatusPreconditionFailed, text: "the paste does not meet the condition of the request"}},
		{lethe.ErrHeld, problem{status: http.StatusForbidden, text: "the paste is held by the operator and cannot be changed or deleted"}},
		{lethe.ErrQuotaExceeded, problem{status: http.StatusInsufficientStorage, text: "there is no room for more pastes; try again when others have expired"}},
		{lethe.ErrNoRoom, problem{status: http.StatusInsufficientStorage, text: "there is no room for more pastes; try again when others have expired"}},
		{lethe.ErrUnknownOutcome, unavailable("the store did not confirm: it may or may not have happened; try again")},
		{lethe.ErrReaped, unavailable("the store was too slow; try again")},
		{context.Canceled, unavailable("the request was given up; try again")},
		{lethe.ErrUnavailable, unavailable("the store cannot be reached; try again")},
	} {
		if errors.Is(err, is.err) {
			return &is.problem, is.status < http.StatusInternalServerError
		}
	}
	if errors.Is(err, lethe.ErrInvalidTTL) {
		return &problem{status: http.StatusBadRequest, text: lethe.TTLProblem(err)}, true
	}
	return &problem{status: http.StatusInternalServerError, text: "something went wrong here; the operator's log has the cause"}, false
}

func unavailable(text string) problem {
	return problem{status: http.StatusServiceUnavailable, text: text, retry: 10 * time.Second}
}

// fail sends an error in the form that the client wants.
func (h *Handler) fail(w http.ResponseWriter, v *visit, err error) {
	if errors.Is(err, lethe.ErrNotModified) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p, known := problemOf(err)
	if !known {
		h.opt.Events.failed(v.Method+" "+v.URL.Path, err)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Length", "Content-Disposition", headerSunset} {
		w.Header().Del(name)
	}
	w.Header().Set("Cache-Control", "no-store")
	if p.allow != "" {
		w.Header().Set("Allow", p.allow)
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	switch {
	case v.browser:
		render(w, p.status, messagePage(http.StatusText(p.status), sentence(p.text), v.root+"/"))
	case v.json:
		writeJSON(w, p.status, map[string]string{"error": p.text})
	default:
		writeText(w, p.status, "error: "+p.text+"\n")
	}
}

// sentence turns an error's text into a sentence.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", textType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	// An error means that the client has left.
	_, _ = w.Write([]byte(text))
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	// The values are strings and numbers: it cannot fail.
	body, _ := json.Marshal(value)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
