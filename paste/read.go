package paste

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// policyNothing is the content security policy of responses that are not pages.
const policyNothing = "default-src 'none'; frame-ancestors 'none'; sandbox"

// find looks a paste up. Objects in the bucket that are no pastes are not found.
func (h *Handler) find(v *visit) (ledger.Object, error) {
	code := v.PathValue("code")
	if !aliasForm.MatchString(code) {
		return ledger.Object{}, notFound
	}
	o, err := h.opt.Store.Head(v.Context(), object.GetRequest{Bucket: h.opt.Bucket, Key: code})
	if err == nil && o.Attrs.User[metaToken] == "" {
		err = notFound
	}
	return o, err
}

// show sends a paste: the page for browsers, else the paste itself.
func (h *Handler) show(w http.ResponseWriter, v *visit) error {
	w.Header().Set("Vary", "Accept")
	if v.browser {
		return h.page(w, v)
	}
	return h.raw(w, v)
}

// raw sends a paste as it was submitted.
func (h *Handler) raw(w http.ResponseWriter, v *visit) error {
	o, err := h.find(v)
	if err != nil {
		return err
	}
	if o.Counted() {
		return h.ask(w, v, o)
	}
	req := object.GetRequest{Bucket: h.opt.Bucket, Key: o.Key, If: conditionOf(v.Request), Check: sameVersion(o)}
	if v.Method == http.MethodHead {
		if _, err := h.opt.Store.Head(v.Context(), req); err != nil {
			return notModifiedHeaders(w, o, err)
		}
		describe(w, o)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	req.Range = rangeOf(v.Request, o)
	rd, err := h.opt.Store.Get(v.Context(), req)
	if err != nil {
		return rangeError(w, o, notModifiedHeaders(w, o, err))
	}
	defer rd.Body.Close()
	describe(w, rd.Object)
	if req.Range != nil {
		partial(w, rd)
	}
	h.send(w, v, rd)
	return nil
}

// sameVersion returns a condition: the paste that was found, and no other of its name.
func sameVersion(o ledger.Object) func(ledger.Object) error {
	return func(is ledger.Object) error {
		if is.ID != o.ID {
			return notFound
		}
		return nil
	}
}

// send sends the bytes that were announced.
func (h *Handler) send(w http.ResponseWriter, v *visit, rd *object.Reader) {
	if n, err := io.Copy(w, rd.Body); err != nil && v.Context().Err() == nil {
		// The length was announced: the client sees that the rest is missing.
		h.opt.Events.failed("send "+rd.Object.Key, fmt.Errorf("paste: after %d of %d bytes: %w", n, rd.Length, err))
	}
}

// notModifiedHeaders adds to "not modified" what the client needs to keep its copy.
func notModifiedHeaders(w http.ResponseWriter, o ledger.Object, err error) error {
	if errors.Is(err, lethe.ErrNotModified) {
		w.Header().Set("ETag", strconv.Quote(o.ETag))
		w.Header().Set("Cache-Control", "no-cache")
		setEnds(w, o)
	}
	return err
}

// describe sets the headers of a paste itself. Whatever its submitted type, it is
// plain text or an attachment.
func describe(w http.ResponseWriter, o ledger.Object) {
	header := w.Header()
	header.Set("Content-Type", textType)
	header.Set("Content-Disposition", fmt.Sprintf("inline; filename=%q", o.Key+".txt"))
	if isBinary(o) {
		header.Set("Content-Type", binaryType)
		header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", o.Key+".bin"))
	}
	header.Set("Content-Length", strconv.FormatInt(o.Size, 10))
	if !o.Counted() {
		// It is the MD5 of the bytes, which a guess could be compared with.
		header.Set("ETag", strconv.Quote(o.ETag))
		header.Set("Accept-Ranges", "bytes")
	}
	header.Set("Last-Modified", o.ModifiedAt.Time().Format(http.TimeFormat))
	// A copy may be kept, and is revalidated before each use: it ends when the
	// paste does.
	header.Set("Cache-Control", "no-cache")
	setEnds(w, o)
}

func isBinary(o ledger.Object) bool { return o.Attrs.ContentType == binaryType }

// conditionOf parses the conditions of a request; invalid dates are ignored, as in
// RFC 9110.
func conditionOf(r *http.Request) object.ReadCondition {
	date := func(name string) lethe.Time {
		t, err := http.ParseTime(r.Header.Get(name))
		if err != nil {
			return 0
		}
		return lethe.FromTime(t)
	}
	return object.ReadCondition{
		IfMatch: r.Header.Get("If-Match"), IfNoneMatch: r.Header.Get("If-None-Match"),
		IfModifiedSince: date("If-Modified-Since"), IfUnmodifiedSince: date("If-Unmodified-Since"),
	}
}
