package reclaim

import "github.com/lethe-storage/lethe"

// IsPactKey reports whether a backend's key is one of the guard's epoch objects:
// the store's own, but no blob.
func IsPactKey(store lethe.ID, key string) bool { return isEpochKey(store, key) }
