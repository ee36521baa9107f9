package ledger

// Clear resets a limit that has tripped.
func (g *Guard) Clear() { g.HeldAt, g.HeldUntil, g.Reason = 0, 0, "" }

// Defers reports whether a tripped limit defers rows: those of its own subject.
func (g Guard) Defers() bool { return g.Kind == GuardRules || g.Kind == GuardTTL }
