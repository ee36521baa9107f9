package app

import (
	"context"
	"io"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// tracedObjects gives each operation on objects a span.
type tracedObjects struct {
	*object.Store
	t *tracer
}

func (o tracedObjects) begin(ctx context.Context, name, bucket, key string) (context.Context, *span) {
	return o.t.child(ctx, "object "+name, trace.SpanKindInternal, o.t.named(ctx, bucket, key)...)
}

// Get traces an object's opening, and the transfer of its body.
func (o tracedObjects) Get(ctx context.Context, r object.GetRequest) (*object.Reader, error) {
	ctx, sp := o.begin(ctx, "get", r.Bucket, r.Key)
	rd, err := o.Store.Get(ctx, r)
	if err != nil || sp == nil {
		sp.end(err)
		return rd, err
	}
	rd.Body = &tracedBody{rd.Body, sp, rd.Length}
	return rd, nil
}

// tracedBody ends its span when it is closed.
type tracedBody struct {
	io.ReadCloser
	sp     *span
	length int64
}

// Close implements io.Closer.
func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	b.sp.end(err, attribute.Int64("lethe.bytes", b.length))
	b.sp = nil
	return err
}

// Head traces a look-up of an object.
func (o tracedObjects) Head(ctx context.Context, r object.GetRequest) (ledger.Object, error) {
	ctx, sp := o.begin(ctx, "head", r.Bucket, r.Key)
	obj, err := o.Store.Head(ctx, r)
	sp.end(err)
	return obj, err
}

// List traces a page of a listing.
func (o tracedObjects) List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error) {
	ctx, sp := o.begin(ctx, "list", q.Bucket, "")
	page, err := o.Store.List(ctx, q)
	sp.end(err)
	return page, err
}

// Put traces the creation of an object.
func (o tracedObjects) Put(ctx context.Context, r object.PutRequest) (object.PutResult, error) {
	ctx, sp := o.begin(ctx, "put", r.Bucket, r.Key)
	res, err := o.Store.Put(ctx, r)
	sp.end(err, attribute.Int64("lethe.bytes", res.Object.Size))
	return res, err
}

// Copy traces a copy.
func (o tracedObjects) Copy(ctx context.Context, r object.CopyRequest) (object.PutResult, error) {
	ctx, sp := o.begin(ctx, "copy", r.Bucket, r.Key)
	res, err := o.Store.Copy(ctx, r)
	sp.end(err, attribute.Int64("lethe.bytes", res.Object.Size))
	return res, err
}

// Update traces a change of an object's attributes.
func (o tracedObjects) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	ctx, sp := o.begin(ctx, "update", u.Bucket, u.Key)
	obj, err := o.Store.Update(ctx, u)
	sp.end(err)
	return obj, err
}

// Delete traces a deletion.
func (o tracedObjects) Delete(ctx context.Context, r object.DeleteRequest) ([]ledger.Deleted, error) {
	ctx, sp := o.begin(ctx, "delete", r.Bucket, "")
	gone, err := o.Store.Delete(ctx, r)
	sp.end(err, attribute.Int("lethe.keys", len(gone)))
	return gone, err
}

// PutPart traces the upload of a part.
func (o tracedObjects) PutPart(ctx context.Context, r object.PartRequest) (ledger.Part, error) {
	ctx, sp := o.begin(ctx, "put part", r.Bucket, r.Key)
	part, err := o.Store.PutPart(ctx, r)
	sp.end(err, attribute.Int64("lethe.bytes", part.Size))
	return part, err
}

// Complete traces the completion of a multipart upload.
func (o tracedObjects) Complete(ctx context.Context, r object.CompleteRequest) (object.PutResult, error) {
	ctx, sp := o.begin(ctx, "complete", r.Bucket, r.Key)
	res, err := o.Store.Complete(ctx, r)
	sp.end(err, attribute.Int64("lethe.bytes", res.Object.Size))
	return res, err
}

// Abort traces the abort of a multipart upload.
func (o tracedObjects) Abort(ctx context.Context, bucket, key string, id lethe.ID) error {
	ctx, sp := o.begin(ctx, "abort", bucket, key)
	err := o.Store.Abort(ctx, bucket, key, id)
	sp.end(err)
	return err
}
