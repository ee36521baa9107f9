package ledger

import (
	"cmp"
	"crypto/rand"
	"time"
)

// WithDefaults returns the options with each zero replaced by its default.
func (o Options) WithDefaults() Options {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	o.MaxRefs = cmp.Or(o.MaxRefs, 100_000)
	o.ReadGrace = cmp.Or(o.ReadGrace, time.Hour)
	o.LateWindow = cmp.Or(o.LateWindow, time.Hour)
	o.OpsKept = cmp.Or(o.OpsKept, 24*time.Hour)
	o.TrustWindow = cmp.Or(o.TrustWindow, DefaultTrust)
	return o
}
