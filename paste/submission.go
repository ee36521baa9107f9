package paste

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// The fields that a form may have; content or file is the paste itself.
const (
	fieldContent = "content"
	fieldFile    = "file"
	fieldTTL     = "ttl"
	fieldAlias   = "alias"
	fieldType    = "type"
	fieldReads   = "reads"
	fieldIdle    = "idle"
)

// settings are the fields beside the paste itself.
var settings = []string{fieldTTL, fieldAlias, fieldType, fieldReads, fieldIdle}

// maxField bounds every field but the paste itself, in bytes.
const maxField = 1 << 10

// submission is a paste as it was sent, in any form.
type submission struct {
	content []byte
	ttl     time.Duration // 0: the default
	alias   string
	label   string        // the type that the client gives, such as text/markdown; shown, never used
	reads   int64         // how often it can be read; 0: that is not counted
	idle    time.Duration // how long it is kept after its last read; 0: as its bucket has it
}

// fields are the values of fields as they were sent.
type fields map[string]string

// readSubmission reads the request's body to its end. Fields that the body does not
// have are taken from the query, then from the headers X-Ttl, X-Alias, X-Type, X-Reads,
// X-Idle.
func (h *Handler) readSubmission(v *visit) (submission, error) {
	query, err := url.ParseQuery(v.URL.RawQuery)
	if err != nil {
		return submission{}, badRequest("the query cannot be read: %v", err)
	}
	for name := range query {
		if !slices.Contains(settings, name) {
			return submission{}, badRequest("the query has the unknown parameter %.40q; known are ttl, alias, type, reads and idle", name)
		}
	}
	v.Body = charged(v.Body, v.held)
	content, said, err := h.body(v)
	if err != nil {
		return submission{}, err
	}
	if len(content) == 0 {
		return submission{}, badRequest("the paste is empty; send it as the request's body: curl --data-binary @file %s", v.base)
	}
	if int64(len(content)) > h.opt.MaxSize {
		return submission{}, h.tooLarge()
	}
	wish := func(name string) string {
		for _, value := range []string{said[name], query.Get(name), v.Header.Get("X-" + name)} {
			if value = strings.TrimSpace(value); value != "" {
				return value
			}
		}
		return ""
	}
	s := submission{content: content, alias: wish(fieldAlias), label: wish(fieldType)}
	if reads := wish(fieldReads); reads != "" {
		if s.reads, err = lethe.ParseReads(reads); err != nil {
			return s, badRequest("%v", err)
		}
	}
	if idle := wish(fieldIdle); idle != "" {
		if s.idle, err = lethe.ParseIdleTTL(idle); err != nil {
			return s, err
		}
	}
	return h.check(s, wish(fieldTTL))
}

// check refuses what is not allowed.
func (h *Handler) check(s submission, ttl string) (submission, error) {
	if s.alias != "" && !aliasForm.MatchString(s.alias) {
		return s, badRequest("the alias has to be 3 to 64 letters, digits, - or _")
	}
	if len(s.label) > maxField || strings.ContainsFunc(s.label, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s, badRequest("the type has to be short and plain, such as text/markdown")
	}
	s.ttl = h.opt.DefaultTTL
	if ttl == "" {
		return s, nil
	}
	var err error
	if s.ttl, err = lethe.ParseTTL(ttl); err != nil {
		return s, err
	}
	if h.opt.MaxTTL > 0 && s.ttl > h.opt.MaxTTL {
		return s, badRequest("pastes are kept no longer than %s here", lethe.FormatTTL(h.opt.MaxTTL))
	}
	return s, nil
}

func (h *Handler) tooLarge() error {
	return &problem{
		status: http.StatusRequestEntityTooLarge,
		text:   "the paste is too large: " + sizeText(h.opt.MaxSize) + " are allowed",
	}
}

// body takes the paste and its fields from the request's body.
func (h *Handler) body(v *visit) ([]byte, fields, error) {
	header := v.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(header)
	if err != nil {
		// Any bytes are accepted, whatever their type.
		kind = ""
	}
	switch kind {
	case "multipart/form-data":
		return h.readForm(v, params["boundary"])
	case "application/json":
		data, err := h.read(v, encodedRoom(h.opt.MaxSize))
		if err != nil {
			return nil, nil, err
		}
		return fromJSON(data)
	case "application/x-www-form-urlencoded":
		data, err := h.read(v, encodedRoom(h.opt.MaxSize))
		if err != nil {
			return nil, nil, err
		}
		if content, said, ok := fromForm(data); ok {
			if v.browser {
				content = unixLines(content)
			}
			return content, said, nil
		}
		return data, nil, nil
	}
	data, err := h.read(v, h.opt.MaxSize)
	return data, fields{fieldType: kind}, err
}

// encodedRoom is how long a body may be whose paste is encoded: three bytes for
// one, as in %0A and \u00e9, and the other fields.
func encodedRoom(size int64) int64 { return 3*size + 64<<10 }

// read reads the body, up to most bytes.
func (h *Handler) read(v *visit, most int64) ([]byte, error) {
	if v.ContentLength > most {
		return nil, h.tooLarge()
	}
	data, err := io.ReadAll(io.LimitReader(v.Body, most+1))
	if err != nil {
		return nil, cutShort(err)
	}
	if int64(len(data)) > most {
		return nil, h.tooLarge()
	}
	return data, nil
}

func cutShort(err error) error {
	if p, known := problemOf(err); known {
		return p
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{status: http.StatusRequestTimeout, text: "the body came too slowly"}
	}
	return &problem{status: http.StatusBadRequest, text: "the body ended too early: " + err.Error()}
}

// fromJSON reads a paste in JSON.
func fromJSON(data []byte) ([]byte, fields, error) {
	const how = `send {"content": "...", "ttl": "1h", "alias": "...", "type": "...", "reads": 1, "idle": "7d"} with content alone required; ` +
		"a JSON document that is the paste itself goes with Content-Type: text/plain"
	var in struct {
		Content, TTL, Alias, Type, Idle *string
		Reads                           *json.Number
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if !utf8.Valid(data) {
		return nil, nil, badRequest("the JSON is not in UTF-8; %s", how)
	}
	if err := d.Decode(&in); err != nil {
		return nil, nil, badRequest("the JSON cannot be read: %v; %s", err, how)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, badRequest("something follows the JSON object; %s", how)
	}
	said := fields{}
	for name, value := range map[string]*string{fieldTTL: in.TTL, fieldAlias: in.Alias, fieldType: in.Type, fieldIdle: in.Idle} {
		if value != nil {
			said[name] = *value
		}
	}
	if in.Reads != nil {
		said[fieldReads] = in.Reads.String()
	}
	if in.Content == nil {
		return nil, nil, badRequest("the JSON has no content; %s", how)
	}
	return []byte(*in.Content), said, nil
}

// fromForm parses a URL-encoded form. curl --data-binary declares every body as
// one. So it is one only if it can hardly be anything else: a single line of known
// fields, each once, with content among them.
func fromForm(data []byte) (content []byte, said fields, ok bool) {
	if bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, nil, false
	}
	said = fields{}
	for pair := range strings.SplitSeq(string(data), "&") {
		name, value, found := strings.Cut(pair, "=")
		_, again := said[name]
		if !found || again || name != fieldContent && !slices.Contains(settings, name) {
			return nil, nil, false
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, nil, false
		}
		said[name] = value
	}
	text, ok := said[fieldContent]
	delete(said, fieldContent)
	return []byte(text), said, ok
}

// unixLines undoes the line endings that browsers put into forms.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// readForm parses a form with parts, as curl -F and browsers send it.
func (h *Handler) readForm(v *visit, boundary string) ([]byte, fields, error) {
	if boundary == "" {
		return nil, nil, badRequest("the form has no boundary in its Content-Type")
	}
	if v.ContentLength > h.opt.MaxSize+64<<10 {
		return nil, nil, h.tooLarge()
	}
	var content []byte
	said := fields{}
	// The bound ends a body of endless parts and preambles.
	reader := multipart.NewReader(io.LimitReader(v.Body, h.opt.MaxSize+1<<20), boundary)
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return content, said, nil
		}
		if err != nil {
			return nil, nil, cutShort(err)
		}
		name := part.FormName()
		data, err := h.field(part, name)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case name != fieldContent && name != fieldFile:
			said[name] = string(data)
		case len(data) > 0 && content != nil:
			return nil, nil, badRequest("the form holds more than one paste; send content or file, one of them once")
		case len(data) > 0:
			if v.browser && name == fieldContent {
				data = unixLines(data)
			}
			content = data
		}
	}
}

// field reads one part of a form.
func (h *Handler) field(part *multipart.Part, name string) ([]byte, error) {
	most := h.opt.MaxSize
	switch name {
	case fieldContent, fieldFile:
	case fieldTTL, fieldAlias, fieldType, fieldReads, fieldIdle:
		most = maxField
	default:
		return nil, badRequest("the form has the unknown field %.40q; known are content, file, ttl, alias, type, reads and idle", name)
	}
	data, err := io.ReadAll(io.LimitReader(part, most+1))
	switch {
	case err != nil:
		return nil, cutShort(err)
	case int64(len(data)) <= most:
		return data, nil
	case most == maxField:
		return nil, badRequest("the field %s is too long", name)
	}
	return nil, h.tooLarge()
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	switch {
	case n == 1:
		return "1 byte"
	case n < kib:
		return fmt.Sprintf("%d bytes", n)
	case n < mib:
		return trimZero(float64(n)/kib) + " KiB"
	}
	return trimZero(float64(n)/mib) + " MiB"
}

func trimZero(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }
