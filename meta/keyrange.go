package meta

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// maxKey is the longest key in bytes, as S3 has it.
const MaxKey = 1024

// checkKey refuses what no database of ours can store and compare bytewise.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("a key has 1 to %d bytes of UTF-8 without NUL, not %q: %w", MaxKey, key, lethe.ErrInvalidKey)
	}
	return nil
}

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
