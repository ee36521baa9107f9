package ledger

// end makes a guard one that stops nothing.
func (g *Guard) Clear() { g.HeldAt, g.HeldUntil, g.Reason = 0, 0, "" }

// parks reports whether a guard parks what it stops: what is its subject's own.
func (g Guard) Defers() bool { return g.Kind == GuardRules || g.Kind == GuardTTL }
