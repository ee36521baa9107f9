package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// leaf is a value that a text can set.
type leaf struct {
	path  string // "server.s3.listen"
	value reflect.Value
}

// env is the environment variable that sets the leaf.
func (l leaf) env() string {
	return "LETHE_" + strings.ToUpper(strings.ReplaceAll(l.path, ".", "_"))
}

// leaves lists all settings, in the order of the types.
func (c *Config) leaves() []leaf { return leavesOf("", reflect.ValueOf(c).Elem()) }

func leavesOf(prefix string, v reflect.Value) []leaf {
	var out []leaf
	for i := range v.NumField() {
		path := prefix + v.Type().Field(i).Tag.Get("yaml")
		field := v.Field(i)
		if yamlfile.IsSection(field) {
			out = append(out, leavesOf(path+".", field)...)
		} else {
			out = append(out, leaf{path, field})
		}
	}
	return out
}

// Set sets one key by its path and a text, as the environment and flags do:
// Set("cache.size", "1GiB"). Lists of texts are separated by commas; backends
// and targets of events are written as in the file, on one line.
func (c *Config) Set(path, text string) error {
	leaves := c.leaves()
	names := make([]string, 0, len(leaves))
	for _, l := range leaves {
		if l.path == path {
			return setLeaf(path, l.value, text)
		}
		names = append(names, l.path)
	}
	if near, ok := yamlfile.Nearest(path, names); ok {
		return fmt.Errorf("%w: %s: there is no such key; did you mean %s?", ErrInvalid, yamlfile.Brief(path), near)
	}
	return fmt.Errorf("%w: %s: there is no such key; \"lethe config settings\" lists all of them", ErrInvalid, yamlfile.Brief(path))
}

// setLeaf sets v, or leaves it unchanged after an error, which has the name.
func setLeaf(name string, v reflect.Value, text string) error {
	if t := v.Type(); t == reflect.TypeFor[[]Backend]() || t == reflect.TypeFor[[]EventTarget]() {
		return setList(name, v, text)
	}
	if err := yamlfile.SetText(v, text); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	return nil
}

// setList sets a list of sections.
func setList(name string, v reflect.Value, text string) error {
	d := yamlfile.New(name, []byte(text))
	fresh := reflect.New(v.Type()).Elem()
	d.Decode(fresh.Addr().Interface(), keyOf(name))
	if err := Problems(d.Problems).err(); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// keyOf returns the key that a name in an error is of: of a variable, or the key itself.
func keyOf(name string) string {
	for _, l := range Default().leaves() {
		if l.env() == name {
			return l.path
		}
	}
	return name
}
