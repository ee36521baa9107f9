package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// leaf is a value that can be set by a text.
type leaf struct {
	path  string // "server.s3.listen"
	value reflect.Value
}

// env is the environment variable that sets the leaf.
func (l leaf) env() string {
	return "LETHE_" + strings.ToUpper(strings.ReplaceAll(l.path, ".", "_"))
}

// leaves lists all that can be set, in the order of the types.
func (c *Config) leaves() []leaf { return leavesOf("", reflect.ValueOf(c).Elem()) }

func leavesOf(prefix string, v reflect.Value) []leaf {
	var out []leaf
	for i := range v.NumField() {
		path := prefix + v.Type().Field(i).Tag.Get("yaml")
		field := v.Field(i)
		if isSection(field) {
			out = append(out, leavesOf(path+".", field)...)
		} else {
			out = append(out, leaf{path, field})
		}
	}
	return out
}

// isSection reports whether v is a mapping of keys rather than one value.
func isSection(v reflect.Value) bool { return v.Kind() == reflect.Struct && !isText(v) }

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// Set sets one key by its path and a text, as the environment and flags do:
// Set("cache.size", "1GiB"). Lists of texts are separated by commas; backends
// are written as in the file, on one line.
func (c *Config) Set(path, text string) error {
	leaves := c.leaves()
	names := make([]string, 0, len(leaves))
	for _, l := range leaves {
		if l.path == path {
			return setLeaf(path, l.value, text)
		}
		names = append(names, l.path)
	}
	if near, ok := nearest(path, names); ok {
		return fmt.Errorf("%w: %s: there is no such key; did you mean %s?", ErrInvalid, brief(path), near)
	}
	return fmt.Errorf("%w: %s: there is no such key; \"lethe config init\" shows all of them", ErrInvalid, brief(path))
}

// setLeaf sets v, or leaves it as it was; name is what an error calls it.
func setLeaf(name string, v reflect.Value, text string) error {
	if v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[Backend]() {
		return setBackends(name, v, text)
	}
	if err := setText(v, text); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	return nil
}

func setBackends(name string, v reflect.Value, text string) error {
	d := newDecoder(name, []byte(text))
	root := d.parse()
	fresh := reflect.New(v.Type()).Elem()
	if root != nil {
		d.decode(root, fresh, "backends")
	}
	if err := d.problems.err(); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// setText sets v by a text, or leaves it as it was.
func setText(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", brief(text))
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if isNone(text) {
			n, err = 0, nil
		}
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("%q is not a whole number", brief(text))
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if isNone(text) {
			f, err = 0, nil
		}
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%q is not a number", brief(text))
		}
		v.SetFloat(f)
	case reflect.Slice:
		return setList(v, text)
	default:
		return fmt.Errorf("cannot be set by a text")
	}
	return nil
}

func setList(v reflect.Value, text string) error {
	list := reflect.MakeSlice(v.Type(), 0, 1)
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if err := setText(e, item); err != nil {
			return err
		}
		list = reflect.Append(list, e)
	}
	v.Set(list)
	return nil
}
