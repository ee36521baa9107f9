package reclaim

import "github.com/lethe-storage/lethe"

// IsPactKey says that a backend's key is one of the guard's epoch objects: ours,
// though no blob.
func IsPactKey(store lethe.ID, key string) bool { return isEpochKey(store, key) }
