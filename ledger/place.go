package ledger

// Moved begins the reason for which all deletes are held in a ledger that lies in
// another place than it did: one of the two is a copy.
const Moved = "the ledger lies in another place than it did"
