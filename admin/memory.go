package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
)

const (
	// bodiesHold is how many bytes the bodies of the calls under way may hold together, half
	// of it for one address.
	bodiesHold = 64 << 20
	// heldPerByte is how many bytes one of a body holds while it is received and decoded.
	heldPerByte = 4
)

// errBusy is answered where there is no memory left for a body.
var errBusy = fmt.Errorf("%w: too many calls are being received: try again in a moment", lethe.ErrUnavailable)

// heldKey finds a call's memory in its context.
type heldKey struct{}

// withMemory has a call's body take memory of its address's; done gives it back.
func (g *gate) withMemory(r *http.Request) (_ *http.Request, done func()) {
	held := g.bodies.Account(addressOf(callerOf(r.Context())))
	return r.WithContext(context.WithValue(r.Context(), heldKey{}, held)), held.Close
}

// charged is a body that takes memory for what is read of it.
func charged(r *http.Request, body io.Reader) io.Reader {
	held, ok := r.Context().Value(heldKey{}).(*budget.Account)
	if !ok {
		return body
	}
	return &budget.Reader{R: body, Held: held, Times: heldPerByte, Beyond: errBusy}
}
