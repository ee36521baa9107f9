package blob

import "context"

type begunKey struct{}

// WithBegun returns a context whose function CopyForeign calls with the id of an
// upload that it has begun under a key, before it sends anything there. If this
// process dies, another one can abort the upload (Aborter). An error of the
// function aborts the copy without effect.
func WithBegun(ctx context.Context, begun func(id string) error) context.Context {
	return context.WithValue(ctx, begunKey{}, begun)
}

// Begun calls the function of ctx, if it has one, with the id of an upload.
func Begun(ctx context.Context, id string) error {
	if begun, ok := ctx.Value(begunKey{}).(func(id string) error); ok {
		return begun(id)
	}
	return nil
}

// Aborter is the optional ability to abort an upload that another process has
// begun.
type Aborter interface {
	// AbortUpload removes what was sent of an upload under a key. A completed one
	// stays, and an unknown one is no error.
	AbortUpload(ctx context.Context, key, id string) error
}
