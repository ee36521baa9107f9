package ledger

// Moved begins the reason for which a relocated ledger holds all deletes: one of the two
// places is a copy.
const Moved = "the ledger lies in another place than it did"
