package gateway

import "maps"

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
