package ledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

// Cause is what ends an object, a trash entry or an open upload.
type Cause string

// The causes.
const (
	EndsByTTL   Cause = "ttl"   // the object's own time to live
	EndsByRead  Cause = "read"  // the last of the reads that an object may have
	EndsByRule  Cause = "rule"  // a lifecycle rule
	EndsByUndo  Cause = "undo"  // a trash entry's undo window
	EndsByAbort Cause = "abort" // an upload that is abandoned, or that a rule aborts
)

// Ending is when a row goes if nobody acts meanwhile, and by what. Holds and limits may keep
// it longer. The zero value: nothing ends it.
type Ending struct {
	At   lethe.Time // when it is due
	By   Cause
	Rule string // ID of the rule, where one ends it
}

// Ends returns the end of an object by itself, its time to live or its last read, and by the
// rules in force. It reads no stamp, so it is right for rules that are not applied to the object
// yet. Of equal ends that by itself counts, as in Expire.
func (o *Object) Ends(rs lifecycle.Rules) Ending {
	s := rs.Stamp(o.Facts())
	switch {
	case o.TTLAt != 0 && (s.Rule == 0 || o.TTLAt <= s.At):
		return Ending{At: o.TTLAt, By: endsItself(o.ReadsLeft)}
	case s.Rule != 0:
		return Ending{At: s.At, By: EndsByRule, Rule: rs.InForce(s.Rule).ID}
	}
	return Ending{}
}

// EndsAt is Ends as Expire counts it at the instant now: an object whose time to live has
// passed goes by that, or by its last read, even if a rule ended it earlier.
func (o *Object) EndsAt(now lethe.Time, rs lifecycle.Rules) Ending {
	e := o.Ends(rs)
	if e.By == EndsByRule && o.TTLAt != 0 && o.TTLAt <= now {
		e.By, e.Rule = endsItself(o.ReadsLeft), ""
	}
	return e
}

// endsItself returns what the TTLAt of an object with so many reads left is.
func endsItself(readsLeft int64) Cause {
	if readsLeft == AllRead {
		return EndsByRead
	}
	return EndsByTTL
}

// Stamped is what an object's row says of its end.
type Stamped struct {
	Due, TTL  lethe.Time
	ReadsLeft int64
}

// Ends returns when and by what the object goes, as Expire counts it at the instant now. r is
// the rule of the stamp, nil if it is not in force: then the object goes by itself only, and
// false is returned if its time to live has not passed.
func (s Stamped) Ends(now lethe.Time, r *lifecycle.Rule) (Ending, bool) {
	switch {
	case s.TTL != 0 && s.TTL <= max(now, s.Due):
		return Ending{At: s.Due, By: endsItself(s.ReadsLeft)}, true
	case r == nil:
		return Ending{}, false
	}
	return Ending{At: s.Due, By: EndsByRule, Rule: r.ID}, true
}

// Limit returns the kind of the limit that counts what ends so; empty: none does.
func (c Cause) Limit() LimitKind {
	switch c {
	case EndsByTTL, EndsByRead:
		return LimitTTL
	case EndsByRule:
		return LimitRules
	case EndsByUndo:
		return LimitPurge
	}
	return ""
}
