package sqlledger

import (
	"strings"
	"unicode/utf8"
)

// cleanText makes a message storable in every database.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// following returns the first text after all those that begin with prefix, empty if none.
// The order is by byte, which for UTF-8 is by code point. Unlike an incremented byte the
// result is valid UTF-8, as PostgreSQL requires.
func following(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == 0xD7FF: // surrogates follow, which are no characters
			return prefix + "\uE000"
		case r < utf8.MaxRune:
			return prefix + string(r+1)
		}
	}
	return ""
}
