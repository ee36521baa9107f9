package gateway

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3api/utils"

	"github.com/lethe-storage/lethe/s3"
)

// amend corrects in a response what versitygw has no setting for.
func (r *request) amend(resp *fasthttp.Response) {
	for _, spellings := range twice {
		once(&resp.Header, spellings)
	}
	if o := r.unchanged; o != nil && resp.StatusCode() == http.StatusNotModified {
		resp.Header.Set(fiber.HeaderETag, quote(o.ETag))
		resp.Header.Set(fiber.HeaderLastModified, modified(*o).UTC().Format(http.TimeFormat))
	}
	uncredit(&resp.Header)
	if resp.IsBodyStream() {
		return
	}
	if resp.StatusCode() >= http.StatusBadRequest {
		resp.SetBodyRaw(r.worded(resp.Body()))
	}
	switch r.event.Operation {
	case "GetObjectTagging", "GetBucketTagging":
		resp.SetBodyRaw(sortTags(resp.Body()))
	case "GetObjectAttributes":
		dateAsHTTP(&resp.Header)
	}
	if root := bare[r.event.Operation]; root != "" && resp.StatusCode() == http.StatusOK {
		resp.SetBodyRaw(bytes.Replace(resp.Body(), []byte("<"+root+">"), []byte("<"+root+` xmlns="`+s3.Namespace+`">`), 1))
	}
	if r.document != nil && resp.StatusCode() == http.StatusOK {
		resp.Header.SetContentType(fiber.MIMEApplicationXML)
		resp.SetBodyRaw(r.document)
	}
	if r.referred {
		resp.SetBodyRaw(marks.ReplaceAll(resp.Body(), []byte("&#x$1;")))
	}
	if r.parts > 0 && resp.StatusCode() == http.StatusOK {
		resp.SetBodyRaw(countParts(resp.Body(), r.parts))
	}
}

// worded corrects texts of errors that clients compare: a missing bucket
// without a full stop, and the failed condition of a form with spaces in its
// list and unescaped quotes.
func (r *request) worded(body []byte) []byte {
	if !r.form {
		return bytes.Replace(body, []byte("bucket does not exist.</Message>"), []byte("bucket does not exist</Message>"), 1)
	}
	if !bytes.Contains(body, []byte("Policy Condition failed: [")) {
		return body
	}
	body = bytes.ReplaceAll(body, []byte("&#34;,&#34;"), []byte("&#34;, &#34;"))
	return bytes.ReplaceAll(body, []byte("&#34;"), []byte(`"`))
}

// bare are the documents, by operation, that versitygw writes without the XML
// declaration.
var bare = map[string]string{
	"GetBucketCors": "CORSConfiguration", "GetBucketOwnershipControls": "OwnershipControls",
	"GetObjectAttributes": "GetObjectAttributesResponse", "DeleteObjects": "DeleteResult",
	"CopyObject": "CopyObjectResult", "UploadPartCopy": "CopyPartResult",
}

// uncredit removes the header that denies credentials: "true" is its only
// value.
func uncredit(h *fasthttp.ResponseHeader) {
	if string(h.Peek(fiber.HeaderAccessControlAllowCredentials)) == "false" {
		h.Del(fiber.HeaderAccessControlAllowCredentials)
	}
}

// dateAsHTTP writes a date of last change, which versitygw writes otherwise, in
// HTTP's form.
func dateAsHTTP(h *fasthttp.ResponseHeader) {
	if at, err := time.Parse(time.ANSIC, string(h.Peek(fiber.HeaderLastModified))); err == nil {
		h.Set(fiber.HeaderLastModified, at.Format(http.TimeFormat))
	}
}

// twice are the headers that versitygw sets in one spelling before an operation
// and in another after it: both, the right one first.
var twice = [][2]string{
	{utils.HeaderAmzRequestID, textproto.CanonicalMIMEHeaderKey(utils.HeaderAmzRequestID)},
	{utils.HeaderAmzID2, textproto.CanonicalMIMEHeaderKey(utils.HeaderAmzID2)},
}

// once removes repeated headers of a name.
func once(h *fasthttp.ResponseHeader, spellings [2]string) {
	h.DisableNormalizing()
	var value []byte
	for _, spelling := range spellings {
		if v := h.Peek(spelling); len(v) > 0 {
			value = bytes.Clone(v)
		}
		h.Del(spelling)
	}
	if len(value) > 0 {
		h.SetBytesV(spellings[0], value)
	}
}

// XML 1.0 cannot represent most control characters. Go's encoder replaces them
// by U+FFFD, so that a client would see a wrong key. S3 writes character
// references, "&#xB;", which a strict reader refuses. versitygw's types cannot,
// so names pass the encoder with marks that cannot occur otherwise.
var (
	mark  = rand.Text()
	marks = regexp.MustCompile(mark + "([0-9A-F]+);")
)

// refer marks the characters of a name that XML cannot represent.
func (r *request) refer(s string) string {
	if s3.XMLSafe(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if s3.Unwritable(c) {
			r.referred = true
			fmt.Fprintf(&b, "%s%X;", mark, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func tagKey(tag []byte) []byte {
	key, _, _ := bytes.Cut(tag, []byte("</Key>"))
	return key
}

// sortTags sorts tags by their keys.
func sortTags(body []byte) []byte {
	begin, end := bytes.Index(body, []byte("<Tag>")), bytes.LastIndex(body, []byte("</Tag>"))
	if begin < 0 || end < begin {
		return body
	}
	tags := bytes.SplitAfter(body[begin:end], []byte("</Tag>"))
	tags[len(tags)-1] = append(slices.Clip(tags[len(tags)-1]), "</Tag>"...)
	slices.SortFunc(tags, func(a, b []byte) int { return bytes.Compare(tagKey(a), tagKey(b)) })
	return slices.Concat(body[:begin], slices.Concat(tags...), body[end+len("</Tag>"):])
}
