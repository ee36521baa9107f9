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
	s := rs.Stamp(o.facts())
	switch {
	case o.TTLAt != 0 && (s.Rule == 0 || o.TTLAt <= s.At):
		return Ending{At: o.TTLAt, By: EndsByTTL}
	case s.Rule != 0:
		return Ending{At: s.At, By: EndsByRule, Rule: rs.InForce(s.Rule).ID}
	}
	return Ending{}
}

// Ends returns the end of a trash entry.
func (e *TrashEntry) Ends() Ending { return Ending{At: e.PurgeAt, By: EndsByUndo} }

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
