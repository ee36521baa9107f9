package gateway

import (
	"encoding/json"
	"slices"

	"github.com/lethe-storage/lethe/meta"
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
	changedOwner     = "owner"
	changedLifecycle = "lifecycle"
	changedLegalHold = "legal_hold"
)

// shown is a document as a note has it, nil if there is none.
func shown(doc []byte) any {
	switch {
	case len(doc) == 0:
		return nil
	case json.Valid(doc):
		return json.RawMessage(slices.Clone(doc))
	}
	return string(doc)
}

func shownRules(r meta.BucketRules) any {
	if len(r.Rules) == 0 {
		return nil
	}
	doc, err := r.Rules.JSON()
	if err != nil {
		return nil
	}
	return shown(doc)
}

func shownGrants(list *meta.ACL) any {
	if list == nil {
		return nil
	}
	return list.Grants
}
