package api

import "time"

// Key is an access key besides the root's, without its secret.
type Key struct {
	ID        string    `json:"id"`
	Owner     string    `json:"owner"`
	Buckets   []string  `json:"buckets"`
	ReadOnly  bool      `json:"read_only"`
	Settings  bool      `json:"settings"` // it may change the settings of these buckets
	CreatedAt time.Time `json:"created_at"`
}

// NewKey is a new key; its secret is returned only once.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// Public returns the key without its secret.
func (k NewKey) Public() any { return k.Key }

// KeyRequest describes a new key for chosen buckets. An empty ID is generated.
type KeyRequest struct {
	ID       string   `json:"id,omitempty"`
	Owner    string   `json:"owner,omitempty"` // account that it acts for; default: its id
	Buckets  []string `json:"buckets"`         // names, * for all, @account for those that it makes or is granted
	ReadOnly bool     `json:"read_only,omitempty"`
	Settings bool     `json:"settings,omitempty"` // it may change the buckets' settings, make and delete them
}

// KeyName names an access key.
type KeyName struct {
	ID string `json:"id"`
}

// SealedKeys is the number of sealed secrets.
type SealedKeys struct {
	Sealed int `json:"sealed"`
}
