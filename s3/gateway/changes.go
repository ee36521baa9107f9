package gateway

import (
	"slices"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// changes records the state before a change, once a request is authorised. Of
// repeated changes to one thing the first state is kept.
func (r *request) changes(name string, before any) {
	if r.event.Change == nil {
		r.event.Change = &s3.Change{Before: map[string]any{}, After: map[string]any{}}
	}
	c := r.event.Change
	if _, noted := c.Before[name]; !noted && before != nil {
		c.Before[name] = before
	}
	if now, there := c.Before[name]; there {
		c.After[name] = now // until it is done
	}
}

// changed records the state after a change; nil means deleted.
func (r *request) changed(name string, after any) {
	if after == nil {
		delete(r.event.Change.After, name)
		return
	}
	r.event.Change.After[name] = after
}

// changesDocument records a document of a bucket before a change.
func (b *Backend) changesDocument(o *op, kind string) {
	// An unreadable one is not shown; the change itself returns the error.
	before, _ := b.store.Documents.Document(o.ctx, o.names.bucket, kind)
	o.req.changes(kind, s3.ShownDocument(before))
}

// changesBucket records a bucket before it is deleted or changes its owner.
func (b *Backend) changesBucket(o *op) {
	var owner any
	if was, err := b.store.Buckets.Bucket(o.ctx, o.names.bucket); err == nil {
		owner = was.Owner
	}
	o.req.changes(s3.ChangedOwner, owner)
}

// setRules replaces the lifecycle rules of a bucket.
func (b *Backend) setRules(o *op, c ledger.RulesChange) error {
	var before any
	if was, err := b.store.Rules.Rules(o.ctx, c.Bucket); err == nil {
		before = s3.ShownRules(was)
	}
	o.req.changes(s3.ChangedLifecycle, before)
	now, err := b.store.Rules.SetRules(o.ctx, c)
	if err == nil {
		o.req.changed(s3.ChangedLifecycle, s3.ShownRules(now))
	}
	return err
}

// legalHold reports whether the key of an operation has a legal hold.
func (b *Backend) legalHold(o *op) (bool, error) {
	holds, err := b.store.Holds.HoldsOn(o.ctx, o.names.bucket, o.names.key)
	if err == nil {
		err = b.stillMeant(o)
	}
	return slices.ContainsFunc(holds, func(h ledger.Hold) bool { return h.Scope == ledger.HoldLegal }), err
}

// setObjectList replaces the access control list of an object.
func (b *Backend) setObjectList(o *op, list *ledger.ACL) error {
	was, err := b.store.Objects.Head(o.ctx, o.at())
	if err != nil {
		return err
	}
	o.req.changes(s3.KindACL, s3.ShownGrants(was.Attrs.ACL))
	if err = b.update(o, ledger.Update{If: ledger.Precondition{IfID: was.ID}, ACL: list}); err == nil {
		o.req.changed(s3.KindACL, s3.ShownGrants(list))
	}
	return err
}
