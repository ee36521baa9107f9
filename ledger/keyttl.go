package ledger

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// KeyTTL is how long objects live that an access key writes. The zero value sets nothing.
type KeyTTL struct {
	Key     string        `json:"key"`
	Default time.Duration `json:"default,omitempty"` // of an object without a time to live; 0: none
	Max     time.Duration `json:"max,omitempty"`     // the longest; 0: unlimited
}

// KeyTTLChange sets a part of it: nil leaves a time as it is.
type KeyTTLChange struct {
	Key          string
	Default, Max *time.Duration
}

// TTL returns how long the objects live that the key writes.
func (k AccessKey) TTL() KeyTTL {
	if k.DefaultTTL == 0 && k.MaxTTL == 0 {
		return KeyTTL{}
	}
	return KeyTTL{Key: k.ID, Default: k.DefaultTTL, Max: k.MaxTTL}
}

// CheckTTL returns ErrInvalidTTL for times to live that make no sense for a key.
func (k AccessKey) CheckTTL() error {
	switch {
	case k.DefaultTTL < 0 || k.MaxTTL < 0:
		return fmt.Errorf("%w: it must not be negative", lethe.ErrInvalidTTL)
	case k.MaxTTL > 0 && k.DefaultTTL > k.MaxTTL:
		return fmt.Errorf("%w: the default, %s, is longer than the longest, %s", lethe.ErrInvalidTTL,
			lethe.FormatTTL(k.DefaultTTL), lethe.FormatTTL(k.MaxTTL))
	case k.ReadOnly && k.TTL() != KeyTTL{}:
		return fmt.Errorf("%w: a key that only reads writes nothing that could end", lethe.ErrInvalidTTL)
	}
	return nil
}

// shorter returns the shorter of two times to live, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// GivenBy returns the access key whose default or longest life ends an object for which no
// end is asked; empty: an end is asked, or the bucket ends it no later, or nothing does.
func (b BucketSettings) GivenBy(wish TTLChange, byDefault time.Duration) string {
	if wish.TTL != 0 || wish.At != 0 || b.ttlWithout(byDefault, wish.ByKey) == b.ttlWithout(byDefault, KeyTTL{}) {
		return ""
	}
	return wish.ByKey.Key
}
