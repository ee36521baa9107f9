package s3blob

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/blob"
)

// errBroken: the response ended early, or is no XML; a repeated request may
// succeed.
var errBroken = errors.New("the response ended early")

// entry is the result for one name in a response to DeleteObjects: Deleted or
// Error. Elements that must occur once are lists, to check that they do.
type entry struct {
	Key          []string
	DeleteMarker []string
	Code         []string
	Message      []string
}

// readAnswer parses a response to DeleteObjects and compares it with the request:
// S3 may return "200 OK" and report that nothing was deleted, omit names, or end
// early (docs/protocol.md, rule 8). It returns an entry for each requested name. A
// response that is not one whole document, or contains a name that was not
// requested, proves nothing about any of them: errProtocol.
func readAnswer(body []byte, asked []string) (map[string]error, error) {
	said := make(map[string]error, len(asked))
	for _, name := range asked {
		said[name] = errUnsaid
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := openResult(d); err != nil {
		return nil, err
	}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w: %w", errProtocol, errBroken, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := readEntry(d, token, said); err != nil {
				return nil, err
			}
		case xml.EndElement:
			return said, closed(d)
		}
	}
}

// openResult reads up to the root element, which must be DeleteResult.
func openResult(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("%w: %w: %w", errProtocol, errBroken, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local != "DeleteResult" && start.Name.Local != "DeleteObjectsResult" && start.Name.Local != "MultiDeleteResult" {
			return fmt.Errorf("%w: it is a %q", errProtocol, brieved(start.Name.Local))
		}
		return nil
	}
}

// closed checks that nothing follows the root element.
func closed(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errProtocol, err)
		}
		if text, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if _, ok := token.(xml.Comment); ok {
			continue
		}
		return fmt.Errorf("%w: it continues after its end", errProtocol)
	}
}

// readEntry takes one element below the root.
func readEntry(d *xml.Decoder, start xml.StartElement, said map[string]error) error {
	kind := start.Name.Local
	if kind != "Deleted" && kind != "Error" {
		if err := d.Skip(); err != nil {
			return fmt.Errorf("%w: %w: %w", errProtocol, errBroken, err)
		}
		return nil
	}
	var e entry
	if err := d.DecodeElement(&e, &start); err != nil {
		return fmt.Errorf("%w: %w: %w", errProtocol, errBroken, err)
	}
	if len(e.Key) != 1 || len(e.Code) > 1 || len(e.DeleteMarker) > 1 || len(e.Message) > 1 {
		return fmt.Errorf("%w: an entry names %d keys", errProtocol, len(e.Key))
	}
	before, ok := said[e.Key[0]]
	if !ok {
		return fmt.Errorf("%w: it contains %q, which was not requested", errProtocol, brieved(e.Key[0]))
	}
	now := e.err(kind == "Error")
	if before != errUnsaid && blob.Gone(now) {
		return nil // the earlier entry is worse, or the same
	}
	said[e.Key[0]] = now
	return nil
}

// err is the error of the entry; nil: deleted.
func (e entry) err(failed bool) error {
	switch {
	case !failed && len(e.DeleteMarker) == 1 && strings.TrimSpace(e.DeleteMarker[0]) == "true":
		return errMarker
	case !failed:
		return nil
	}
	code, message := "", ""
	if len(e.Code) == 1 {
		code = strings.TrimSpace(e.Code[0])
	}
	if len(e.Message) == 1 {
		message = brieved(e.Message[0])
	}
	if code == "NoSuchKey" {
		return blob.ErrNotExist
	}
	return &smithy.GenericAPIError{Code: or(code, "Unnamed"), Message: message}
}

// brieved shortens a service's text, for an error.
func brieved(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
