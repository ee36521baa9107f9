package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// MaxDelete is the most keys of one DeleteObjects request, as in S3.
const MaxDelete = 1000

// CheckDelete reads the body of a DeleteObjects request. It reports false for a
// body that lenient readers interpret differently, so that another key would be
// deleted than a client's library, a proxy or a log shows: two keys in one
// entry, elements that are not S3's, anything after the end. It stops at the
// first entry beyond the limit. quiet reports whether the client wants failures
// only.
func CheckDelete(body []byte) (quiet, ok bool) {
	if LongMarkup(body) {
		return false, false
	}
	s := strictReader{d: xml.NewDecoder(bytes.NewReader(body)), seen: map[string]bool{}}
	err := s.run()
	return s.quiet, err == nil
}

// WellFormed reports whether a body is one XML document, or empty. A lenient
// reader takes what it can from the beginning of another one, and acts on it.
func WellFormed(body []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(body))
	for depth, roots := 0, 0; ; {
		token, err := d.Token()
		if err != nil {
			return err == io.EOF && depth == 0 && (roots == 1 || len(body) == 0)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				roots++
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(t)) > 0 {
				roots = 2
			}
		}
		if roots > 1 {
			return false
		}
	}
}

const (
	// maxDepth exceeds the nesting of any S3 document.
	maxDepth = 16
	// maxTokens exceeds a completion of 10,000 parts, indented and with every
	// checksum.
	maxTokens = 600_000
)

// Unwieldy reports whether a document has more elements, or deeper ones, than
// any of S3's, so that reading it would take seconds. It is false for one that
// cannot be read.
func Unwieldy(body []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(body))
	depth := 0
	for range maxTokens {
		token, err := d.RawToken()
		if err != nil {
			return false
		}
		switch token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return true
			}
		case xml.EndElement:
			depth--
		}
	}
	return true
}

var errStrict = errors.New("s3: element out of place")

// strictEntry are the elements of an entry.
var strictEntry = map[string]bool{"Key": true, "VersionId": true, "ETag": true, "LastModifiedTime": true, "Size": true}

// maxDeleteTokens exceeds the largest deletion that S3 takes, indented and with
// a comment to each of its elements.
const maxDeleteTokens = 50 * MaxDelete

// maxDeleteAttributes exceeds the number of namespaces that any client
// declares.
const maxDeleteAttributes = MaxDelete

// maxMarkup bounds one tag, comment or the like of a document, in bytes. A
// decoder needs a hundred times as many for a tag full of attributes.
const maxMarkup = 8 << 10

// LongMarkup reports whether a body has a tag, comment or the like of more than
// 8 KiB. The end is found as the decoder finds it. Markup in a document type
// declaration is refused elsewhere.
func LongMarkup(body []byte) bool {
	for {
		begin := bytes.IndexByte(body, '<')
		if begin < 0 {
			return false
		}
		body = body[begin:]
		length := markupLength(body[:min(maxMarkup, len(body))])
		if length < 0 {
			return len(body) > maxMarkup
		}
		body = body[length:]
	}
}

// markupLength returns the length of the markup with which b begins, -1 if it
// does not end there.
func markupLength(b []byte) int {
	for _, kind := range [][2]string{{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}} {
		if rest, ok := bytes.CutPrefix(b, []byte(kind[0])); ok {
			if end := bytes.Index(rest, []byte(kind[1])); end >= 0 {
				return len(kind[0]) + end + len(kind[1])
			}
			return -1
		}
	}
	var quote byte
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

type strictReader struct {
	d       *xml.Decoder
	path    []string
	seen    map[string]bool // in the entry
	text    strings.Builder // of the Quiet element
	root    bool            // seen
	quiet   bool
	told    bool // Quiet was seen
	entries int
	attrs   int
}

func (s *strictReader) run() error {
	for range maxDeleteTokens {
		token, err := s.d.Token()
		if err == io.EOF && s.root && len(s.path) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.take(token); err != nil {
			return err
		}
	}
	return errStrict
}

func (s *strictReader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		if s.attrs += len(t.Attr); s.attrs > maxDeleteAttributes {
			return errStrict
		}
		return s.start(t.Name.Local)
	case xml.EndElement:
		if len(s.path) == 2 && t.Name.Local == "Quiet" {
			s.quiet = strings.EqualFold(strings.TrimSpace(s.text.String()), "true")
		}
		s.path = s.path[:len(s.path)-1]
	case xml.CharData:
		return s.chars(string(t))
	case xml.Directive:
		return errStrict
	}
	return nil
}

func (s *strictReader) start(name string) error {
	ok := false
	switch len(s.path) {
	case 0:
		ok = name == "Delete" && !s.root
		s.root = true
	case 1:
		ok = s.member(name)
	case 2:
		ok = s.path[1] == "Object" && strictEntry[name] && !s.seen[name]
		s.seen[name] = true
	}
	if !ok {
		return errStrict
	}
	s.path = append(s.path, name)
	return nil
}

// member begins an entry, or the Quiet element.
func (s *strictReader) member(name string) bool {
	if name == "Quiet" && !s.told {
		s.told = true
		return true
	}
	s.entries++
	clear(s.seen)
	return name == "Object" && s.entries <= MaxDelete
}

func (s *strictReader) chars(text string) error {
	switch {
	case len(s.path) == 2 && s.path[1] == "Quiet":
		s.text.WriteString(text)
	case len(s.path) < 3 && strings.TrimSpace(text) != "":
		return errStrict
	}
	return nil
}
