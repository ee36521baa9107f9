package importer

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Mark is the name of the metadata that identifies an imported object: a digest of
// the backend, key, tag and size of the bytes.
const Mark = "lethe-imported"

func (i *Importer) mark(info blob.ForeignInfo) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", i.o.Backend, info.Key, info.Tag, info.Size))
	return hex.EncodeToString(sum[:16])
}

// Look returns the item with the tag of the present bytes.
func (i *Importer) Look(ctx context.Context, item Item) (Item, error) {
	if err := i.o.Call(ctx); err != nil {
		return item, err
	}
	info, err := i.f.StatForeign(ctx, item.Source)
	item.Tag, item.Size = info.Tag, info.Size
	return item, err
}

// Import makes the object of an item. An error is one of the backend or the store
// as a whole, or of ctx; failures of the item alone are its outcome.
func (i *Importer) Import(ctx context.Context, item Item) (Result, error) {
	switch {
	case item.Refused != "":
		return Result{Item: item, Outcome: Refused, Detail: item.Refused}, nil
	case i.ours(item.Source):
		return Result{Item: item, Outcome: Refused, Detail: "it is a name of this store"}, nil
	}
	res, err := i.try(ctx, item)
	if err == nil || ctx.Err() != nil {
		return res, err
	}
	return i.fate(item, err)
}

// fate is the outcome that an error means for an item.
func (i *Importer) fate(item Item, err error) (Result, error) {
	res := Result{Item: item, Outcome: Failed, Detail: err.Error()}
	switch {
	case errors.Is(err, blob.ErrDown), errors.Is(err, lethe.ErrNoRoom), errors.Is(err, lethe.ErrUnavailable), errors.Is(err, lethe.ErrNoSuchBucket):
		return res, fmt.Errorf("import %q: %w", item.Source, err)
	case errors.Is(err, blob.ErrNotExist):
		res.Outcome = Gone
	case errors.Is(err, blob.ErrChanged):
		res.Outcome = Changed
	case errors.Is(err, blob.ErrInvalidKey), errors.Is(err, lethe.ErrInvalidKey):
		res.Outcome = Refused
	case errors.Is(err, lethe.ErrPreconditionFailed):
		res.Outcome, res.Detail = Conflict, "another object was put under its key meanwhile"
	}
	return res, nil
}

// try looks up both sides, and reads the bytes if the object is not there.
func (i *Importer) try(ctx context.Context, item Item) (Result, error) {
	res := Result{Item: item}
	if err := i.o.Call(ctx); err != nil {
		return res, err
	}
	info, err := i.f.StatForeign(ctx, item.Source)
	if err != nil {
		return res, err
	}
	if item.Tag != "" && info.Tag != item.Tag {
		return res, fmt.Errorf("%w: since it was looked at", blob.ErrChanged)
	}
	res.Item.Size = info.Size
	there, err := i.o.Objects.Head(ctx, object.GetRequest{Bucket: item.Bucket, Key: item.Key})
	switch {
	case err == nil:
		res.Outcome, res.Detail, err = i.compare(ctx, info, there)
		return res, err
	case !errors.Is(err, lethe.ErrNoSuchKey):
		return res, err
	}
	made, err := i.put(ctx, item, info)
	res.Outcome, res.Duplicate = Imported, made.Duplicate
	return res, err
}

// put reads the bytes into a new object. The object is made only if they were the
// same before and after, and its key is free.
func (i *Importer) put(ctx context.Context, item Item, info blob.ForeignInfo) (object.PutResult, error) {
	body, err := i.open(ctx, info)
	if err != nil {
		return object.PutResult{}, err
	}
	defer body.Close()
	made, err := i.o.Objects.Put(ctx, object.PutRequest{
		Bucket: item.Bucket, Key: item.Key, Body: body, Size: info.Size, MD5: info.MD5, Attrs: i.attrs(info), TTL: item.TTL,
		If:     ledger.Precondition{IfNoneMatch: "*"},
		Finish: func(*ledger.Attrs) error { return i.unchanged(ctx, info) },
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, lethe.ErrPreconditionFailed) {
		// Bytes that end early or have another digest are mostly being written.
		if changed := i.unchanged(ctx, info); errors.Is(changed, blob.ErrChanged) || errors.Is(changed, blob.ErrNotExist) {
			return made, changed
		}
	}
	return made, err
}

func (i *Importer) open(ctx context.Context, info blob.ForeignInfo) (io.ReadCloser, error) {
	if err := i.o.Call(ctx); err != nil {
		return nil, err
	}
	body, err := i.f.OpenForeign(ctx, info)
	if err != nil {
		return nil, err
	}
	return &slowed{body, ctx, i.o.Bytes}, nil
}

// slowed waits after each read for the bytes that it returned.
type slowed struct {
	io.ReadCloser
	ctx  context.Context
	wait func(context.Context, int64) error
}

// Read implements io.Reader.
func (s *slowed) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		if werr := s.wait(s.ctx, int64(n)); werr != nil {
			return n, werr
		}
	}
	return n, err
}

func (i *Importer) unchanged(ctx context.Context, info blob.ForeignInfo) error {
	if err := i.o.Call(ctx); err != nil {
		return err
	}
	now, err := i.f.StatForeign(ctx, info.Key)
	if err == nil && now.Tag != info.Tag {
		err = fmt.Errorf("%w: while it was read", blob.ErrChanged)
	}
	return err
}

// attrs returns the attributes that the owner gave the bytes, with the mark.
func (i *Importer) attrs(info blob.ForeignInfo) ledger.Attrs {
	user := maps.Clone(info.User)
	if user == nil {
		user = map[string]string{}
	}
	user[Mark] = i.mark(info)
	h := info.Headers
	return ledger.Attrs{
		ContentType: h["Content-Type"], ContentEncoding: h["Content-Encoding"], ContentDisposition: h["Content-Disposition"],
		ContentLanguage: h["Content-Language"], CacheControl: h["Cache-Control"], Expires: h["Expires"], User: user,
	}
}

// compare decides whether an object holds the bytes: by its mark, else by their
// MD5, which is computed where the backend does not report it.
func (i *Importer) compare(ctx context.Context, info blob.ForeignInfo, o ledger.Object) (Outcome, string, error) {
	if o.Size == info.Size && o.Attrs.User[Mark] == i.mark(info) {
		return Already, "", nil
	}
	if o.Size != info.Size {
		return Conflict, fmt.Sprintf("an object of %s has its key", words.Plural(o.Size, "byte", "bytes")), nil
	}
	if len(o.ETag) != 2*md5.Size {
		return Conflict, "an object of the same size has its key, was uploaded in parts and cannot be compared", nil
	}
	sum := info.MD5
	if sum == "" {
		var err error
		if sum, err = i.sum(ctx, info); err != nil {
			return "", "", err
		}
	}
	if !strings.EqualFold(sum, o.ETag) {
		return Conflict, "another object of the same size has its key", nil
	}
	return Already, "an object with the same bytes has its key", nil
}

// sum reads the bytes and returns their MD5, in hex.
func (i *Importer) sum(ctx context.Context, info blob.ForeignInfo) (string, error) {
	body, err := i.open(ctx, info)
	if err != nil {
		return "", err
	}
	defer body.Close()
	sum := md5.New()
	if _, err := io.Copy(sum, body); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), i.unchanged(ctx, info)
}
