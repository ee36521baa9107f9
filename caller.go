package lethe

import "context"

// Caller is on whose behalf something is done. It is written into receipts of
// deletion: names only, never a secret.
type Caller struct {
	Key     string `json:"key,omitempty"`     // access key id, or the name of an operator's token
	Request string `json:"request,omitempty"` // id of the request, as the client was told
	Run     ID     `json:"run,omitempty"`     // run of a routine of the engine
}

type callerKey struct{}

// WithCaller says on whose behalf ctx is.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is on whose behalf ctx is; the zero value if nobody has said.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
