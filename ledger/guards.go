package ledger

import "github.com/lethe-storage/lethe"

// Of returns the limit on what the guard counts.
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

// Allowance is what a person allows beyond a limit: N more until an instant (any
// number if N is less than 0). The zero one lets the limit count anew from now.
type Allowance struct {
	Kind    GuardKind
	Subject string
	Until   lethe.Time
	N       int64
}
