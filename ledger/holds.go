package ledger

import (
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// HoldScope says what a hold is about.
type HoldScope int

// The scopes of holds.
const (
	HoldObject HoldScope = iota + 1 // one key, whether something lies there or not
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

// MaxPrefixHolds is how many holds on prefixes a bucket may have: each is compared
// with each key that goes there. Holds on objects are looked up, and may be any
// number.
const MaxPrefixHolds = 1000

// ErrNoSuchHold: there is no such hold to lift.
var ErrNoSuchHold = errors.New("no such hold")

// Hold keeps what lies under keys of a bucket from being deleted, replaced or
// expired, and what was deleted there before from being purged, until it is lifted.
type Hold struct {
	Bucket string
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

// Check refuses what can be no hold.
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

// Refusal is the error of who is refused by a hold.
func (h Hold) Refusal(key string) error {
	why := ""
	if h.Reason != "" {
		why = " (" + h.Reason + ")"
	}
	return fmt.Errorf("%q is held by a hold on the %s %q%s: %w", key, h.Scope, h.Key, why, lethe.ErrHeld)
}
