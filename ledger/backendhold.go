package ledger

import (
	"slices"
	"strings"
)

// RelocatedReason begins the reason for which a relocated ledger holds all deletes: one of the
// two places is a copy.
const RelocatedReason = "the ledger lies in another place than it did"

// Doubts reports whether the hold is about the bytes on the backend. Copies that were
// trusted before it may be gone or replaced.
func (s BackendHold) Doubts() bool {
	return s.For == HeldForLedger || s.For == HeldForBackend || s.For == HeldForAbsence
}

// HeldByPerson returns the hold of the backend once a person holds it for a reason, or, with none,
// releases it. A doubt in the ledger stays one: until a person accepts the backend, everything that
// destroys waits for that, and not only the deletes on it.
func (b Backend) HeldByPerson(reason string) BackendHold {
	switch {
	case reason == "":
		return BackendHold{}
	case b.HeldFor != HeldForLedger:
		return BackendHold{For: HeldByPerson, Reason: reason}
	case slices.Contains(strings.Split(b.Held, "; "), reason):
		return BackendHold{For: HeldForLedger, Reason: b.Held}
	}
	return BackendHold{For: HeldForLedger, Reason: b.Held + "; " + reason}
}
