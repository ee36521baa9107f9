package ledger

// SealingKeySize is the length of a sealing key in bytes.
const SealingKeySize = 32
