package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

const redacted = "REDACTED"

// Secret is a text that does not show itself: formatted, logged or marshalled
// it is "REDACTED", or empty if it is. Only Reveal returns it.
type Secret struct {
	// A pointer hides it from fmt's access to unexported fields of enclosing
	// structs.
	value *string
}

// NewSecret wraps a text.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == nil }

// String hides the text.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format hides the text for every verb: an invalid one would show it otherwise.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the text. Print's replacement of a secret is refused.
func (s *Secret) UnmarshalText(text []byte) error {
	if string(text) == redacted {
		return fmt.Errorf("is %s, as printed instead of the secret; write the secret, or leave the key out", redacted)
	}
	*s = NewSecret(string(text))
	return nil
}

// OrFile returns the secret, or if it is empty the contents of the file at path
// without surrounding white space; without either it is empty.
func (s Secret) OrFile(path string) (Secret, error) {
	if !s.IsZero() || path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, err
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return Secret{}, fmt.Errorf("%s is empty", path)
	}
	return NewSecret(value), nil
}
