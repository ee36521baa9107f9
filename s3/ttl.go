package s3

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The user metadata that says when an object ends, which every S3 client can
// send.
const (
	metaTTL       = "ttl"        // as lethe.ParseTTL reads it, such as "12h" or "30d"
	metaExpiresAt = "expires-at" // RFC 3339
	metaReads     = "reads"      // as lethe.ParseReads reads it
	metaIdle      = "idle-ttl"   // as lethe.ParseIdleTTL reads it
)

// ruleTTL is the rule that x-amz-expiration names where no lifecycle rule ends
// the object.
const ruleTTL = "ttl"

// ruleIdle is the one that it names where the idle time ends the object.
const ruleIdle = "idle-ttl"

// HeaderExpiration is the header that returns the expiry of an object.
const HeaderExpiration = "x-amz-expiration"

// HeaderReadsLeft is the header that returns how often an object can still be
// read, if its reads are counted.
const HeaderReadsLeft = "x-lethe-reads-left"

// Lifetime is the end that a request asks for: by at most one of TTL and At, and
// after so many Reads; 0: they are not counted. It is kept for Idle after its last read;
// 0: as its bucket has it.
type Lifetime struct {
	TTL   time.Duration
	At    lethe.Time
	Reads int64
	Idle  time.Duration
}

// LifetimeOf reads the end from user metadata, whose names are in lower case. The
// metadata stays as it was sent. It fails with an Error.
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
	if idle, asked := user[metaIdle]; asked {
		if l.Idle, err = lethe.ParseIdleTTL(strings.TrimSpace(idle)); err != nil {
			return l, InvalidTTL("x-amz-meta-idle-ttl", idle, err)
		}
	}
	if reads, counted := user[metaReads]; counted {
		if l.Reads, err = lethe.ParseReads(strings.TrimSpace(reads)); err != nil {
			return l, InvalidArgument("x-amz-meta-reads", reads, sentence(err))
		}
	}
	return l, nil
}

// sentence returns the text of an error as a sentence.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Counted returns the error for what cannot be done with an object whose reads
// are counted, an ErrCounted.
func Counted(err error) *Error {
	text := err.Error()
	if i := strings.Index(text, lethe.ErrCounted.Error()); i > 0 {
		text = text[i:]
	}
	return &Error{Code: "InvalidRequest", Message: sentence(errors.New(text)), Status: http.StatusBadRequest}
}

// ReadsLeft returns the value of HeaderReadsLeft, empty if reads are not counted.
func ReadsLeft(o ledger.Object) string {
	if !o.Counted() {
		return ""
	}
	return strconv.FormatInt(max(o.ReadsLeft, 0), 10)
}

// InvalidTTL returns the error for a time to live that is an ErrInvalidTTL.
func InvalidTTL(name, value string, err error) *Error {
	return &Error{Code: "InvalidArgument", Message: lethe.TTLProblem(err), Status: http.StatusBadRequest, Argument: name, Value: value}
}

// Expiration returns the value of HeaderExpiration in S3's form, empty if the
// object does not expire. The date is rounded down to whole seconds, so that an
// object is not promised beyond its expiry.
func Expiration(o ledger.Object) string {
	due := o.End()
	if due == 0 || due == lethe.Forever {
		return ""
	}
	rule := ruleTTL
	switch due {
	case o.TTLAt:
	case o.IdleAt:
		rule = ruleIdle
	default:
		rule = url.PathEscape(o.Rule)
	}
	return fmt.Sprintf("expiry-date=%q, rule-id=%q", due.Time().Format(http.TimeFormat), rule)
}
