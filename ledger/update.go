package ledger

import "github.com/lethe-storage/lethe"

// sooner reports whether the update ends the object before its time.
func (u Update) Shortens(was, is lethe.Time) bool {
	return u.TTL != nil && is != 0 && (was == 0 || is < was)
}

// Apply makes the object what the update asks for, if its precondition holds.
func (u Update) Apply(o *Object, b Bucket, now lethe.Time) (err error) {
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
		o.TTLAt, err = b.EndOf(now, *u.TTL, 0)
	}
	return err
}
