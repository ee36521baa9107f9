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

// errBroken: the answer broke off, or is no XML; asked again it may be whole.
var errBroken = errors.New("the answer broke off")

// entry is what an answer to DeleteObjects says of one name: Deleted or Error.
// Elements that must stand once are lists, to see that they do.
type entry struct {
	Key          []string
	DeleteMarker []string
	Code         []string
	Message      []string
}

// readAnswer reads an answer to DeleteObjects and compares it with the request:
// S3 may answer "200 OK" and say that nothing was deleted, leave names out, or
// break off (docs/protocol.md, rule 8). It returns an entry for each of the names asked for.
// An answer that is not one whole document, or speaks of a name that nobody asked
// for, says nothing about any of them: errProtocol.
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
		return fmt.Errorf("%w: it goes on after its end", errProtocol)
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
		return fmt.Errorf("%w: it speaks of %q, which nobody asked for", errProtocol, brieved(e.Key[0]))
	}
	now := e.err(kind == "Error")
	if before != errUnsaid && isGone(now) {
		return nil // what was said before is worse, or the same
	}
	said[e.Key[0]] = now
	return nil
}

// err is what the entry says; nil: deleted.
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

// brieved shortens what a service says, for an error.
func brieved(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
