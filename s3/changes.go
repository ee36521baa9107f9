package s3

import (
	"encoding/json"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
)

// Change is what a request has changed, or tried to, of what keeps, ends or opens
// objects: a bucket itself, its owner, its documents, its lifecycle rules, an
// object's legal hold or access control list. Both sides are by the name of what
// changed, as it was read around the change; what was not there is missing.
type Change struct {
	Before, After map[string]any
}

// The names of what changes beside the kinds of documents.
const (
	ChangedOwner     = "owner"
	ChangedLifecycle = "lifecycle"
	ChangedLegalHold = "legal_hold"
)

// ShownDocument returns a document as a Change has it, nil if there is none.
func ShownDocument(doc []byte) any {
	switch {
	case len(doc) == 0:
		return nil
	case json.Valid(doc):
		return json.RawMessage(slices.Clone(doc))
	}
	return string(doc)
}

// ShownRules returns lifecycle rules as a Change has them, nil if there are none.
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

// ShownGrants returns the grants of an object's own list as a Change has them, nil if
// there is no such list.
func ShownGrants(list *ledger.ACL) any {
	if list == nil {
		return nil
	}
	return list.Grants
}
