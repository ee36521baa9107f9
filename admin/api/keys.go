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
	// DefaultTTL and MaxTTL are times to live ("7d") of what it writes; empty: the bucket's alone.
	DefaultTTL string `json:"default_ttl,omitempty"`
	MaxTTL     string `json:"max_ttl,omitempty"`
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
	// DefaultTTL and MaxTTL are times to live ("7d") of what it writes, or "none".
	DefaultTTL string `json:"default_ttl,omitempty"`
	MaxTTL     string `json:"max_ttl,omitempty"`
}

// KeyChange changes how long objects live that a key writes from then on; what is null stays.
type KeyChange struct {
	ID         string  `json:"id"`
	DefaultTTL *string `json:"default_ttl,omitempty"` // a time to live ("7d"), or "none"
	MaxTTL     *string `json:"max_ttl,omitempty"`     // the longest
}

// KeyName names an access key.
type KeyName struct {
	ID string `json:"id"`
}

// SealedKeys is the number of sealed secrets.
type SealedKeys struct {
	Sealed int `json:"sealed"`
}
