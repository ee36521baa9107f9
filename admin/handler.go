package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Prefix begins the path of every call.
const Prefix = "/admin/api/"

// maxRequest bounds the body of a call, in bytes.
const maxRequest = 4 << 20

// Handler offers the service over HTTP. A token that is not empty must come with
// every call as a bearer token. Calls from pages of other origins are refused.
func Handler(s *Service, token string) http.Handler {
	mux := http.NewServeMux()
	s.reads(mux)
	s.writes(mux)
	s.streams(mux)
	var h http.Handler = mux
	if token != "" {
		h = bearer(token, h)
	}
	return http.NewCrossOriginProtection().Handler(h)
}

func (s *Service) reads(mux *http.ServeMux) {
	route(mux, "status", call(s.Status))
	route(mux, "explain", call(s.Explain))
	route(mux, "dead/list", call(s.Dead))
	route(mux, "trash/list", call(s.Trash))
	route(mux, "ttl/show", call(s.ShowTTL))
	route(mux, "buckets/list", call(s.Buckets))
	route(mux, "lifecycle/list", call(s.Lifecycles))
	route(mux, "lifecycle/get", call(s.ShowLifecycle))
	route(mux, "keys/list", call(s.Keys))
	route(mux, "backends/list", call(s.ListBackends))
	route(mux, "clock/show", call(s.ShowClock))
}

func (s *Service) writes(mux *http.ServeMux) {
	route(mux, "dead/requeue", call(s.Requeue))
	route(mux, "dead/write-off", call(s.WriteOff))
	route(mux, "trash/restore", call(s.RestoreTrash))
	route(mux, "trash/purge", call(s.PurgeTrash))
	route(mux, "ttl/set", call(s.SetTTL))
	route(mux, "buckets/set", call(s.SetBucket))
	route(mux, "lifecycle/set", call(s.SetLifecycle))
	route(mux, "keys/add", call(s.AddKey))
	route(mux, "keys/remove", call(s.RemoveKey))
	route(mux, "backends/accept", call(s.AcceptBackend))
	route(mux, "backends/hold", call(s.HoldBackend))
	route(mux, "backends/drain", call(s.DrainBackend))
	route(mux, "backends/undrain", call(s.UndrainBackend))
	route(mux, "backends/remove", call(s.RemoveBackend))
	route(mux, "clock/reset", call(s.ResetClock))
}

func (s *Service) streams(mux *http.ServeMux) {
	route(mux, "check", stream(s.Check))
	route(mux, "reclaim", stream(s.Reclaim))
	route(mux, "lifecycle/simulate", stream(s.SimulateLifecycle))
	mux.HandleFunc("POST "+Prefix+"backup", s.backup)
}

// route adds a call. Every call is a POST with a JSON body, which may be empty,
// so that no page can make a browser call it.
func route(mux *http.ServeMux, name string, h http.HandlerFunc) {
	mux.HandleFunc("POST "+Prefix+name, h)
}

// bearer lets only requests with the token through.
func bearer(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(want[:], have[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			reply(w, http.StatusUnauthorized, failure{&Error{"unauthorized",
				"the admin API wants the token of the data folder: Authorization: Bearer ..., as kept in admin.token there"}})
			return
		}
		next.ServeHTTP(w, r)
	})
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
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(req)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
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
