package ledger

import (
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

// ByConfig is the value of BucketRules.By for rules from the configuration. Nothing else may
// change them.
const ByConfig = "config"

// ErrRulesConfigured is returned when the bucket's rules are set in the configuration.
var ErrRulesConfigured = errors.New("lifecycle rules are set in the configuration")

// BucketRules are the lifecycle rules of a bucket, and how far they are applied to its
// objects.
type BucketRules struct {
	Bucket string
	Rules  lifecycle.Rules
	By     string // origin of the rules: ByConfig, "s3", "operator"
	// Reapplication is nil if these rules are applied to every object.
	Reapplication *Reapplication
	Objects       int64 // in the bucket; Reapplication.Seen grows towards it
}

// Reapplication is the progress of reapplying the rules to a bucket's objects.
type Reapplication struct {
	After     string // keys up to this one are done
	Seen      int64  // objects looked at
	Changed   int64  // objects whose end changed
	StartedAt lethe.Time
}

// RulesChange replaces the rules of a bucket; an empty list removes them.
type RulesChange struct {
	Bucket string
	// Into, if set, is the expected bucket: ErrNoSuchBucket if another one has the name.
	Into  lethe.ID
	Rules lifecycle.Rules // complete (lifecycle.Rules.Complete)
	By    string
	// Seen, unless empty, is the digest of the rules to replace (lifecycle.Rules.Digest):
	// ErrPreconditionFailed if the bucket has other rules.
	Seen string
}

// ApplyRules sets when a rule ends the object, and which one. It leaves the client's own
// time to live as it is.
func (o *Object) ApplyRules(rs lifecycle.Rules) {
	s := rs.Stamp(o.Facts())
	o.RuleAt, o.RuleNumber = s.At, s.Rule
	o.NameRule(rs)
}

// Restamped applies the rules, and reports whether that changed the object's end.
func (o *Object) Restamped(rs lifecycle.Rules) bool {
	at, number := o.RuleAt, o.RuleNumber
	o.ApplyRules(rs)
	return o.RuleAt != at || o.RuleNumber != number
}

// Facts returns the properties that rules match.
func (o *Object) Facts() lifecycle.Facts {
	return lifecycle.Facts{Key: o.Key, Tags: o.Tags, Size: o.Size, Modified: o.ModifiedAt}
}

// NameRule sets Rule to the ID of the rule that ends the object. A rule that is no longer in
// force ends nothing.
func (o *Object) NameRule(rs lifecycle.Rules) {
	o.Rule = ""
	if r := rs.InForce(o.RuleNumber); r != nil {
		o.Rule = r.ID
	} else {
		o.RuleAt, o.RuleNumber = 0, 0
	}
}

// Reapplied is the result of one step that reapplies rules.
type Reapplied struct {
	Bucket  string
	Seen    int  // objects looked at
	Changed int  // objects whose end changed
	Done    bool // every object of the bucket carries the current rules
	More    bool // there is more to do, in this bucket or another
}
