package ledger

import (
	"cmp"
	"crypto/rand"
	"time"

	"github.com/lethe-storage/lethe"
)

// WithDefaults returns the options with each zero replaced by its default.
func (o Options) WithDefaults() Options {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	o.MaxRefs = cmp.Or(o.MaxRefs, 100_000)
	o.ReadGrace = cmp.Or(o.ReadGrace, lethe.DefaultReadGrace)
	o.LateWindow = cmp.Or(o.LateWindow, time.Hour)
	o.OpsKept = cmp.Or(o.OpsKept, 24*time.Hour)
	o.TrustWindow = cmp.Or(o.TrustWindow, DefaultTrust)
	return o
}
