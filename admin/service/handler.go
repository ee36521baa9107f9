package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim"
)

// maxRequest bounds the body of a call, in bytes.
const maxRequest = 4 << 20

// Handler offers the service over HTTP, to callers with Access or a token in
// the ledger. Calls from pages of other origins are refused.
func Handler(s *Service, a Access) http.Handler {
	g := newGate(s, a)
	return http.NewCrossOriginProtection().Handler(g.known(g.routes()))
}

// routes serves every call to authenticated callers.
func (g *gate) routes() http.Handler {
	mux := http.NewServeMux()
	served := methods()
	for _, r := range api.Routes() {
		mux.HandleFunc(pattern(r), g.guarded(r, served[r.Name].serve(g.s, r.Name)))
	}
	return mux
}

// call returns a handler of a method with one result.
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
		e, status := httpError(err)
		reply(w, status, api.Failure{Error: e})
	}
}

// decode reads the body strictly; an empty one is the zero request.
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
		return fmt.Errorf("%w: the body: %w", api.ErrBadRequest, err)
	}
	return nil
}

// httpError returns err in the API's form, with its HTTP status.
func httpError(err error) (*api.Error, int) {
	if !errors.Is(err, reclaim.ErrRunning) {
		return api.ErrorOf(err)
	}
	e, status := api.ErrorOf(api.ErrRunning)
	e.Message = err.Error()
	return e, status
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has disconnected needs no response.
	_ = json.NewEncoder(w).Encode(v)
}
