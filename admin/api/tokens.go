package api

import "time"

// Token is a token of this API, without its text.
type Token struct {
	Name      string    `json:"name"`
	Role      Role      `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Expired   bool      `json:"expired,omitempty"`
}

// NewToken is a new token; its text is returned only once.
type NewToken struct {
	Token
	Text string `json:"token"`
}

// Public returns the token without its text.
func (k NewToken) Public() any { return k.Token }

// TokenRequest describes a new token.
type TokenRequest struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// TTL is how long it is valid ("12h", "90d"); empty if it does not expire.
	TTL string `json:"ttl,omitempty"`
}

// TokenName names a token.
type TokenName struct {
	Name string `json:"name"`
}

// Caller is the authenticated caller.
type Caller struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}
