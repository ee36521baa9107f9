package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/versity/versitygw/s3err"
)

// strictDelete reads the body of a DeleteObjects request and refuses what a
// lenient reader takes in a way of its own, so that another key would be
// deleted than the client's library, a proxy or a log shows: two keys in one
// entry, elements that are not S3's, anything behind the end.
func strictDelete(body []byte) (quiet bool, err error) {
	s := strictReader{d: xml.NewDecoder(bytes.NewReader(body))}
	err = s.run()
	if err != nil {
		return false, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	return s.quiet, nil
}

// wellFormed refuses a body that is not one XML document: a lenient reader takes
// what it can from the beginning, and acts on it. No body is well-formed, too.
func wellFormed(body []byte) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	for depth, roots := 0, 0; ; {
		token, err := d.Token()
		if err == io.EOF && depth == 0 && (roots == 1 || len(body) == 0) {
			return nil
		}
		if err != nil {
			return s3err.GetAPIError(s3err.ErrMalformedXML)
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
			return s3err.GetAPIError(s3err.ErrMalformedXML)
		}
	}
}

var errStrict = errors.New("s3: element out of place")

// strictEntry are the elements of an entry.
var strictEntry = map[string]bool{"Key": true, "VersionId": true, "ETag": true, "LastModifiedTime": true, "Size": true}

type strictReader struct {
	d     *xml.Decoder
	path  []string
	seen  map[string]bool // in the entry
	text  strings.Builder // of the Quiet element
	root  bool            // was there
	quiet bool
}

func (s *strictReader) run() error {
	for {
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
}

func (s *strictReader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
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
		ok = name == "Object" || name == "Quiet"
		s.seen = map[string]bool{}
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

func (s *strictReader) chars(text string) error {
	switch {
	case len(s.path) == 2 && s.path[1] == "Quiet":
		s.text.WriteString(text)
	case len(s.path) < 3 && strings.TrimSpace(text) != "":
		return errStrict
	}
	return nil
}
