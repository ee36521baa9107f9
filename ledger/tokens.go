package ledger

import (
	"errors"

	"github.com/lethe-storage/lethe"
)

// Errors about tokens of the admin API.
var (
	ErrTokenExists = errors.New("a token of that name exists")
	ErrNoSuchToken = errors.New("no such token")
)

// AdminToken is a token of the admin API. The ledger has only its digest, and does not
// interpret its role.
type AdminToken struct {
	ID        string // the public part of the token's text
	Name      string // unique
	Role      string
	Hash      string // hex SHA-256 of the token's text
	CreatedAt lethe.Time
	CreatedBy string
	ExpiresAt lethe.Time // 0: never
	// Expired is set if the token had expired when it was read.
	Expired bool
}
