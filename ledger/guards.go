package ledger

import "github.com/lethe-storage/lethe"

// Of returns the limit for a kind of deletion.
func (l Limits) Of(k GuardKind) Limit {
	switch k {
	case GuardRules:
		return l.Rules
	case GuardTTL:
		return l.TTL
	case GuardPurge:
		return l.Purge
	case GuardDeletes:
		return l.Deletes
	}
	return Limit{}
}

// Allowance is what a person allows beyond a limit: N more until an instant (any number if N
// is negative). The zero value restarts the limit's count now.
type Allowance struct {
	Kind    GuardKind
	Subject string
	Until   lethe.Time
	N       int64
}
