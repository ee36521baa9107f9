package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
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

// changes begins the note of a change, once a request is let in; a request that
// changes one thing more than once has what was there first.
func (r *request) changes(name string, before any) {
	if r.event.Change == nil {
		r.event.Change = &Change{Before: map[string]any{}, After: map[string]any{}}
	}
	c := r.event.Change
	if _, noted := c.Before[name]; !noted && before != nil {
		c.Before[name] = before
	}
	if now, there := c.Before[name]; there {
		c.After[name] = now // until it is done
	}
}

// changed notes what is there now; nil: it is gone.
func (r *request) changed(name string, after any) {
	if after == nil {
		delete(r.event.Change.After, name)
		return
	}
	r.event.Change.After[name] = after
}

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

// changesDocument notes that a document of a bucket is about to change.
func (b *Backend) changesDocument(o *op, kind string) {
	// One that cannot be read is not shown; the change itself will say why.
	before, _ := b.store.Document(o.ctx, o.names.bucket, kind)
	o.req.changes(kind, shown(before))
}

// changesBucket notes that a bucket is about to go, or to get another owner.
func (b *Backend) changesBucket(o *op) {
	var owner any
	if was, err := b.store.Bucket(o.ctx, o.names.bucket); err == nil {
		owner = was.Owner
	}
	o.req.changes(changedOwner, owner)
}

// setRules replaces the lifecycle rules of a bucket.
func (b *Backend) setRules(o *op, c meta.RulesChange) error {
	var before any
	if was, err := b.store.Rules(o.ctx, c.Bucket); err == nil {
		before = shownRules(was)
	}
	o.req.changes(changedLifecycle, before)
	now, err := b.store.SetRules(o.ctx, c)
	if err == nil {
		o.req.changed(changedLifecycle, shownRules(now))
	}
	return err
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

// legalHold says whether a key has a legal hold.
func (b *Backend) legalHold(ctx context.Context, bucket, key string) (bool, error) {
	holds, err := b.store.HoldsOn(ctx, bucket, key)
	return slices.ContainsFunc(holds, func(h meta.Hold) bool { return h.Scope == meta.HoldLegal }), err
}

// setObjectList replaces the access control list of an object.
func (b *Backend) setObjectList(o *op, list *meta.ACL) error {
	at := object.GetRequest{Bucket: o.names.bucket, Key: o.names.key}
	was, err := b.store.Head(o.ctx, at)
	if err != nil {
		return err
	}
	o.req.changes(kindACL, shownGrants(was.Attrs.ACL))
	_, err = b.store.Update(o.ctx, meta.Update{Bucket: at.Bucket, Key: at.Key, ACL: list})
	if err == nil {
		o.req.changed(kindACL, shownGrants(list))
	}
	return err
}

func shownGrants(list *meta.ACL) any {
	if list == nil {
		return nil
	}
	return list.Grants
}
