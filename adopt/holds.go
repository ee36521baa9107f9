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

// The scopes of holds.
const (
	HoldCollection HoldScope = iota + 1 // everything in it
	HoldRow                             // the row of a key, whether there is one or not
	HoldObject                          // the object of a key, whole as it is in the bucket
	HoldPrefix                          // all objects whose whole keys begin so
)

// MaxPrefixHolds is how many holds on prefixes a collection may have: each is compared
// with each key that is to go. Holds on rows and objects may be any number.
const MaxPrefixHolds = 1000

// ErrNoSuchHold: there is no such hold to lift.
var ErrNoSuchHold = errors.New("no such hold")

// Hold keeps what it covers until it is lifted, or over.
type Hold struct {
	Collection string
	Scope      HoldScope
	Key        string // or prefix
	Reason     string
	By         string // who set it
	At         lethe.Time
	Until      lethe.Time // 0: until it is lifted
	// For, if set, is how long a new hold stands, by the database's clock.
	For time.Duration
}

// Limit sets the end of a hold that is to stand for a time.
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

// Why is what somebody reads who asks why a thing stays.
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

// Holds are holds that stand.
type Holds []Hold

// find returns the first hold that covers something, nil if none does.
func (hs Holds) find(covers func(Hold) bool) *Hold {
	for i := range hs {
		if hs[i].Scope == HoldCollection || covers(hs[i]) {
			return &hs[i]
		}
	}
	return nil
}

// Of returns the holds of one collection.
func (hs Holds) Of(collection string) (out Holds) {
	for _, h := range hs {
		if h.Collection == collection {
			out = append(out, h)
		}
	}
	return out
}

// All returns the hold on the whole collection, nil if there is none.
func (hs Holds) All() *Hold { return hs.find(func(Hold) bool { return false }) }

// Row returns a hold that keeps the row of a key, nil if there is none.
func (hs Holds) Row(key string) *Hold {
	return hs.find(func(h Hold) bool { return h.Scope == HoldRow && h.Key == key })
}

// Object returns a hold that keeps the object of a whole key, or something in the folder
// that a key with a slash at its end names; nil if there is none.
func (hs Holds) Object(key string) *Hold {
	if strings.HasSuffix(key, "/") {
		return hs.Folder(key)
	}
	return hs.find(func(h Hold) bool {
		return h.Scope == HoldObject && h.Key == key || h.Scope == HoldPrefix && strings.HasPrefix(key, h.Key)
	})
}

// Folder returns a hold that keeps an object that lies, or may lie, below a prefix; nil
// if there is none.
func (hs Holds) Folder(prefix string) *Hold {
	return hs.find(func(h Hold) bool {
		object := h.Scope == HoldObject || h.Scope == HoldPrefix
		return object && strings.HasPrefix(h.Key, prefix) || h.Scope == HoldPrefix && strings.HasPrefix(prefix, h.Key)
	})
}

// UnderWay is deletes that had been allowed before a hold was set.
type UnderWay struct {
	Objects int
	Folders int        // that are being purged
	Until   lethe.Time // by then the last of them has taken effect
}

// Holder keeps the holds of one collection. Each method is one transaction.
type Holder interface {
	// AddHold sets a hold; of one that is set already it returns that. It waits for
	// transactions under way: from its return on nothing that the hold covers is claimed,
	// removed, marked or condemned. Deletes that were allowed before may yet take effect:
	// it returns how many.
	AddHold(ctx context.Context, h Hold) (Hold, UnderWay, error)
	// LiftHold ends a hold: ErrNoSuchHold.
	LiftHold(ctx context.Context, h Hold) error
	// Holds returns the holds that stand.
	Holds(ctx context.Context) (Holds, error)
}

// HeldRest is how long a content rests that is due and whose object is held. Once its
// hold is lifted it goes within that time.
const HeldRest = time.Hour
