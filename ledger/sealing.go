package ledger

import "errors"

// SealingKeySize is the length of a sealing key in bytes.
const SealingKeySize = 32

// Errors about sealed secrets.
var (
	// ErrSealed is wrapped when a secret cannot be opened because the sealing key that
	// sealed it is not configured.
	ErrSealed = errors.New("secret is sealed with a key that is not configured")
	// ErrNoSealing is wrapped when secrets are to be sealed and no sealing key is
	// configured.
	ErrNoSealing = errors.New("no sealing key is configured")
	// ErrOpens is wrapped when a secret that can be opened is to be dropped as lost.
	ErrOpens = errors.New("the secret can be opened: nothing is lost")
)
