package api

// ImportRequest selects the foreign keys of a backend that become objects, and
// their names.
type ImportRequest struct {
	Backend string `json:"backend"`
	Prefix  string `json:"prefix,omitempty"` // of the foreign keys; empty: all
	Bucket  string `json:"bucket"`           // into which; it has to exist
	// Strip is removed from the beginning of each key, and has to be the
	// beginning of prefix; then add is put before it.
	Strip string `json:"strip,omitempty"`
	Add   string `json:"add,omitempty"`
	TTL   string `json:"ttl,omitempty"` // of the objects; empty: the bucket's
}

// ImportResult is the outcome of foreign keys: imported, already (the object
// exists with these bytes), conflict (another object has the key, and stays),
// refused, gone, changed, failed.
type ImportResult struct {
	Keys   map[string]int64 `json:"keys"`
	Bytes  int64            `json:"bytes"`            // imported
	Shared int64            `json:"shared,omitempty"` // of those: bytes that were there already, as another object's
}
