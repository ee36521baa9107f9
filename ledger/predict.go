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

// Ends returns the end of an object by its own time to live and by the rules in force. It
// reads no stamp, so it is right for rules that are not applied to the object yet. Of equal
// ends the time to live counts, as in Expire.
func (o *Object) Ends(rs lifecycle.Rules) Ending {
	s := rs.Stamp(o.Facts())
	switch {
	case o.TTLAt != 0 && (s.Rule == 0 || o.TTLAt <= s.At):
		return Ending{At: o.TTLAt, By: EndsByTTL}
	case s.Rule != 0:
		return Ending{At: s.At, By: EndsByRule, Rule: rs.InForce(s.Rule).ID}
	}
	return Ending{}
}

// EndsAt is Ends as Expire counts it at the instant now: an object whose time to live has
// passed goes by that, even if a rule ended it earlier.
func (o *Object) EndsAt(now lethe.Time, rs lifecycle.Rules) Ending {
	e := o.Ends(rs)
	if e.By == EndsByRule && o.TTLAt != 0 && o.TTLAt <= now {
		e.By, e.Rule = EndsByTTL, ""
	}
	return e
}

// StampEnds returns when and by what an object with these times in its row goes, as Expire
// counts it at the instant now. r is the rule of the stamp, nil if it is not in force: then
// the object goes by its time to live only, and false is returned if that has not passed.
func StampEnds(now, due, ttl lethe.Time, r *lifecycle.Rule) (Ending, bool) {
	switch {
	case ttl != 0 && ttl <= max(now, due):
		return Ending{At: due, By: EndsByTTL}, true
	case r == nil:
		return Ending{}, false
	}
	return Ending{At: due, By: EndsByRule, Rule: r.ID}, true
}

// Limit returns the kind of the limit that counts what ends so; empty: none does.
func (c Cause) Limit() LimitKind {
	switch c {
	case EndsByTTL:
		return LimitTTL
	case EndsByRule:
		return LimitRules
	case EndsByUndo:
		return LimitPurge
	}
	return ""
}
