package yamlfile

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Locate adds line and column in the file to problems, each "key: text". A
// missing key gets the place of its section.
func (d *File) Locate(problems []string) []string {
	d.Problems = nil
	for _, p := range problems {
		key, text, _ := strings.Cut(p, ": ")
		tok := d.place(key)
		if tok == nil {
			d.Problems = append(d.Problems, p)
			continue
		}
		d.at(tok, key, "%s", text)
	}
	return d.Problems
}

// place returns the place of a key in the file, or of its section; nil if the
// file has neither.
func (d *File) place(key string) *token.Token {
	if tok, ok := d.places[key]; ok {
		return tok
	}
	for at := strings.LastIndexByte(key, '.'); at > 0; at = strings.LastIndexByte(key, '.') {
		key = key[:at]
		if tok := d.places[key]; tok != nil {
			return tok
		}
	}
	return nil
}

// Place returns file, line and column of a key, or of its section; empty if the
// file has neither.
func (d *File) Place(key string) string {
	tok := d.place(key)
	if tok == nil || tok.Position == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", d.name, tok.Position.Line, tok.Position.Column)
}

// Sets returns file, line and column of a key that the file sets itself; empty if it does
// not.
func (d *File) Sets(key string) string {
	if d.places[key] == nil {
		return ""
	}
	return d.Place(key)
}

// Forget drops the place of a key whose value is not the file's any more.
func (d *File) Forget(key string) {
	d.places[key] = nil
	for place := range d.places {
		if strings.HasPrefix(place, key+"[") {
			delete(d.places, place)
		}
	}
}
