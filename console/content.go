package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/safetext"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// contentRole reads and writes the bytes of objects. The role read sees names, sizes and
// settings; who may give access to others may read.
const contentRole = api.Destroy

const (
	previewBytes = 64 << 10 // of a text
	previewImage = 20 << 20 // of an image, in bytes
	sniffed      = 512      // bytes that tell the type
)

// images are the types that browsers show without doing anything else. They are told by
// the bytes, never by what a client said of them.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// preview is what can be shown of an object: Kind is image, text, or none with a reason.
type preview struct {
	Kind string
	Text string
	Cut  bool
}

// contentURL is the address of an object's bytes.
func contentURL(bucket, key string, download bool) string {
	if download {
		return link("/content", "bucket", bucket, "key", key, "download", "1")
	}
	return link("/content", "bucket", bucket, "key", key)
}

// preview reads the beginning of an object.
func (v *visit) preview(n api.ObjectName) preview {
	ctx := v.as()
	var head []byte
	var whole int64
	err := v.h.opt.Operators.Read(ctx, "console/preview", contentRole, n, func() error {
		r, err := v.h.opt.Objects.Get(ctx, object.GetRequest{Bucket: n.Bucket, Key: n.Key, Check: uncounted, Uncounted: true})
		if err != nil {
			return err
		}
		defer r.Body.Close()
		whole = r.Object.Size
		head, err = io.ReadAll(io.LimitReader(r.Body, previewBytes))
		return err
	})
	switch {
	case err != nil:
		return preview{Kind: "none", Text: "It cannot be read now: " + v.told(err)}
	case len(head) == 0:
		return preview{Kind: "none", Text: "It is empty."}
	case isImage(head) && whole <= previewImage:
		return preview{Kind: "image"}
	}
	text := wholeRunes(head)
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return preview{Kind: "none", Text: "It is neither text nor an image that is shown here."}
	}
	ok := func(r rune) bool { return safetext.Plain(r) || r == '\n' || r == '\r' || r == '\t' }
	return preview{Kind: "text", Text: safetext.Escape(string(text), ok, safetext.JSON), Cut: whole > int64(len(text))}
}

// uncounted refuses to read an object for an operator where that takes a read from those
// for whom it is.
func uncounted(o ledger.Object) error {
	if !o.Counted() {
		return nil
	}
	return fmt.Errorf("%w: the console would take one from those for whom it is; read it by S3", lethe.ErrCounted)
}

// wholeRunes cuts off a rune that the end of the preview splits.
func wholeRunes(b []byte) []byte {
	for i := max(0, len(b)-utf8.UTFMax+1); i < len(b); i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			return b[:i]
		}
	}
	return b
}

func isImage(head []byte) bool {
	return slices.Contains(images, http.DetectContentType(head[:min(len(head), sniffed)]))
}

// content sends the bytes of an object: an image to be shown, anything else as a file. The
// policy keeps both from doing anything.
func (h *Handler) content(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visit(w, r)
	if !ok {
		return
	}
	ctx, n, shown, sent := v.as(), v.name(), r.URL.Query().Get("download") == "", false
	err := h.opt.Operators.Read(ctx, "console/download", contentRole, n, func() error {
		o, err := h.opt.Objects.Get(ctx, object.GetRequest{Bucket: n.Bucket, Key: n.Key, Check: uncounted, Uncounted: shown})
		if err != nil {
			return err
		}
		defer o.Body.Close()
		head := make([]byte, sniffed)
		k, err := io.ReadFull(o.Body, head)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		sent = true
		header := w.Header()
		header.Set("Content-Security-Policy", policyContent)
		header.Set("Content-Length", strconv.FormatInt(o.Object.Size, 10))
		if kind := http.DetectContentType(head[:k]); slices.Contains(images, kind) && shown {
			header.Set("Content-Type", kind)
		} else {
			header.Set("Content-Type", "application/octet-stream")
			header.Set("Content-Disposition", attachment(n.Key))
		}
		if _, err = w.Write(head[:k]); err == nil {
			_, err = io.Copy(w, o.Body)
		}
		return err
	})
	switch {
	case err == nil:
	case sent:
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	default:
		v.title = "Download"
		v.fail(err)
	}
}

// attachment names the file under which a key is saved.
func attachment(key string) string {
	name := safe(path.Base("/" + key))
	ascii := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || strings.ContainsRune(`"\/;%`, r) {
			return '_'
		}
		return r
	}, name)
	return mime.FormatMediaType("attachment", map[string]string{"filename": ascii}) + "; filename*=UTF-8''" + url.PathEscape(name)
}
