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
	EndsByIdle  Cause = "idle"  // the time since the object was last read or written
	EndsByRule  Cause = "rule"  // a lifecycle rule
	EndsByUndo  Cause = "undo"  // a trash entry's undo window
	EndsByRoom  Cause = "room"  // its bucket needs room
	EndsByAbort Cause = "abort" // an upload that is abandoned, or that a rule aborts
)

// Ending is when a row goes if nobody acts meanwhile, and by what. Holds and limits may keep
// it longer. The zero value: nothing ends it.
type Ending struct {
	At   lethe.Time // when it is due
	By   Cause
	Rule string // ID of the rule, where one ends it
}

// Ends returns the earlier of the object's own end (its time to live, its last read or its idle
// time) and its end by the rules in force. It reads no stamp, so it also holds for rules that are
// not applied to the object yet. Of two equal ends the object's own counts, as in Expire.
func (o *Object) Ends(rs lifecycle.Rules) Ending {
	e := Ending{At: earliest(o.TTLAt, o.idleDue())}
	e.By, _ = o.stamped(0).itself(e.At)
	if s := rs.Stamp(o.Facts()); s.Rule != 0 && (e.At == 0 || s.At < e.At) {
		return Ending{At: s.At, By: EndsByRule, Rule: rs.InForce(s.Rule).ID}
	}
	return e
}

// EndsAt is Ends as Expire counts it at the instant now: an object that has ended by itself goes
// by that, even if a rule ended it earlier.
func (o *Object) EndsAt(now lethe.Time, rs lifecycle.Rules) Ending {
	e := o.Ends(rs)
	if by, ended := o.stamped(0).itself(now); ended {
		e.By, e.Rule = by, ""
	}
	return e
}

// Stamped is what an object's row says of its end.
type Stamped struct {
	Due, TTL, Idle lethe.Time
	ReadsLeft      int64
}

func (o *Object) stamped(due lethe.Time) Stamped {
	return Stamped{Due: due, TTL: o.TTLAt, Idle: o.IdleAt, ReadsLeft: o.ReadsLeft}
}

// itself returns what has ended an object by itself at the instant: its time to live or its last
// read, else its idle time.
func (s Stamped) itself(now lethe.Time) (Cause, bool) {
	switch {
	case s.TTL != 0 && s.TTL <= now && s.ReadsLeft == AllRead:
		return EndsByRead, true
	case s.TTL != 0 && s.TTL <= now:
		return EndsByTTL, true
	case s.Idle != 0 && s.Idle.Add(IdleGrace) <= now:
		return EndsByIdle, true
	}
	return "", false
}

// EndsItself reports whether the object has ended by itself at the instant, not only by a rule.
func (o *Object) EndsItself(now lethe.Time) bool {
	_, ended := o.stamped(0).itself(now)
	return ended
}

// Ends returns when and by what the object goes, as Expire counts it at the instant now. r is
// the rule of the stamp, nil if it is not in force: then the object goes by itself only, and
// false is returned if it has not ended.
func (s Stamped) Ends(now lethe.Time, r *lifecycle.Rule) (Ending, bool) {
	by, ended := s.itself(max(now, s.Due))
	switch {
	case ended:
		return Ending{At: s.Due, By: by}, true
	case r == nil:
		return Ending{}, false
	}
	return Ending{At: s.Due, By: EndsByRule, Rule: r.ID}, true
}

// Limit returns the kind of the limit that counts what ends so; empty: none does.
func (c Cause) Limit() LimitKind {
	switch c {
	case EndsByTTL, EndsByRead, EndsByIdle:
		return LimitTTL
	case EndsByRule:
		return LimitRules
	case EndsByUndo:
		return LimitPurge
	}
	return ""
}
