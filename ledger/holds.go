package ledger

import (
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// HoldScope is what a hold covers.
type HoldScope int

// The scopes of holds.
const (
	HoldObject HoldScope = iota + 1 // one key, whether an object is there or not
	HoldPrefix                      // every key with the prefix; the empty one is the whole bucket
	HoldLegal                       // one key, set by a client as a legal hold of S3
)

// String returns the scope's name as operators see it.
func (s HoldScope) String() string {
	switch s {
	case HoldObject:
		return "object"
	case HoldPrefix:
		return "prefix"
	case HoldLegal:
		return "legal"
	}
	return fmt.Sprintf("scope(%d)", int(s))
}

// MaxPrefixHolds is the most holds on prefixes in one bucket: each is compared with each key
// written there. Holds on objects are looked up and have no limit.
const MaxPrefixHolds = 1000

// ErrNoSuchHold is returned when the hold to release does not exist.
var ErrNoSuchHold = errors.New("no such hold")

// Hold keeps objects under keys of a bucket from being deleted, replaced or expired until it
// is released. It also keeps what was deleted there before from being purged.
type Hold struct {
	Bucket string
	Into   lethe.ID // as in Document, of a change
	Scope  HoldScope
	Key    string // or prefix
	Reason string
	By     string // who set it
	At     lethe.Time
}

// HoldQuery pages through holds, by bucket, scope and key.
type HoldQuery struct {
	Bucket string // empty: of all buckets
	After  Hold   // exclusive; its Bucket, Scope and Key
	Limit  int
}

// Check returns an error if the scope or the key of the hold is invalid.
func (h Hold) Check() error {
	switch h.Scope {
	case HoldPrefix:
		if h.Key == "" {
			return nil
		}
	case HoldObject, HoldLegal:
	default:
		return fmt.Errorf("a hold is on an object or on a prefix, not on %s", h.Scope)
	}
	return CheckKey(h.Key)
}

// Refusal returns the error for a request on the key that the hold refuses.
func (h Hold) Refusal(key string) error {
	why := ""
	if h.Reason != "" {
		why = " (" + h.Reason + ")"
	}
	return fmt.Errorf("%q is under a hold on the %s %q%s: %w", key, h.Scope, h.Key, why, lethe.ErrHeld)
}

// ReturnedRows is the result of one step of ReturnDeferred.
type ReturnedRows struct {
	Seen     int  // deferred rows looked at
	Returned int  // rows that are back in their due index
	More     bool // more rows are to be looked at
}
