package config

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is wrapped by every error about an invalid configuration.
var ErrInvalid = errors.New("invalid configuration")

// Problems are all errors in a configuration; each names the place and what to
// do.
type Problems []string

// Error lists the problems, one after the other.
func (p Problems) Error() string {
	return fmt.Sprintf("%v: %s", ErrInvalid, strings.Join(p, "\n"))
}

// Unwrap makes errors.Is find ErrInvalid.
func (p Problems) Unwrap() error { return ErrInvalid }

// err returns nil if there are no problems.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(key, format string, args ...any) {
	*p = append(*p, key+": "+fmt.Sprintf(format, args...))
}

// check adds a problem unless ok.
func (p *Problems) check(ok bool, key, format string, args ...any) {
	if !ok {
		p.add(key, format, args...)
	}
}
