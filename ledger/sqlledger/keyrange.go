package sqlledger

import (
	"strings"
	"unicode/utf8"
)

// cleanText makes a message one that every database can store.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// following is the first text after all those that begin with prefix, in byte
// order, which for UTF-8 is the order of code points; empty if there is none.
// Unlike a byte counted up it is valid UTF-8, as PostgreSQL demands.
func following(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == 0xD7FF: // what follows are surrogates, which are no characters
			return prefix + "\uE000"
		case r < utf8.MaxRune:
			return prefix + string(r+1)
		}
	}
	return ""
}
