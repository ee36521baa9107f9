package main

import (
	"fmt"
	"strconv"
)

// number is the value of a flag that is a whole number of at least least.
type number[T int | int64] struct {
	to    *T
	least T
}

// atLeast returns the value of a flag: what it is without the flag, and the least that it may
// be given.
func atLeast[T int | int64](least T, to *T, without T) number[T] {
	*to = without
	return number[T]{to, least}
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
	if err != nil || T(v) < n.least {
		return fmt.Errorf("a whole number, %d or more", n.least)
	}
	*n.to = T(v)
	return nil
}

// Type implements the value of a flag.
func (number[T]) Type() string { return "number" }
