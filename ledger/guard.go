package ledger

// Doubts reports whether the hold is about what lies on the backend: copies that were
// trusted before it may be gone, or others.
func (s BackendHold) Doubts() bool {
	return s.For == HeldForLedger || s.For == HeldForBackend || s.For == HeldForAbsence
}

// ByPerson is what a person stops for a reason, nothing if there is none.
func ByPerson(reason string) BackendHold {
	if reason == "" {
		return BackendHold{}
	}
	return BackendHold{For: HeldByPerson, Reason: reason}
}
