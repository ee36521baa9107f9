package ledger

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// MaxKey is the longest key in bytes, as in S3.
const MaxKey = 1024

// CheckKey returns ErrInvalidKey for a key that some database cannot store and compare
// bytewise.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("a key has 1 to %d bytes of UTF-8 without NUL, not %q: %w", MaxKey, key, lethe.ErrInvalidKey)
	}
	return nil
}
