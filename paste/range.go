package paste

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// rangeOf parses the requested range of a paste, nil for all of it. As in RFC 9110,
// an invalid header is ignored, and so is one whose If-Range names another version
// of the paste. For several ranges the whole paste is sent.
func rangeOf(r *http.Request, o ledger.Object) *object.Range {
	if r.Method != http.MethodGet {
		return nil
	}
	if is := r.Header.Get("If-Range"); is != "" && is != strconv.Quote(o.ETag) {
		return nil
	}
	return object.ParseRange(r.Header.Get("Range"))
}

// partial sets the headers of a partial response.
func partial(w http.ResponseWriter, rd *object.Reader) {
	w.Header().Set("Content-Length", strconv.FormatInt(rd.Length, 10))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", rd.Offset, rd.Offset+rd.Length-1, rd.Object.Size))
	w.WriteHeader(http.StatusPartialContent)
}

// rangeError adds to an error what the client needs to request a valid range.
func rangeError(w http.ResponseWriter, o ledger.Object, err error) error {
	if !errors.Is(err, lethe.ErrInvalidRange) {
		return err
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", o.Size))
	return &problem{
		status: http.StatusRequestedRangeNotSatisfiable, text: "the paste has " + words.Plural(o.Size, "byte", "bytes") + ": the range is beyond its end",
	}
}
