package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/versity/versitygw/s3err"
)

// A presigned link may have in its query what other requests have in headers:
// some SDKs (JavaScript, PHP) write x-amz- headers there, and S3 reads both.
// versitygw reads headers alone, so they are set from the query once the
// signature, which covers it, was verified. Checksums are not: SDKs write that
// of an empty body into links.

// linkSignature is the parameter by which a request is a presigned link.
const linkSignature = "X-Amz-Signature"

// hoistable are those headers, and their prefixes.
var hoistable = struct{ names, prefixes []string }{
	[]string{"x-amz-tagging", headerACL, "x-amz-website-redirect-location", "x-amz-expected-bucket-owner", "x-amz-mp-object-size"},
	[]string{userMetadata, "x-amz-grant-", "x-amz-object-lock-", "x-amz-if-match-"},
}

func hoists(name string) bool {
	return slices.ContainsFunc(hoistable.names, func(n string) bool { return strings.EqualFold(n, name) }) ||
		slices.ContainsFunc(hoistable.prefixes, func(p string) bool { return begins(name, p) })
}

// takeHoisted sets the headers that a link has in its query. Where there is such
// a header it counts. versitygw reads user metadata from the request as it was
// received, so that is kept aside. A request with an empty signature is no link:
// it was allowed already, by the headers that it came with. Nor is a form, whose
// signature covers its fields alone.
func (r *request) takeHoisted() {
	if r.web == nil || r.form || len(r.web.Request().URI().QueryArgs().Peek(linkSignature)) == 0 {
		return
	}
	h := &r.web.Request().Header
	for name, value := range r.web.Request().URI().QueryArgs().All() {
		if !hoists(string(name)) || len(h.PeekAll(string(name))) > 0 {
			continue
		}
		h.SetBytesKV(name, value)
		if begins(string(name), userMetadata) {
			if r.hoisted == nil {
				r.hoisted = map[string]string{}
			}
			r.hoisted[strings.ToLower(string(name[len(userMetadata):]))] = string(value)
		}
	}
}

// userMetadata begins the names of user metadata, of which an object has up to
// maxMetadata bytes.
const (
	userMetadata = "x-amz-meta-"
	maxMetadata  = 2 << 10
)

// metadata returns the user metadata that was sent in headers, and in the query
// of a link.
func (r *request) metadata(sent map[string]string) (map[string]string, error) {
	if len(r.hoisted) == 0 {
		return cloneMap(sent), nil
	}
	all, size := maps.Clone(r.hoisted), 0
	maps.Copy(all, cloneMap(sent))
	for name, value := range all {
		size += len(name) + len(value)
	}
	if size > maxMetadata {
		return nil, s3err.GetMetadataTooLargeErr(size, maxMetadata)
	}
	return all, nil
}

// unhoistable refuses a parameter that can only be a header: the source of a
// copy, without which the request is an upload. It refuses names and values that
// no header has.
func unhoistable(method, name string, value []byte) s3err.S3Error {
	const source = "x-amz-copy-source"
	switch {
	case begins(name, source) && (method == http.MethodPut || method == http.MethodPost):
		return notKept("The source of a copy cannot stand in the query of a link: send %s as a header.", strings.ToLower(name))
	case hoists(name) && (strings.ContainsFunc(name, odd) || slices.ContainsFunc(value, control)):
		return s3err.InvalidArgumentError{Description: "The parameter has characters that a header cannot have.", ArgumentName: "x-amz-"}
	}
	return nil
}

// odd reports whether a character has no place in the name of a header.
func odd(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c)
}
