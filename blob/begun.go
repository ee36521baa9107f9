package blob

import "context"

type begunKey struct{}

// WithBegun returns a context whose function CopyForeign tells the id of an upload that it
// has begun under a key, before it sends anything there: should this process die, somebody
// else can give it up (Aborter). Its error gives the copy up: nothing was done.
func WithBegun(ctx context.Context, begun func(id string) error) context.Context {
	return context.WithValue(ctx, begunKey{}, begun)
}

// Begun tells the id of an upload to the function of ctx, if it has one.
func Begun(ctx context.Context, id string) error {
	if begun, ok := ctx.Value(begunKey{}).(func(id string) error); ok {
		return begun(id)
	}
	return nil
}

// Aborter is the optional ability to give up an upload that another process has begun.
type Aborter interface {
	// AbortUpload removes what was sent of an upload under a key. One that was completed
	// stays what it became, and one that is not there is no error.
	AbortUpload(ctx context.Context, key, id string) error
}
