package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// number is the value of a flag that is a whole number of at least least.
type number[T int | int64] struct {
	to    *T
	least T
	most  T // 0: any
}

// atLeast returns the value of a flag: what it is without the flag, and the least that it may
// be given.
func atLeast[T int | int64](least T, to *T, without T) number[T] {
	*to = without
	return number[T]{to: to, least: least}
}

// String implements the value of a flag.
func (n number[T]) String() string {
	if n.to == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*n.to), 10)
}

// Set implements the value of a flag.
func (n number[T]) Set(text string) error {
	v, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if n.most > 0 && (err != nil || T(v) < n.least || T(v) > n.most) {
		return fmt.Errorf("a whole number, %d to %d", n.least, n.most)
	}
	if err != nil || T(v) < n.least {
		return fmt.Errorf("a whole number, %d or more", n.least)
	}
	*n.to = T(v)
	return nil
}

// Type implements the value of a flag.
func (number[T]) Type() string { return "number" }

// word is the value of a flag that is one of some words.
type word struct {
	to *string
	of []string
}

// String implements the value of a flag.
func (w word) String() string {
	if w.to == nil {
		return ""
	}
	return *w.to
}

// Set implements the value of a flag.
func (w word) Set(text string) error {
	if !slices.Contains(w.of, text) {
		return fmt.Errorf("%s", strings.Join(w.of, " or "))
	}
	*w.to = text
	return nil
}

// Type implements the value of a flag.
func (word) Type() string { return "string" }

// span is the value of a flag that is a time to live, as parse reads it. The text is kept: what
// it is for is the server's.
type span struct {
	to    *string
	parse func(string) (time.Duration, error)
	none  bool // none and 0 stand for no time
}

// aTime returns the value of a flag that is a time, and orNone one that may be none.
func aTime(to *string) span  { return span{to: to, parse: lethe.ParseTTL} }
func orNone(to *string) span { return span{to: to, parse: lethe.ParseTTL, none: true} }

// idleOrNone returns the value of a flag that is an idle time, or none.
func idleOrNone(to *string) span { return span{to: to, parse: lethe.ParseIdleTTL, none: true} }

// String implements the value of a flag.
func (s span) String() string { return word{to: s.to}.String() }

// Set implements the value of a flag.
func (s span) Set(text string) error {
	if _, err := s.parse(text); err != nil && !(s.none && slices.Contains([]string{"none", "0", ""}, text)) {
		return fmt.Errorf("a time such as 12h or 30d: %w", err)
	}
	*s.to = text
	return nil
}

// Type implements the value of a flag.
func (span) Type() string { return "string" }
