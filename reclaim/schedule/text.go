package schedule

import (
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
)

const textForm = `use "every 1m", or "cron 0 0 * * * zone Europe/Berlin until 06:00"`

// Parse reads the text form of a schedule. The quotes around the expression may be
// left out. Errors name what is accepted.
func Parse(text string) (Schedule, error) {
	words := strings.Fields(strings.ReplaceAll(text, `"`, " "))
	var spec Spec
	seen := map[string]bool{}
	for len(words) > 0 {
		name := words[0]
		n := valueWords(words)
		if n == 0 {
			return Schedule{}, fmt.Errorf("schedule: %q is not understood at %q; %s", brief(text), brief(name), textForm)
		}
		if len(words) < 1+n {
			return Schedule{}, fmt.Errorf("schedule: %q is cut off after %q; %s", brief(text), brief(name), textForm)
		}
		if seen[name] {
			return Schedule{}, fmt.Errorf("schedule: %q has %q twice; %s", brief(text), name, textForm)
		}
		seen[name] = true
		if err := spec.set(name, strings.Join(words[1:1+n], " ")); err != nil {
			return Schedule{}, err
		}
		words = words[1+n:]
	}
	if len(seen) == 0 {
		return Schedule{}, fmt.Errorf("schedule: is empty; %s", textForm)
	}
	return New(spec)
}

// valueWords returns how many words follow the name that begins words; zero if
// it is no name.
func valueWords(words []string) int {
	switch words[0] {
	case "every", "zone", "until":
		return 1
	case "cron":
		if len(words) > 1 && strings.HasPrefix(words[1], "@") {
			return 1
		}
		return 5
	}
	return 0
}

func (spec *Spec) set(name, value string) (err error) {
	switch name {
	case "every":
		if spec.Every, err = lethe.ParseTTL(value); err != nil {
			return fmt.Errorf("schedule: every: %w", err)
		}
	case "zone":
		spec.Zone = value
	case "until":
		spec.Until = value
	case "cron":
		spec.Cron = value
	}
	return nil
}

// String writes the text form, which Parse reads; empty for the zero Schedule.
func (s Schedule) String() string {
	var b strings.Builder
	if s.spec.Cron != "" {
		fmt.Fprintf(&b, "cron %q", s.spec.Cron)
	}
	if s.spec.Zone != "" {
		fmt.Fprintf(&b, " zone %s", s.spec.Zone)
	}
	if s.spec.Until != "" {
		fmt.Fprintf(&b, " until %s", s.spec.Until)
	}
	if s.spec.Every != 0 {
		fmt.Fprintf(&b, " every %s", lethe.FormatTTL(s.spec.Every))
	}
	return strings.TrimSpace(b.String())
}

// MarshalText writes the text form.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text form.
func (s *Schedule) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// brief keeps a long text from flooding an error.
func brief(s string) string {
	const most = 80 // bytes
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
