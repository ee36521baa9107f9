package meta

import (
	"context"

	"github.com/lethe-storage/lethe"
)

var updateObject = register(`UPDATE objects SET attrs = ?4, tags = ?5, modified_at = ?6, ttl_at = ?7, rule_at = ?8, rule_no = ?9, due_at = ?10
	WHERE bucket_id = ?1 AND key = ?2 AND id = ?3`)

// Update changes an object in place: ErrNoSuchBucket, ErrNoSuchKey,
// ErrPreconditionFailed, ErrInvalidTTL.
func (db *DB) Update(ctx context.Context, u Update) (o Object, err error) {
	err = db.write(ctx, "update "+u.Bucket+"/"+u.Key, func(t *tx) error {
		o, err = t.update(u)
		return err
	})
	return o, err
}

func (t *tx) update(u Update) (Object, error) {
	b, rules, err := t.ruledBucket(u.Bucket)
	if err != nil {
		return Object{}, err
	}
	o, err := t.holdObject(b, u.Key)
	switch {
	case err != nil:
		return Object{}, err
	case !o.visible(t.now):
		return Object{}, lethe.ErrNoSuchKey
	}
	if err := t.recordOnce(u.Op, "update", o.ID); err != nil {
		return Object{}, err
	}
	if err := u.apply(o, b, t.now); err != nil {
		return Object{}, err
	}
	o.stamp(rules)
	err = t.must(1, lethe.ErrNoSuchKey, updateObject, b.ID, o.Key, o.ID,
		asJSON(o.Attrs), encodeTags(o.Tags), o.ModifiedAt, o.TTLAt,
		o.RuleAt, o.RuleNumber, nullTime(o.DueAt()))
	if err != nil {
		return Object{}, err
	}
	return *o, t.supersede(b.ID, o.Key)
}

// apply makes the object what the update asks for, if its precondition holds.
func (u Update) apply(o *Object, b Bucket, now lethe.Time) (err error) {
	if err := u.If.Holds(o); err != nil {
		return err
	}
	if u.Attrs != nil {
		o.Attrs, o.ModifiedAt = *u.Attrs, now
	}
	if u.ACL != nil {
		o.Attrs.ACL = u.ACL
	}
	if u.Tags != nil {
		if o.Tags = *u.Tags; len(o.Tags) == 0 {
			o.Tags = nil
		}
	}
	if u.TTL != nil {
		o.TTLAt, err = b.ends(now, *u.TTL, 0)
	}
	return err
}
