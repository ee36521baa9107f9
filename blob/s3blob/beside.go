package s3blob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lethe-storage/lethe/blob"
)

// Headers that belong to S3, not HTTP. A copy does not get them by itself.
const (
	classHeader     = "X-Amz-Storage-Class"
	redirectHeader  = "X-Amz-Website-Redirect-Location"
	encryptHeader   = "X-Amz-Server-Side-Encryption"
	keyHeader       = "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"
	bucketKeyHeader = "X-Amz-Server-Side-Encryption-Bucket-Key-Enabled"
	tagsHeader      = "X-Amz-Tagging"
	replaceHeader   = "X-Amz-Tagging-Directive"
)

func headersOf(out *s3.HeadObjectOutput) map[string]string {
	all := map[string]string{}
	for name, v := range map[string]*string{
		"Content-Type": out.ContentType, "Content-Encoding": out.ContentEncoding, "Content-Disposition": out.ContentDisposition,
		"Content-Language": out.ContentLanguage, "Cache-Control": out.CacheControl, "Expires": out.ExpiresString,
		redirectHeader: out.WebsiteRedirectLocation, encryptHeader: aws.String(string(out.ServerSideEncryption)), keyHeader: out.SSEKMSKeyId,
	} {
		if aws.ToString(v) != "" {
			all[name] = *v
		}
	}
	if out.StorageClass != types.StorageClassStandard && out.StorageClass != "" {
		all[classHeader] = string(out.StorageClass)
	}
	if aws.ToBool(out.BucketKeyEnabled) {
		all[bucketKeyHeader] = "true"
	}
	return all
}

// besideOf returns the headers with which a copy gets what it does not get by
// itself: in one request, or, all of them, when it is begun in parts.
func (s *Store) besideOf(ctx context.Context, seen blob.ForeignInfo, parts bool) (map[string]string, error) {
	switch class := seen.Headers[classHeader]; types.StorageClass(class) {
	case types.StorageClassGlacier, types.StorageClassDeepArchive:
		return nil, notDone("copy", seen.Key, fmt.Errorf("%w: it has the storage class %s, from which it cannot be copied back at once", errors.ErrUnsupported, class))
	}
	headers := maps.Clone(seen.Headers)
	maps.DeleteFunc(headers, func(name, _ string) bool { return !parts && !strings.HasPrefix(name, "X-Amz-") })
	tags, err := s.tagsOf(ctx, seen.Key)
	if err != nil || tags == "" {
		return headers, err
	}
	if headers == nil {
		headers = map[string]string{}
	}
	headers[tagsHeader] = tags
	if !parts {
		headers[replaceHeader] = string(types.TaggingDirectiveReplace)
	}
	return headers, nil
}

// with adds headers to a request, as they are.
func with(headers map[string]string) func(*s3.Options) {
	return func(o *s3.Options) {
		for name, v := range headers {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue(name, v))
		}
	}
}

// tagsOf returns the tags of an object in header form; none where the service has
// no tags. A copy of an object whose tags cannot be read would lose them.
func (s *Store) tagsOf(ctx context.Context, key string) (string, error) {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	out, err := s.client.GetObjectTagging(asked, &s3.GetObjectTaggingInput{Bucket: &s.o.Bucket, Key: s.name(key)})
	if err != nil {
		v := judge(ctx, err)
		switch {
		case v.certain && (v.is(unable...) || v.is("NoSuchTagSet", "NoSuchTagSetError")):
			return "", nil
		case v.is("NoSuchKey"):
			return "", notDone("read the tags of", key, blob.ErrNotExist)
		case v.status == http.StatusForbidden:
			return "", notDone("read the tags of", key, fmt.Errorf("the access key may not read tags, which a copy would lose; give it s3:GetObjectTagging and s3:PutObjectTagging: %w", s.kinds(v)))
		}
		return "", notDone("read the tags of", key, s.kinds(v))
	}
	tags := make([]string, len(out.TagSet))
	for i, tag := range out.TagSet {
		tags[i] = escaped(tag.Key) + "=" + escaped(tag.Value)
	}
	slices.Sort(tags)
	return strings.Join(tags, "&"), nil
}

// escaped encodes a space so that no service takes it for a plus.
func escaped(text *string) string {
	return strings.ReplaceAll(url.QueryEscape(aws.ToString(text)), "+", "%20")
}

// tagged compares the tags of a copy with those it should have: some services drop
// them without an error.
func (s *Store) tagged(ctx context.Context, key, want string) error {
	if want == "" {
		return nil
	}
	got, err := s.tagsOf(ctx, key)
	if err == nil && got != want {
		err = fmt.Errorf("the service did not copy its tags: the copy has %q, the object %q", got, want)
	}
	if err != nil {
		return fmt.Errorf("s3blob: copy %s: %w: %w", key, blob.ErrUnknown, hidden{err})
	}
	return nil
}

// Tags checks that tags below the prefix may be read, without which nothing is
// copied: the error has the remedy. A service without tags has none to lose.
func (s *Store) Tags(ctx context.Context) error {
	if _, err := s.tagsOf(ctx, ownFolder+"tags"); err != nil && !errors.Is(err, blob.ErrNotExist) {
		return err
	}
	return nil
}
