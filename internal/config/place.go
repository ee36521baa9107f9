package config

import (
	"errors"
	"strings"
)

// located gives problems of Validate the line and column of what the file says.
// A key that the file leaves out has the place of what it is left out of, if
// that is an entry of a list.
func (d *decoder) located(err error) error {
	var found Problems
	if !errors.As(err, &found) {
		return err
	}
	d.problems = nil
	for _, p := range found {
		key, text, _ := strings.Cut(p, ": ")
		tok, ok := d.places[key]
		if entry := strings.LastIndex(key, "]."); !ok && entry > 0 {
			tok, ok = d.places[key[:entry+1]]
		}
		if !ok {
			d.problems = append(d.problems, p)
			continue
		}
		d.at(tok, key, "%s", text)
	}
	return d.problems
}

// overridden forgets the place of a key that has another value than the file's.
func (d *decoder) overridden(key string) {
	for place := range d.places {
		if place == key || strings.HasPrefix(place, key+"[") {
			delete(d.places, place)
		}
	}
}
