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

// amend puts right in a response what versitygw has no place for.
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

// worded puts the texts of errors that clients are known to compare as S3 has them: a
// bucket that is not there without a full stop, and the condition that a form does not
// meet with spaces in its list, and with quotes as they are.
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

// bare are the documents, by operation, that versitygw writes without it.
var bare = map[string]string{
	"GetBucketCors": "CORSConfiguration", "GetBucketOwnershipControls": "OwnershipControls",
	"GetObjectAttributes": "GetObjectAttributesResponse", "DeleteObjects": "DeleteResult",
	"CopyObject": "CopyObjectResult", "UploadPartCopy": "CopyPartResult",
}

// uncredit leaves out what scripts of any origin may not do: to allow it there is one
// value, and no other.
func uncredit(h *fasthttp.ResponseHeader) {
	if string(h.Peek(fiber.HeaderAccessControlAllowCredentials)) == "false" {
		h.Del(fiber.HeaderAccessControlAllowCredentials)
	}
}

// dateAsHTTP writes a date of last change, which versitygw has in another form, as
// HTTP has it.
func dateAsHTTP(h *fasthttp.ResponseHeader) {
	if at, err := time.Parse(time.ANSIC, string(h.Peek(fiber.HeaderLastModified))); err == nil {
		h.Set(fiber.HeaderLastModified, at.Format(http.TimeFormat))
	}
}

// twice are the headers that versitygw sets in one spelling before an operation,
// and in another one after it: both spellings, the right one first.
var twice = [][2]string{
	{utils.HeaderAmzRequestID, textproto.CanonicalMIMEHeaderKey(utils.HeaderAmzRequestID)},
	{utils.HeaderAmzID2, textproto.CanonicalMIMEHeaderKey(utils.HeaderAmzID2)},
}

// once leaves one header of a name.
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

// XML 1.0 has no way to write most control characters. Go's encoder puts U+FFFD
// in their place, so that a client would be shown another key than the one that
// lies there. S3 writes character references, "&#xB;", which a strict reader
// refuses. versitygw's types cannot: names carry marks through the encoder that
// nobody else can write.
var (
	mark  = rand.Text()
	marks = regexp.MustCompile(mark + "([0-9A-F]+);")
)

// refer marks the characters of a name that XML cannot carry.
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

// sortTags puts tags, which come in no order, in that of their keys.
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
