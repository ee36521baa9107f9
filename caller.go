package lethe

import "context"

// Caller is the client, operator or routine on whose behalf an operation runs. Receipts of
// deletion record it: names only, never a secret.
type Caller struct {
	Key     string `json:"key,omitempty"`     // access key id, or the name of an operator's token
	Request string `json:"request,omitempty"` // id of the request, as returned to the client
	Run     ID     `json:"run,omitempty"`     // run of a routine of the engine
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the context's caller, the zero value if it has none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
