package blob

import "fmt"

// MaxKey is the greatest length of a key in bytes: every file system takes as much
// as one name, so that no segment of a key can be too long.
const MaxKey = 255

// CheckKey returns an error that wraps ErrInvalidKey unless key consists of one or
// more non-empty segments of [a-z0-9] separated by single slashes and has at most
// MaxKey bytes. Such a key is unambiguous on every backend: no case, no dots, no
// escapes.
func CheckKey(key string) error {
	if len(key) == 0 || len(key) > MaxKey {
		return fmt.Errorf("%w: %d bytes, not 1 to %d", ErrInvalidKey, len(key), MaxKey)
	}
	slash := true
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			slash = false
		case c == '/' && !slash:
			slash = true
		case c == '/':
			return fmt.Errorf("%w: %q has an empty segment", ErrInvalidKey, key)
		default:
			return fmt.Errorf("%w: %q has the byte %#02x at %d", ErrInvalidKey, key, c, i)
		}
	}
	if slash {
		return fmt.Errorf("%w: %q has an empty segment", ErrInvalidKey, key)
	}
	return nil
}
