package adopt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// HoldScope is what a hold covers.
type HoldScope int

// Scopes of holds.
const (
	HoldCollection HoldScope = iota + 1 // the whole collection
	HoldRow                             // the row of a key, whether it exists or not
	HoldObject                          // the object of a key, the whole key in the bucket
	HoldPrefix                          // all objects whose whole keys have the prefix
)

// MaxPrefixHolds bounds the holds on prefixes of a collection: each is compared
// with each key before its deletion. Holds on rows and objects are not bounded.
const MaxPrefixHolds = 1000

// ErrNoSuchHold is returned when a hold to remove does not exist.
var ErrNoSuchHold = errors.New("no such hold")

// Hold keeps what it covers until it is removed or ends.
type Hold struct {
	Collection string
	Scope      HoldScope
	Key        string // or prefix
	Reason     string
	By         string // its author
	At         lethe.Time
	Until      lethe.Time // 0 if it has no end
	// For, if set, is the duration of a new hold, by the database's clock.
	For time.Duration
}

// Limit sets the end of a hold that has a duration.
func (h *Hold) Limit() {
	if h.For > 0 {
		h.Until, h.For = h.At.Add(h.For), 0
	}
}

// String describes what the hold covers.
func (h Hold) String() string {
	switch h.Scope {
	case HoldRow:
		return fmt.Sprintf("the row %q of %s", h.Key, h.Collection)
	case HoldObject:
		return fmt.Sprintf("the object %q of %s", h.Key, h.Collection)
	case HoldPrefix:
		return fmt.Sprintf("the objects of %s below %q", h.Collection, h.Key)
	}
	return "the collection " + h.Collection
}

// Why explains why a thing stays.
func (h Hold) Why() string {
	text := "a hold keeps " + h.String()
	if h.Until != 0 {
		text += " until " + h.Until.String()
	}
	if h.Reason != "" {
		text += " (" + h.Reason + ")"
	}
	return text
}

// Holds are holds in force.
type Holds []Hold

// find returns the first hold that covers something, nil if there is none.
func (hs Holds) find(covers func(Hold) bool) *Hold {
	for i := range hs {
		if hs[i].Scope == HoldCollection || covers(hs[i]) {
			return &hs[i]
		}
	}
	return nil
}

// Of returns the holds on one collection.
func (hs Holds) Of(collection string) (out Holds) {
	for _, h := range hs {
		if h.Collection == collection {
			out = append(out, h)
		}
	}
	return out
}

// All returns the hold on the whole collection, or nil.
func (hs Holds) All() *Hold { return hs.find(func(Hold) bool { return false }) }

// Row returns a hold on the row of a key, or nil.
func (hs Holds) Row(key string) *Hold {
	return hs.find(func(h Hold) bool { return h.Scope == HoldRow && h.Key == key })
}

// Object returns a hold on the object of a whole key, or for a key with a final
// slash on something in that folder; nil if there is none.
func (hs Holds) Object(key string) *Hold {
	if strings.HasSuffix(key, "/") {
		return hs.Folder(key)
	}
	return hs.find(func(h Hold) bool {
		return h.Scope == HoldObject && h.Key == key || h.Scope == HoldPrefix && strings.HasPrefix(key, h.Key)
	})
}

// Folder returns a hold on an object that is, or may be, below a prefix; nil if
// there is none.
func (hs Holds) Folder(prefix string) *Hold {
	return hs.find(func(h Hold) bool {
		object := h.Scope == HoldObject || h.Scope == HoldPrefix
		return object && strings.HasPrefix(h.Key, prefix) || h.Scope == HoldPrefix && strings.HasPrefix(prefix, h.Key)
	})
}

// UnderWay is deletes that were allowed before a hold was set.
type UnderWay struct {
	Objects int
	Folders int        // that are being purged
	Until   lethe.Time // when the last of them has taken effect
}

// Holder keeps the holds of one collection. Each method is one transaction.
type Holder interface {
	// AddHold sets a hold, or returns the existing equal one. It waits for
	// running transactions: once it returns nothing that the hold covers is
	// claimed, removed, marked or condemned. It returns the deletes that were
	// allowed before and may yet take effect.
	AddHold(ctx context.Context, h Hold) (Hold, UnderWay, error)
	// ReleaseHold removes a hold. It fails with ErrNoSuchHold.
	ReleaseHold(ctx context.Context, h Hold) error
	// Holds returns the holds in force.
	Holds(ctx context.Context) (Holds, error)
}

// HeldRest is how long a content that is due is deferred while its object is
// held. After its hold is removed it goes within that time.
const HeldRest = time.Hour
