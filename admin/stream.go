package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Event is one line of a stream: progress, a finding, and last the result or the
// error.
type Event struct {
	Progress *Progress       `json:"progress,omitempty"`
	Problem  *Problem        `json:"problem,omitempty"`
	Item     *plan.Result    `json:"item,omitempty"` // of a plan, that was not acted on
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *Error          `json:"error,omitempty"`
}

// Progress reports how far an operation has come. Total is 0 if it is unknown;
// it is an estimate, since others work meanwhile.
type Progress struct {
	What   string           `json:"what"`
	Done   int64            `json:"done"`
	Total  int64            `json:"total,omitempty"`
	Counts map[string]int64 `json:"counts,omitempty"`
}

// emitter writes events as lines; it is safe for concurrent use.
type emitter struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (e *emitter) emit(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A client that disconnects ends the request's context.
	if err := json.NewEncoder(e.w).Encode(ev); err == nil {
		_ = http.NewResponseController(e.w).Flush()
	}
}

// stream returns a handler of a method that reports progress.
func stream[Req, Res any](fn func(context.Context, Req, func(Event)) (Res, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if err := decode(w, r, &req); err != nil {
			e, status := httpError(err)
			reply(w, status, Failure{e})
			return
		}
		lines(w, func(emit func(Event)) (Res, error) { return fn(r.Context(), req, emit) })
	}
}

// lines writes what fn reports, and last its result or its error.
func lines[Res any](w http.ResponseWriter, fn func(emit func(Event)) (Res, error)) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	out := &emitter{w: w}
	res, err := fn(out.emit)
	if err != nil {
		e, _ := httpError(err)
		out.emit(Event{Error: e})
		return
	}
	raw, err := json.Marshal(res)
	if err != nil {
		e, _ := httpError(err)
		out.emit(Event{Error: e})
		return
	}
	out.emit(Event{Result: raw})
}
