package gateway

import (
	"maps"

	"github.com/versity/versitygw/auth"
)

// WithAccounts returns the options of a server with versitygw's own accounts.
func (o Options) WithAccounts(accounts auth.IAMService) Options {
	o.accounts = accounts
	return o
}

// SubResources are the names of queries that name a sub-resource of a bucket or
// an object.
func SubResources() map[string]bool {
	out := map[string]bool{}
	for name := range maps.Keys(ofBuckets) {
		out[name] = true
	}
	for name := range maps.Keys(ofObjects) {
		out[name] = true
	}
	return out
}
