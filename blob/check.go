package blob

import "context"

type checkKey struct{}

// WithCheck returns a context with a check. Every Put calls it right before it may
// leave bytes under its key, every Delete right before it may remove some, each
// time anew. While a writer was suspended its intent may have been given up, even
// if it had read all bytes: then they must not be sent. Likewise the backend may
// have been given to another ledger while a deleter was suspended.
func WithCheck(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Check calls the check of ctx, if it has one. After an error nothing may be sent.
func Check(ctx context.Context) error {
	if check, ok := ctx.Value(checkKey{}).(func() error); ok {
		return check()
	}
	return nil
}
