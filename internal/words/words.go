// Package words formats numbers for people, alike in commands and on pages.
package words

import "github.com/dustin/go-humanize"

// Size formats a number of bytes in binary units, such as "1.5 KiB".
func Size(n int64) string {
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-n))
	}
	return humanize.IBytes(uint64(n))
}

// Number formats a number with commas.
func Number(n int64) string { return humanize.Comma(n) }

// Plural returns a number with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}
