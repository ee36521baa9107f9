package s3

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Unwritable reports whether XML 1.0 lacks a character.
func Unwritable(c rune) bool {
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF
}

// MaxList is the most keys of a page, as in S3.
const MaxList = 1000

// tokenPrefix marks a continuation token that is not the key itself.
const tokenPrefix = "base64:"

// ListToken returns the continuation token of a listing that continues after a
// key: the key, or its encoding if XML cannot carry it unchanged.
func ListToken(key string) string {
	if !strings.HasPrefix(key, tokenPrefix) && XMLSafe(key) {
		return key
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(key))
}

// XMLSafe reports whether XML 1.0 carries a string unchanged.
func XMLSafe(s string) bool {
	for _, r := range s {
		if r < 0x20 || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// ListTokenKey returns the key of a continuation token; false if the token is
// invalid.
func ListTokenKey(token string) (string, bool) {
	enc, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return token, true
	}
	key, err := base64.RawURLEncoding.DecodeString(enc)
	return string(key), err == nil
}

// URLName encodes a name of a listing as S3 does, except for the space: every
// reader takes %20 as one, not every reader a plus sign.
func URLName(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	return strings.ReplaceAll(s, "%2F", "/")
}
