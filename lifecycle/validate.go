package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// Limits of S3.
const (
	maxRules   = 1000
	maxID      = 255 // characters
	maxPrefix  = 1024
	maxTagKey  = 128 // characters
	maxTagText = 256 // characters
	maxDays    = 36500
)

// wholeBucket begins the ID of a rule that is meant to have an empty prefix, in formats
// without another place to confirm that.
const wholeBucket = "whole-bucket"

// Error is the refusal of rules. Code is S3's.
type Error struct {
	Code    string // MalformedXML, InvalidArgument, InvalidRequest or NotImplemented
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func malformed(format string, args ...any) error {
	return &Error{"MalformedXML", "The lifecycle configuration is not well-formed: " + fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &Error{"InvalidArgument", fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) error {
	return &Error{"InvalidRequest", fmt.Sprintf(format, args...)}
}

func missing(part string) error {
	return &Error{"NotImplemented", part + " is not supported: nothing of this lifecycle configuration was taken."}
}

// Complete gives rules without an ID one derived from their effect, so that the same rule
// gets the same ID again. It refuses invalid rules: *Error.
func (rs Rules) Complete() error {
	if len(rs) > maxRules {
		return refused("A bucket has at most %d lifecycle rules, not %d.", maxRules, len(rs))
	}
	seen := make(map[string]bool, len(rs))
	for i := range rs {
		if rs[i].ID == "" {
			rs[i].ID = rs[i].name()
		}
		if err := rs[i].check(); err != nil {
			return err
		}
		if seen[rs[i].ID] {
			return invalid("Rule ID must be unique. Found same ID for more than one rule: %q.", rs[i].ID)
		}
		seen[rs[i].ID] = true
	}
	return nil
}

// name returns an ID derived from the rule's effect.
func (r Rule) name() string {
	r.Number, r.Disabled, r.Legacy = 0, false, false
	sum := sha256.Sum256([]byte(Rules{r}.Encode()))
	return "rule-" + hex.EncodeToString(sum[:6])
}

func (r *Rule) check() error {
	switch {
	case utf8.RuneCountInString(r.ID) > maxID:
		return invalid("ID length should not exceed allowed limit of %d.", maxID)
	case !text(r.ID) || strings.ContainsFunc(r.ID, control):
		return invalid("The ID of a rule is text without control characters, not %q.", r.ID)
	case len(r.Prefix) > maxPrefix || !text(r.Prefix):
		return invalid("The prefix of rule %q has to be UTF-8 without NUL of at most %d bytes.", r.ID, maxPrefix)
	case !r.Expires() && r.AbortDays == 0:
		return refused("At least one action needs to be specified in a rule: %q has neither Expiration nor AbortIncompleteMultipartUpload.", r.ID)
	case r.AbortDays != 0 && (len(r.Tags) > 0 || r.Over != nil || r.Under != nil):
		return refused("AbortIncompleteMultipartUpload cannot be specified with tags or sizes: make rule %q two rules.", r.ID)
	}
	if err := r.checkEnd(); err != nil {
		return err
	}
	if err := r.checkSizes(); err != nil {
		return err
	}
	if r.Everything() && !r.Whole && !strings.HasPrefix(r.ID, wholeBucket) {
		return refused("Rule %q has an empty prefix and no tag: it would delete every object of the bucket. "+
			"If that is meant say it twice: give the rule an ID that begins with %q.", r.ID, wholeBucket)
	}
	return r.checkTags()
}

func (r *Rule) checkEnd() error {
	switch {
	case r.Days != 0 && r.Date != 0:
		return malformed("rule %q has both Days and Date", r.ID)
	case r.Days < 0 || r.Days > maxDays:
		return invalid("'Days' for Expiration action must be a positive integer of at most %d.", maxDays)
	case r.AbortDays < 0 || r.AbortDays > maxDays:
		return invalid("'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer of at most %d.", maxDays)
	case r.Date != 0 && r.Date != midnight(r.Date):
		return invalid("'Date' must be at midnight GMT.")
	case r.Date < 0 || r.Date > lethe.FromTime(latest):
		return invalid("'Date' must lie between 1970 and %d.", latest.Year())
	}
	return nil
}

// latest is later than any sensible date, and readable by all clients.
var latest = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func midnight(t lethe.Time) lethe.Time { return t - t%lethe.Time(day/time.Microsecond) }

func (r *Rule) checkSizes() error {
	switch {
	case r.Over != nil && *r.Over < 0, r.Under != nil && *r.Under < 1:
		return invalid("ObjectSizeGreaterThan must be at least 0, ObjectSizeLessThan at least 1.")
	case r.Over != nil && r.Under != nil && *r.Under <= *r.Over+1:
		return refused("No size is greater than %d and less than %d.", *r.Over, *r.Under)
	}
	return nil
}

func (r *Rule) checkTags() error {
	for k, v := range r.Tags {
		if n := utf8.RuneCountInString(k); n == 0 || n > maxTagKey || utf8.RuneCountInString(v) > maxTagText || !text(k) || !text(v) {
			return invalid("A tag has a key of 1 to %d characters and a value of at most %d: not %q=%q.", maxTagKey, maxTagText, k, v)
		}
	}
	return nil
}

// text reports whether s can be stored and sent unchanged: no NUL, and no character that XML
// lacks.
func text(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c < 0x20 && c != '\t' && c != '\n' || c == 0xFFFE || c == 0xFFFF || c == utf8.RuneError
	})
}

// control reports whether a character would break a header or a log line.
func control(c rune) bool { return c < 0x20 || c == 0x7f }
