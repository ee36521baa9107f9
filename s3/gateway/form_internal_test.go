package gateway

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/versity/versitygw/s3api/utils"
)

// field and upload are the heads of a form's parts.
const (
	field  = "--BB\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n"
	upload = "--BB\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n"
)

// disagreeing are forms that a lenient reader parses otherwise than versitygw.
var disagreeing = map[string]string{
	"two dispositions":          "--BB\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nv",
	"a header twice":            "--BB\r\nX: a\r\nx : b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nv",
	"a boundary and a CR":       field + "v\r\n--BB\r\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nv",
	"a boundary and a bare LF":  field + "v\r\n--BB\nContent-Disposition: form-data; name=\"file\"\r\n\r\nv",
	"a bare LF in a header":     "--BB\nContent-Disposition: form-data; name=\"file\"\n\nv",
	"a bare CR in a value":      field + "a\rb\r\n" + upload,
	"a name beyond the buffer":  "--BB\r\nContent-Disposition: form-data; a=\"" + strings.Repeat("a", 4096) + "\"; name=\"file\"; name=\"x\"\r\n\r\nv",
	"a name behind the buffer":  "--BB\r\nContent-Disposition: form-data; name=\"file\"" + strings.Repeat(" ", 4096) + "; name=\"x\"\r\n\r\nv",
	"folded letters":            "--BB\r\nContent-Di\u017fposition: form-data; name=\"file\"\r\n\r\nv",
	"a file name in pieces":     "--BB\r\nContent-Disposition: form-data; name=\"x\"; filename*0=\"a\"\r\n\r\nv\r\n" + upload,
	"an end among the headers":  "--BB\r\n--BB--\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nv",
	"no disposition":            "--BB\r\nX: a\r\n\r\nv\r\n" + upload,
	"another disposition":       "--BB\r\nContent-Disposition: attachment; name=\"file\"\r\n\r\nv",
	"something before it":       "preamble\r\n" + upload,
	"the end of its connection": field + "v",
}

func TestAmbiguousFormsAreRefused(t *testing.T) {
	for name, body := range disagreeing {
		f := formReader{r: bufio.NewReader(strings.NewReader(body)), boundary: "BB"}
		if e := f.run(); e == nil {
			t.Errorf("%s: taken, file %v", name, f.file)
		}
	}
	long := "--BB\r\nX: " + strings.Repeat("a", 5000) + "\r\n" + upload[len("--BB\r\n"):] + "v"
	for _, body := range []string{upload + "v", field + "v\r\n" + upload, field + strings.Repeat("v", 9000) + "\r\n" + upload, long} {
		f := formReader{r: bufio.NewReader(strings.NewReader(body)), boundary: "BB"}
		if e := f.run(); e != nil || !f.file {
			t.Errorf("%.100q: %v, file %v", body, e, f.file)
		}
	}
}

// FuzzForms checks that versitygw's parser finds the file at the same byte as
// the form's reader, since it holds everything before it in memory. It has to
// find the same end, too.
func FuzzForms(f *testing.F) {
	for _, body := range disagreeing {
		f.Add([]byte(body), "BB")
	}
	f.Add([]byte(field+"v\r\n"+upload+"v\r\n--BB--\r\n"), "BB")
	f.Add([]byte(field+"v\r\n--BB--\r\n"), "BB")
	f.Add([]byte("--B:B\r\n--B:B--\r\n"), "B:B")
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		const total = 1 << 40
		reader := formReader{r: bufio.NewReader(bytes.NewReader(body)), boundary: strings.TrimSpace(boundary)}
		if reader.boundary == "" || reader.run() != nil {
			return
		}
		parser, err := utils.NewMultipartParser(io.MultiReader(bytes.NewReader(reader.head), reader.r), boundary, total)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parser.Parse()
		if (err == nil) != reader.file {
			t.Fatalf("%q: file %v, and versitygw's: %v", body, reader.file, err)
		}
		if behind := int64(len("\r\n--" + reader.boundary + "--\r\n")); err == nil && total-behind-got.ContentLength != int64(len(reader.head)) {
			t.Fatalf("%q: the file is at %d, versitygw's at %d", body, len(reader.head), total-behind-got.ContentLength)
		}
	})
}
