package service

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
)

const (
	// bodiesHold bounds the memory of bodies of all calls in progress, in
	// bytes, half of it for one address.
	bodiesHold = 64 << 20
	// heldPerByte is the memory for each byte of a body while it is received
	// and decoded.
	heldPerByte = 4
)

// errBusy is returned when there is no memory left for a body.
var errBusy = fmt.Errorf("%w: too many calls are being received: try again in a moment", lethe.ErrUnavailable)

// heldKey is the context key of a call's memory.
type heldKey struct{}

// withMemory charges a call's body to its address's memory; done releases it.
func (g *gate) withMemory(r *http.Request) (_ *http.Request, done func()) {
	held := g.bodies.Account(addressOf(callerOf(r.Context())))
	return r.WithContext(context.WithValue(r.Context(), heldKey{}, held)), held.Close
}

// charged is a body that takes memory as it is read.
func charged(r *http.Request, body io.Reader) io.Reader {
	held, ok := r.Context().Value(heldKey{}).(*budget.Account)
	if !ok {
		return body
	}
	return &budget.Reader{R: body, Account: held, Factor: heldPerByte, ErrFull: errBusy}
}
