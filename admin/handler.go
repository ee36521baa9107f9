package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Prefix begins the path of every call.
const Prefix = "/admin/api/"

// maxRequest bounds the body of a call, in bytes.
const maxRequest = 4 << 20

// Handler offers the service over HTTP, to those that Access or a token in the
// ledger lets in. Calls from pages of other origins are refused.
func Handler(s *Service, a Access) http.Handler {
	mux := http.NewServeMux()
	g := newGate(s, a)
	for _, r := range Routes() {
		mux.HandleFunc(r.pattern(), g.guarded(r))
	}
	return http.NewCrossOriginProtection().Handler(g.known(mux))
}

// failure is the body of an answer that is no success.
type failure struct {
	Error *Error `json:"error"`
}

// call makes a handler of a method with one answer.
func call[Req, Res any](fn func(context.Context, Req) (Res, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		err := decode(w, r, &req)
		if err == nil {
			var res Res
			if res, err = fn(r.Context(), req); err == nil {
				reply(w, http.StatusOK, res)
				return
			}
		}
		e, status := told(err)
		reply(w, status, failure{e})
	}
}

// decode reads the body strictly; an empty one leaves the request at its zero
// value.
func decode(w http.ResponseWriter, r *http.Request, req any) error {
	d := json.NewDecoder(charged(r, http.MaxBytesReader(w, r.Body, maxRequest)))
	d.DisallowUnknownFields()
	err := d.Decode(req)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	switch {
	case errors.Is(err, errBusy):
		return err
	case err != nil:
		return fmt.Errorf("%w: the body: %w", ErrBadRequest, err)
	}
	return nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(v)
}
