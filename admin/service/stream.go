package service

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/lethe-storage/lethe/admin/api"
)

// emitter writes events as lines; it is safe for concurrent use.
type emitter struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (e *emitter) emit(ev api.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A client that disconnects ends the request's context.
	if err := json.NewEncoder(e.w).Encode(ev); err == nil {
		_ = http.NewResponseController(e.w).Flush()
	}
}

// stream returns a handler of a method that reports progress.
func stream[Req, Res any](fn func(context.Context, Req, func(api.Event)) (Res, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if err := decode(w, r, &req); err != nil {
			e, status := httpError(err)
			reply(w, status, api.Failure{Error: e})
			return
		}
		lines(w, func(emit func(api.Event)) (Res, error) { return fn(r.Context(), req, emit) })
	}
}

// lines writes what fn reports, and last its result or its error.
func lines[Res any](w http.ResponseWriter, fn func(emit func(api.Event)) (Res, error)) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	out := &emitter{w: w}
	res, err := fn(out.emit)
	if err != nil {
		e, _ := httpError(err)
		out.emit(api.Event{Error: e})
		return
	}
	raw, err := json.Marshal(res)
	if err != nil {
		e, _ := httpError(err)
		out.emit(api.Event{Error: e})
		return
	}
	out.emit(api.Event{Result: raw})
}
