package ledger

import (
	"fmt"
	"reflect"
	"time"

	"github.com/lethe-storage/lethe"
)

// Update changes an object in place without its content. Nil fields stay as they are.
// ModifiedAt changes only if Attrs is set. ACL replaces the one in Attrs.
type Update struct {
	Op     lethe.ID
	Bucket string
	Into   lethe.ID // as in Document
	Key    string
	If     Precondition
	Marks  Marks // of the object now: ErrPreconditionFailed unless it has them
	Attrs  *Attrs
	ACL    *ACL
	Tags   *map[string]string
	TTL    *TTLChange
	Idle   *IdleChange
}

// Marks are what of an object a decision was made by. The zero value is on every object.
type Marks struct {
	Tags map[string]*string // by their names; nil: the object has no such tag
	// Listed: ACL is the object's list, nil for none. Else its list does not matter.
	Listed bool
	ACL    *ACL
}

// On reports whether the object has the marks.
func (m Marks) On(o Object) bool {
	for name, want := range m.Tags {
		if value, has := o.Tags[name]; has != (want != nil) || has && value != *want {
			return false
		}
	}
	return !m.Listed || reflect.DeepEqual(m.ACL, o.Attrs.ACL)
}

// IdleChange sets a new idle time, counted from the transaction's now; 0: none, within the
// bucket's longest.
type IdleChange struct {
	Idle time.Duration
	// AsNew: with no time the bucket's default applies, as to a new object.
	AsNew bool
}

// TTLChange sets a new time to live: relative to the transaction's now, or absolute, or none
// if both are zero. The maximum of the bucket applies, and that of the access key, if any.
type TTLChange struct {
	TTL   time.Duration
	At    lethe.Time
	ByKey KeyTTL // of the access key that writes
	// AsNew: with neither time the defaults apply, as to a new object.
	AsNew bool
}

// Shortens reports whether the update moves an end of the object forward to an earlier time.
func (u Update) Shortens(was, is Object) bool {
	sooner := func(was, is lethe.Time) bool { return is != 0 && (was == 0 || is < was) }
	return u.TTL != nil && sooner(was.TTLAt, is.TTLAt) || u.Idle != nil && sooner(was.IdleAt, is.IdleAt)
}

// Allowed returns an error unless the object may be changed so. An expired object is absent,
// unless a hold keeps it (held is why): a new time to live makes it visible again, though
// not one that was read for the last time. What
// clients sent with the object is part of it, and held with it.
func (u Update) Allowed(o *Object, held error, now lethe.Time) error {
	switch {
	case !o.VisibleAt(now) && (held == nil || u.TTL == nil && u.Idle == nil || o.ReadsLeft == AllRead):
		return lethe.ErrNoSuchKey
	case u.Attrs != nil:
		return held
	}
	return nil
}

// Apply applies the update to the object, if its precondition holds. ErrInvalidTTL if the
// object is over, and would stay so by its other end.
func (u Update) Apply(o *Object, b Bucket, now lethe.Time) (err error) {
	over := !o.VisibleAt(now)
	if err := u.If.Holds(o); err != nil {
		return err
	}
	if !u.Marks.On(*o) {
		return fmt.Errorf("the object has other tags or another list: %w", lethe.ErrPreconditionFailed)
	}
	if u.Attrs != nil {
		key := o.Attrs.EndKey
		o.Attrs, o.ModifiedAt = *u.Attrs, now
		o.Attrs.EndKey = key
		if b.Evict.On() {
			o.UsedAt = now
		}
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
		byDefault := time.Duration(0)
		if u.TTL.AsNew {
			byDefault = b.DefaultTTL
		}
		o.Attrs.EndKey = b.GivenBy(*u.TTL, byDefault)
		o.TTLAt, err = b.EndOf(now, *u.TTL, byDefault)
	}
	if u.Idle != nil && err == nil {
		byDefault := time.Duration(0)
		if u.Idle.AsNew {
			byDefault = b.DefaultIdle
		}
		o.IdleFor, err = b.EndsIdle(u.Idle.Idle, byDefault)
		o.Use(b.BucketSettings, now)
	}
	if over && err == nil && !o.VisibleAt(now) {
		return fmt.Errorf("it has ended by its time to live and by its idle time: change both: %w", lethe.ErrInvalidTTL)
	}
	return err
}
