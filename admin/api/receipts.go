package api

import (
	"time"

	"github.com/lethe-storage/lethe/receipt"
)

// ReceiptRequest selects a page of receipts: of a segment of the chain, and at
// its end the unsealed ones.
type ReceiptRequest struct {
	After  int64     `json:"after,omitempty"`  // the Next of the page before
	Batch  int64     `json:"batch,omitempty"`  // the NextBatch of the page before
	Bucket string    `json:"bucket,omitempty"` // only receipts of objects of this bucket
	Since  time.Time `json:"since,omitzero"`   // only of what went at or after it
}

// ReceiptPage is receipts of one segment.
type ReceiptPage struct {
	Receipts []receipt.Receipt `json:"receipts"`
	// Seal covers them, filtered out ones included; nil if they are unsealed.
	Seal *receipt.Seal `json:"seal,omitempty"`
	// Next and NextBatch select the next page; both are 0 on the last.
	Next      int64 `json:"next,omitempty"`
	NextBatch int64 `json:"next_batch,omitempty"`
}

// ChainRequest may have a head of the chain that was recorded elsewhere.
type ChainRequest struct {
	Seq  int64  `json:"seq,omitempty"`
	Hash string `json:"hash,omitempty"`
}

// Chain is the result of verifying the chain of receipts.
type Chain struct {
	Segments int64        `json:"segments"`
	Receipts int64        `json:"receipts"`
	Unsealed int64        `json:"unsealed"` // not covered yet
	Head     receipt.Head `json:"head"`
	// DroppedUntil is the time until which receipts were dropped by their age.
	DroppedUntil time.Time `json:"dropped_until,omitzero"`
	// Broken is where the chain is invalid, empty if it is valid.
	Broken string `json:"broken,omitempty"`
	At     int64  `json:"at,omitempty"` // the seal at which it does not
}
