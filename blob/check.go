package blob

import "context"

type checkKey struct{}

// WithCheck returns a context whose check every Put asks right before it does what
// may leave bytes under its key, and every Delete right before it does what may remove
// some, as often as they do that. A writer's intent may have been given up while it stood
// still, however shortly before it had all bytes: then they must not be sent any more. So
// may the backend have been given to another while a deleter stood still.
func WithCheck(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Check asks the check of ctx, if it has one. Its error says that nothing may be sent
// any more.
func Check(ctx context.Context) error {
	if check, ok := ctx.Value(checkKey{}).(func() error); ok {
		return check()
	}
	return nil
}
