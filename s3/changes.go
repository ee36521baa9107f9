package s3

import (
	"encoding/json"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
)

// Change describes what a request changed, or tried to change, of what retains,
// expires or exposes objects: a bucket itself, its owner, its documents, its
// lifecycle rules, an object's legal hold or access control list. Before and
// After are keyed by the name of what changed. What did not exist is missing.
type Change struct {
	Before, After map[string]any
}

// Names of what changes, besides the kinds of documents.
const (
	ChangedOwner     = "owner"
	ChangedLifecycle = "lifecycle"
	ChangedLegalHold = "legal_hold"

	ChangedNotifications = "notifications"
)

// ShownDocument returns a document in the form of a Change, nil if there is
// none.
func ShownDocument(doc []byte) any {
	switch {
	case len(doc) == 0:
		return nil
	case json.Valid(doc):
		return json.RawMessage(slices.Clone(doc))
	}
	return string(doc)
}

// ShownRules returns lifecycle rules in the form of a Change, nil if there are
// none.
func ShownRules(r ledger.BucketRules) any {
	if len(r.Rules) == 0 {
		return nil
	}
	doc, err := r.Rules.JSON()
	if err != nil {
		return nil
	}
	return ShownDocument(doc)
}

// ShownGrants returns the grants of an object's own list in the form of a
// Change, nil if there is no such list.
func ShownGrants(list *ledger.ACL) any {
	if list == nil {
		return nil
	}
	return list.Grants
}
