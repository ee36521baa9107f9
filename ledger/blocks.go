package ledger

// SumsPerRow is how many sums a row of blocks holds. A row of 512 bytes fits into a page of
// either database. Reading a few sums of a large blob reads one row.
const SumsPerRow = 128
