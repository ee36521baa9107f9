package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// The user metadata that carries a time to live: what every S3 client can send.
const (
	metaTTL       = "ttl"        // as lethe.ParseTTL reads it, such as "12h" or "30d"
	metaExpiresAt = "expires-at" // RFC 3339
)

// ruleTTL is what x-amz-expiration names where no lifecycle rule ends the object.
const ruleTTL = "ttl"

// headerExpiration tells when an object ends.
const headerExpiration = "x-amz-expiration"

// lifetime is the time to live that a request asks for, at most one of the two.
type lifetime struct {
	ttl time.Duration
	at  lethe.Time
}

// lifetimeOf reads the time to live from user metadata, whose names are in lower
// case. The metadata stays as it was sent.
func (b *Backend) lifetimeOf(user map[string]string) (l lifetime, err error) {
	ttl, hasTTL := user[metaTTL]
	at, hasAt := user[metaExpiresAt]
	switch {
	case hasTTL && hasAt:
		return l, s3err.InvalidArgumentError{
			Description:  "Give either x-amz-meta-ttl or x-amz-meta-expires-at, not both.",
			ArgumentName: "x-amz-meta-ttl", ArgumentValue: ttl,
		}
	case hasTTL:
		if l.ttl, err = lethe.ParseTTL(strings.TrimSpace(ttl)); err != nil {
			return l, invalidTTL("x-amz-meta-ttl", ttl, err)
		}
	case hasAt:
		if l.at, err = lethe.ParseExpiresAt(strings.TrimSpace(at), b.opt.Clock.Now()); err != nil {
			return l, invalidTTL("x-amz-meta-expires-at", at, err)
		}
	}
	return l, nil
}

func invalidTTL(name, value string, err error) s3err.S3Error {
	text := err.Error()
	before, after, _ := strings.Cut(text, lethe.ErrInvalidTTL.Error())
	switch {
	case after != "":
		text = lethe.ErrInvalidTTL.Error() + after
	case before != "":
		// The ledger says why in front of it, behind what it was doing.
		text = strings.TrimSuffix(before, ": ")
		text = text[strings.LastIndex(text, ": ")+1:]
		text = lethe.ErrInvalidTTL.Error() + ": " + strings.TrimSpace(text)
	}
	return s3err.InvalidArgumentError{Description: text, ArgumentName: name, ArgumentValue: value}
}

// expires notes the end of an object for the response's header.
func (r *request) expiresWith(o meta.Object) {
	r.expires = expiration(o)
}

// expiration is the header's value in S3's form, empty if the object has no end.
// The date is in whole seconds, rounded down: no client is promised an instant
// at which the object is gone already.
func expiration(o meta.Object) string {
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
