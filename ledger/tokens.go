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

// AdminToken is a token of the admin API. The ledger knows its digest only, and
// gives no meaning to its role.
type AdminToken struct {
	ID        string // the public part of its text
	Name      string // unique
	Role      string
	Hash      string // hex SHA-256 of its text
	CreatedAt lethe.Time
	CreatedBy string
	ExpiresAt lethe.Time // 0: never
	// Expired reports whether it was past its time when it was read.
	Expired bool
}
