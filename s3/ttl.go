package s3

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The user metadata that carries a time to live, which every S3 client can
// send.
const (
	metaTTL       = "ttl"        // as lethe.ParseTTL reads it, such as "12h" or "30d"
	metaExpiresAt = "expires-at" // RFC 3339
)

// ruleTTL is the rule that x-amz-expiration names where no lifecycle rule ends
// the object.
const ruleTTL = "ttl"

// HeaderExpiration is the header that returns the expiry of an object.
const HeaderExpiration = "x-amz-expiration"

// Lifetime is the time to live that a request asks for; at most one is set.
type Lifetime struct {
	TTL time.Duration
	At  lethe.Time
}

// LifetimeOf reads the time to live from user metadata, whose names are in lower
// case. The metadata stays as it was sent. It fails with an Error.
func LifetimeOf(user map[string]string, now lethe.Time) (l Lifetime, err error) {
	ttl, hasTTL := user[metaTTL]
	at, hasAt := user[metaExpiresAt]
	switch {
	case hasTTL && hasAt:
		return l, InvalidArgument("x-amz-meta-ttl", ttl, "Give either x-amz-meta-ttl or x-amz-meta-expires-at, not both.")
	case hasTTL:
		if l.TTL, err = lethe.ParseTTL(strings.TrimSpace(ttl)); err != nil {
			return l, InvalidTTL("x-amz-meta-ttl", ttl, err)
		}
	case hasAt:
		if l.At, err = lethe.ParseExpiresAt(strings.TrimSpace(at), now); err != nil {
			return l, InvalidTTL("x-amz-meta-expires-at", at, err)
		}
	}
	return l, nil
}

// InvalidTTL returns the error for a time to live that is an ErrInvalidTTL.
func InvalidTTL(name, value string, err error) *Error {
	text := err.Error()
	before, after, _ := strings.Cut(text, lethe.ErrInvalidTTL.Error())
	switch {
	case after != "":
		text = lethe.ErrInvalidTTL.Error() + after
	case before != "":
		// The ledger puts the reason before the error's text.
		text = strings.TrimSuffix(before, ": ")
		text = text[strings.LastIndex(text, ": ")+1:]
		text = lethe.ErrInvalidTTL.Error() + ": " + strings.TrimSpace(text)
	}
	return &Error{Code: "InvalidArgument", Message: text, Status: http.StatusBadRequest, Argument: name, Value: value}
}

// Expiration returns the value of HeaderExpiration in S3's form, empty if the
// object does not expire. The date is rounded down to whole seconds, so that an
// object is not promised beyond its expiry.
func Expiration(o ledger.Object) string {
	due := o.DueAt()
	if due == 0 || due == lethe.Forever {
		return ""
	}
	rule := ruleTTL
	if due != o.TTLAt {
		rule = url.PathEscape(o.Rule)
	}
	return fmt.Sprintf("expiry-date=%q, rule-id=%q", due.Time().Format(http.TimeFormat), rule)
}
