package reclaim

import "github.com/lethe-storage/lethe"

// IsPairingKey reports whether a backend's key is one of the guard's epoch objects:
// the store's own, but no blob.
func IsPairingKey(store lethe.ID, key string) bool { return isEpochKey(store, key) }
