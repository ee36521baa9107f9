package yamlfile

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Locate gives problems, each "key: text", the line and column of what the file says. A
// key that the file leaves out has the place of what it is left out of.
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

// place is where the file says a key, or what the key is left out of; nil if the file
// says neither.
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

// Place returns file, line and column of a key, or of what it is left out of; empty if the
// file says neither.
func (d *File) Place(key string) string {
	tok := d.place(key)
	if tok == nil || tok.Position == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", d.name, tok.Position.Line, tok.Position.Column)
}

// Forget forgets the place of a key that has another value than the file's.
func (d *File) Forget(key string) {
	d.places[key] = nil
	for place := range d.places {
		if strings.HasPrefix(place, key+"[") {
			delete(d.places, place)
		}
	}
}
