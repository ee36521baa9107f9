package ledgertest

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/placement"
)

// ObjectLedger is what objects, the S3 front and its administration need of a ledger
// together.
type ObjectLedger interface {
	object.ObjectLedger
	object.ReadLedger
	object.IntentLedger
	object.CopyLedger
	object.UploadLedger
	object.TrashLedger
	object.BucketLedger
	object.DocumentLedger
	object.RuleLedger
	object.HoldLedger
	// UploadByID: ErrNoSuchUpload.
	UploadByID(ctx context.Context, id lethe.ID) (ledger.Upload, error)
}

// ForObjects returns a ledger in the parts that package object asks for.
func ForObjects(l ObjectLedger) object.Ledger {
	return object.Ledger{
		Buckets: l, Documents: l, Rules: l, Holds: l,
		Objects: l, Reads: l, Intents: l, Copies: l, Uploads: l, Trash: l,
	}
}

// PlacementLedger is what placement needs of a ledger together.
type PlacementLedger interface {
	placement.QueueLedger
	placement.CopyLedger
	placement.BackendLedger
	placement.WalkLedger
	placement.InlineLedger
}

// ForPlacement returns a ledger in the parts that package placement asks for.
func ForPlacement(l PlacementLedger) placement.Ledger {
	return placement.Ledger{Queue: l, Copies: l, Backends: l, Walk: l, Inline: l}
}
