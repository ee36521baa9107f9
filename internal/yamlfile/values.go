package yamlfile

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// None is the text of zero for values with units.
const None = "none"

// IsNone reports whether a text means zero.
func IsNone(s string) bool { return s == None || s == "0" }

// Brief shortens a long value for an error.
func Brief(s string) string {
	const most = 80 // bytes
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// IsSection reports whether v is a mapping of keys rather than one value.
func IsSection(v reflect.Value) bool { return v.Kind() == reflect.Struct && !isText(v) }

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// SetText sets v by a text, or leaves it unchanged.
func SetText(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", Brief(text))
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if IsNone(text) {
			n, err = 0, nil
		}
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("%q is not a whole number", Brief(text))
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if IsNone(text) {
			f, err = 0, nil
		}
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%q is not a number", Brief(text))
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
		if err := SetText(e, item); err != nil {
			return err
		}
		list = reflect.Append(list, e)
	}
	v.Set(list)
	return nil
}
