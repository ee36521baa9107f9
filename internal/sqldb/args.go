package sqldb

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// longerThanKeys is a length in bytes that no key of S3 exceeds.
const longerThanKeys = 1024

// errText is returned for text that PostgreSQL cannot store.
var errText = fmt.Errorf("text with a NUL, or that is not UTF-8, cannot be stored: %w", lethe.ErrInvalidKey)

// PlainArgs converts the parameters to strings, int64s and other plain types, so that their
// SQL types do not depend on methods of their Go types. Text that cannot be stored returns
// an error. In a statement that only searches, it is replaced by a text longer than any key,
// which is not found.
func PlainArgs(text string, args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, v := range args {
		v = plainArg(v)
		if s, ok := v.(string); ok && !storable(s) {
			if !strings.HasPrefix(text, "SELECT") {
				return nil, errText
			}
			v = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\x01"), "\x01") + strings.Repeat("\x01", longerThanKeys)
		}
		out[i] = v
	}
	return out, nil
}

func storable(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

func plainArg(v any) any {
	switch v.(type) {
	case nil, string, int64, []byte, bool:
		return v
	}
	switch x := reflect.ValueOf(v); x.Kind() {
	case reflect.String:
		return x.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return x.Int()
	default:
		return v
	}
}
