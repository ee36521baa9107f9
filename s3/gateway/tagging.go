package gateway

import (
	"context"
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
)

// maxTags is the most tags of an object, as S3 has it.
const maxTags = 10

// GetObjectTagging returns an object's tags.
func (b *Backend) GetObjectTagging(ctx context.Context, bucket, key, version string) (map[string]string, error) {
	o, err := b.begin(ctx, need{bucket: str(&bucket), key: str(&key)})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err != nil {
		return nil, err
	}
	obj, err := b.store.Objects.Head(o.ctx, object.GetRequest{Bucket: o.names.bucket, Key: o.names.key})
	return obj.Tags, b.fail(o, err)
}

// PutObjectTagging replaces an object's tags, nil for none. Its content, time to
// live and date stay.
func (b *Backend) PutObjectTagging(ctx context.Context, bucket, key, version string, tags map[string]string) error {
	o, err := b.begin(ctx, need{bucket: str(&bucket), key: str(&key), access: writing, xml: tags != nil})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err == nil && tags != nil {
		err = checkTags(ctx, tags)
	}
	if err != nil {
		return err
	}
	tags = cloneMap(tags)
	_, err = b.store.Objects.Update(o.ctx, meta.Update{Bucket: o.names.bucket, Key: o.names.key, Tags: &tags})
	return b.fail(o, err)
}

// DeleteObjectTagging removes an object's tags.
func (b *Backend) DeleteObjectTagging(ctx context.Context, bucket, key, version string) error {
	return b.PutObjectTagging(ctx, bucket, key, version, nil)
}

// tagDocument is a document of tags, with all that stands in it once or more.
type tagDocument struct {
	XMLName xml.Name
	Sets    []struct {
		Tags []struct {
			Keys   []string `xml:"Key"`
			Values []string `xml:"Value"`
		} `xml:"Tag"`
	} `xml:"TagSet"`
}

// checkTags reads the request's document strictly, and refuses tags that S3 keeps to
// itself. versitygw has read it already, but takes any other document for no tags,
// and the last of two keys in one tag for its key.
func checkTags(ctx context.Context, tags map[string]string) error {
	if rc, ok := ctx.(*fasthttp.RequestCtx); ok {
		if _, ok := documentTags(rc.Request.Body()); !ok {
			return s3err.GetAPIError(s3err.ErrMalformedXML)
		}
	}
	return unreserved(tags)
}

// unreserved refuses tags that no client may set, as S3 does.
func unreserved(tags map[string]string) error {
	if !reserved(tags) {
		return nil
	}
	return s3err.APIError{
		Code: "InvalidTag", HTTPStatusCode: http.StatusBadRequest,
		Description: "Tags whose keys begin with aws: are system tags, which cannot be set by requests.",
	}
}

// documentTags reads a body that is one set of tags. Of another one those that are there
// would go, or be others than the client's library, a proxy or a log shows. Of two tags
// with one key the first counts.
func documentTags(body []byte) (tags map[string]string, ok bool) {
	var doc tagDocument
	if !wellFormed(body) || xml.Unmarshal(body, &doc) != nil || doc.XMLName.Local != "Tagging" || len(doc.Sets) != 1 {
		return nil, false
	}
	tags = map[string]string{}
	for _, t := range doc.Sets[0].Tags {
		if len(t.Keys) != 1 || len(t.Values) > 1 {
			return nil, false
		}
		if _, again := tags[t.Keys[0]]; !again {
			tags[t.Keys[0]] = strings.Join(t.Values, "")
		}
	}
	return tags, true
}

// reservedTags begins the keys of tags that S3 itself sets, in letters of any case.
const reservedTags = "aws:"

// reserved reports whether one of the tags is of those that no client may set.
func reserved(tags map[string]string) bool {
	for key := range tags {
		if len(key) >= len(reservedTags) && strings.EqualFold(key[:len(reservedTags)], reservedTags) {
			return true
		}
	}
	return false
}
