package ledger

// Doubts reports whether the hold is about the bytes on the backend. Copies that were
// trusted before it may be gone or replaced.
func (s BackendHold) Doubts() bool {
	return s.For == HeldForLedger || s.For == HeldForBackend || s.For == HeldForAbsence
}

// ByPerson returns the hold that a person sets for a reason; the zero hold if there is none.
func ByPerson(reason string) BackendHold {
	if reason == "" {
		return BackendHold{}
	}
	return BackendHold{For: HeldByPerson, Reason: reason}
}
