package sqlledger

import (
	"context"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

var updateObject = register(`UPDATE objects SET attrs = ?4, tags = ?5, modified_at = ?6, ttl_at = ?7, rule_at = ?8, rule_no = ?9, due_at = ?10,
		idle_for = ?11, idle_at = ?12, used_at = ?13
	WHERE bucket_id = ?1 AND key = ?2 AND id = ?3`)

// Update changes an object in place: ErrNoSuchBucket, ErrNoSuchKey, ErrPreconditionFailed,
// ErrInvalidTTL; ErrHeld if the object is held and its attributes would change or its end
// come sooner.
func (db *DB) Update(ctx context.Context, u ledger.Update) (o ledger.Object, err error) {
	err = db.write(ctx, "update "+u.Bucket+"/"+u.Key, func(t *tx) error {
		o, err = t.update(u)
		return err
	})
	return o, err
}

func (t *tx) update(u ledger.Update) (ledger.Object, error) {
	b, rules, err := t.lockKey(u.Bucket, u.Key)
	if err == nil {
		err = ledger.CheckBucketID(u.Bucket, b.ID, u.Into)
	}
	if err != nil {
		return ledger.Object{}, err
	}
	o, err := t.lockObject(b, u.Key)
	switch {
	case err != nil:
		return ledger.Object{}, err
	case o == nil:
		return ledger.Object{}, lethe.ErrNoSuchKey
	}
	if err := t.mayUpdate(u, b, o); err != nil {
		return ledger.Object{}, err
	}
	if err := t.recordOnce(u.Op, "update", o.ID); err != nil {
		return ledger.Object{}, err
	}
	was := *o
	if err := u.Apply(o, b, t.Now); err != nil {
		return ledger.Object{}, err
	}
	if u.Shortens(was, *o) {
		if err := t.refuseHeld(b, o.Key); err != nil {
			return ledger.Object{}, err
		}
	}
	o.ApplyRules(rules)
	err = t.Must(1, lethe.ErrNoSuchKey, updateObject, b.ID, o.Key, o.ID,
		sqldb.JSON(o.Attrs), encodeTags(o.Tags), o.ModifiedAt, o.TTLAt,
		o.RuleAt, o.RuleNumber, nullTime(o.DueAt()), micros(o.IdleFor), o.IdleAt, nullTime(o.UsedAt))
	if err != nil {
		return ledger.Object{}, err
	}
	if err := t.supersede(b.ID, o.Key); err != nil {
		return ledger.Object{}, err
	}
	if u.Attrs != nil { // it was copied onto itself
		if err := t.happened(b, notification.Copy, *o, ""); err != nil {
			return ledger.Object{}, err
		}
	}
	return *o, t.recorded()
}

// mayUpdate returns an error unless the object may be changed as asked.
func (t *tx) mayUpdate(u ledger.Update, b ledger.Bucket, o *ledger.Object) error {
	if o.VisibleAt(t.Now) && u.Attrs == nil {
		return nil
	}
	held := t.refuseHeld(b, o.Key)
	if held != nil && !errors.Is(held, lethe.ErrHeld) {
		return held
	}
	return u.Allowed(o, held, t.Now)
}
