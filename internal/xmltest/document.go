// Package xmltest reads XML documents in tests, independent of their meaning.
package xmltest

import (
	"bytes"
	"encoding/xml"
	"testing"
)

// Element is an element, or a document as its root.
type Element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Inner   []Element `xml:",any"`
}

// Texts returns the texts of all elements with a name, one level below.
func (e Element) Texts(name string) (out []string) {
	for _, c := range e.Inner {
		if c.XMLName.Local == name {
			out = append(out, c.Text)
		}
	}
	return out
}

// One returns a document whose root ends where the bytes do, comments and spaces apart.
// It fails the test for any other one.
func One(t testing.TB, body []byte) (root Element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&root); err != nil {
		t.Fatalf("%q was taken: %v", body, err)
	}
	if d.Decode(new(Element)) == nil || len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		t.Fatalf("%q was taken, with something behind its end", body)
	}
	return root
}
