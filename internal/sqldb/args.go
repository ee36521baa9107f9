package sqldb

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// longerThanKeys is more bytes than a key of S3 has.
const longerThanKeys = 1024

// errText refuses what PostgreSQL cannot store.
var errText = fmt.Errorf("text with a NUL, or that is not UTF-8, cannot be stored: %w", lethe.ErrInvalidKey)

// PlainArgs makes strings, int64s and the like of the parameters, so that their
// types in SQL do not depend on methods that their types in Go have. Text that
// cannot be stored is refused, unless it is only looked for: then it stands as
// one that is longer than any key, and is not found.
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
