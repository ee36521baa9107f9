package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/blob"
)

var (
	_ blob.Copier  = (*Store)(nil)
	_ blob.Aborter = (*Store)(nil)
)

// CopyForeign implements blob.Copier for stores of the same bucket: the service
// copies, and only the ETag that was seen. Not every service honours the condition
// of fresh, so the key is looked up before as well. Tags, storage class, encryption
// and redirect are copied.
func (s *Store) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	source, ok := from.(*Store)
	if !ok || source.o.Bucket != s.o.Bucket || source.o.Endpoint != s.o.Endpoint {
		return notDone("copy", key, fmt.Errorf("%w: the bytes lie in another bucket", errors.ErrUnsupported))
	}
	if err := errors.Join(s.checkForeign(ctx, key), source.checkForeign(ctx, seen.Key), s.may(ctx, forPut)); err != nil {
		return notDone("copy", key, err)
	}
	if fresh {
		if err := s.refuseExisting(ctx, key); err != nil {
			return err
		}
	}
	parts := seen.Size > s.o.CopyWhole
	beside, err := source.besideOf(ctx, seen, parts)
	if err != nil {
		return err
	}
	if err := mayChange(ctx); err != nil {
		return notDone("copy", key, err)
	}
	if parts {
		c := &partCopy{upload: upload{key: key, sent: seen.Size, over: !fresh}, source: source, seen: seen}
		err = s.copyParts(ctx, c, beside)
	} else {
		err = s.copyWhole(ctx, wholeCopy{source, seen, key, fresh}, beside)
	}
	if err != nil {
		return err
	}
	return s.tagged(ctx, key, beside[tagsHeader])
}

// wholeCopy is a copy by one request.
type wholeCopy struct {
	source *Store
	seen   blob.ForeignInfo
	key    string
	fresh  bool
}

func (s *Store) copyWhole(ctx context.Context, c wholeCopy, beside map[string]string) error {
	in := &s3.CopyObjectInput{
		Bucket: &s.o.Bucket, Key: s.name(c.key), CopySource: c.source.copySource(c.seen.Key), CopySourceIfMatch: &c.seen.Tag,
		MetadataDirective: types.MetadataDirectiveCopy,
	}
	if c.fresh {
		in.IfNoneMatch = aws.String("*")
	}
	// The service reads and writes all of it before it responds.
	asked, cancel := s.bounded(ctx, c.seen.Size/16)
	defer cancel()
	out, err := s.client.CopyObject(asked, in, with(beside))
	if err == nil {
		s.sawVersion(out.VersionId)
		return nil
	}
	return s.notCopied(ctx, c.key, c.fresh, judge(ctx, err))
}

// notCopied is the error of a copy. A failed condition is that of the source,
// unless the key that should be fresh is taken.
func (s *Store) notCopied(ctx context.Context, key string, fresh bool, v verdict) error {
	switch {
	case v.status == http.StatusPreconditionFailed && fresh && errors.Is(s.refuseExisting(ctx, key), blob.ErrExist):
		return fmt.Errorf("s3blob: copy %s: %w", key, blob.ErrExist)
	case v.status == http.StatusPreconditionFailed:
		return notDone("copy", key, blob.ErrChanged)
	case v.is("NoSuchKey"):
		return notDone("copy", key, blob.ErrNotExist)
	}
	return s.changing("copy", key, v)
}

// spell encodes a name so that services that parse it as a path and those that
// parse it as a query agree.
var spell = strings.NewReplacer("%2F", "/", "+", "%20")

// copySource is a name in the form of the copy header.
func (s *Store) copySource(key string) *string {
	name := spell.Replace(url.QueryEscape(s.o.Bucket + "/" + *s.name(key)))
	return &name
}
