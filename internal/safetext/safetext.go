// Package safetext shows untrusted text, such as keys and errors of services, so
// that no rune moves a cursor, changes the direction of writing, or is invisible.
package safetext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain reports whether a rune prints as itself and has no other effect.
func Plain(r rune) bool {
	return strconv.IsPrint(r) && r != utf8.RuneError && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// Escape replaces runes that are not ok by escapes, and bytes that are not UTF-8
// by their values.
func Escape(s string, ok func(rune) bool, escape func(rune) string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case ok(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// JSON returns the escape of a rune in a JSON string.
func JSON(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
