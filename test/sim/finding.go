package sim

import (
	"errors"
	"fmt"
)

// finding is an invariant that does not hold.
type finding struct {
	format string
	args   []any
	text   error
}

// named is a text that belongs to what a finding is, not to where it shows.
type named string

// broken makes a finding; it formats like fmt.Errorf. The format tells it from
// other findings, and so do the arguments that are named.
func broken(format string, args ...any) error {
	return &finding{format, args, fmt.Errorf(format, args...)}
}

func (f *finding) Error() string { return f.text.Error() }

func (f *finding) Unwrap() error { return f.text }

// violation names what an error says is wrong, without what differs between two
// runs in which the same is: ids, numbers, keys and times.
func violation(err error) string {
	if err == nil {
		return ""
	}
	var f *finding
	if !errors.As(err, &f) {
		return "an error: " + class(err)
	}
	names := make([]any, len(f.args))
	for i, arg := range f.args {
		switch arg := arg.(type) {
		case named:
			names[i] = blank(arg)
		case error:
			names[i] = blank(violation(arg))
		default:
			names[i] = blank("_")
		}
	}
	return fmt.Errorf(f.format, names...).Error()
}

// blank is printed as it is, whatever the verb; fmt.Errorf wants errors for some.
type blank string

func (b blank) Format(s fmt.State, _ rune) { fmt.Fprint(s, string(b)) }

func (b blank) Error() string { return string(b) }
