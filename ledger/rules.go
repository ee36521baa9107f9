package ledger

import (
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

// ByConfig is who set rules that come from the configuration: nobody else may
// change them.
const ByConfig = "config"

// ErrRulesConfigured: the rules of the bucket are set in the configuration.
var ErrRulesConfigured = errors.New("lifecycle rules are set in the configuration")

// BucketRules are the lifecycle rules of a bucket, and how far its objects carry
// their stamps.
type BucketRules struct {
	Bucket string
	Rules  lifecycle.Rules
	By     string // who set them: ByConfig, "s3", "operator"
	// Restamp is nil if every object carries the stamp of these rules.
	Restamp *Restamp
	Objects int64 // in the bucket; Restamp.Seen grows towards it
}

// Restamp is the progress of stamping a bucket's objects anew.
type Restamp struct {
	After     string // keys up to this one are done
	Seen      int64  // objects looked at
	Changed   int64  // objects whose end changed
	StartedAt lethe.Time
}

// RulesChange sets the rules of a bucket; none removes them.
type RulesChange struct {
	Bucket string
	// Into, if set, is the bucket that is meant: ErrNoSuchBucket if another has got the
	// name meanwhile.
	Into  lethe.ID
	Rules lifecycle.Rules // complete (lifecycle.Rules.Complete)
	By    string
	// Seen, unless empty, is the digest of the rules that are to be replaced
	// (lifecycle.Rules.Digest): ErrPreconditionFailed if others are there.
	Seen string
}

// stamp gives the object the end that rules give it, and no other. The client's
// own time to live is not touched.
func (o *Object) ApplyRules(rs lifecycle.Rules) {
	s := rs.Stamp(o.facts())
	o.RuleAt, o.RuleNumber = s.At, s.Rule
	o.NameRule(rs)
}

func (o *Object) facts() lifecycle.Facts {
	return lifecycle.Facts{Key: o.Key, Tags: o.Tags, Size: o.Size, Modified: o.ModifiedAt}
}

// name shows a reader the rule that ends the object. A stamp of a rule that is
// not in force any more is none.
func (o *Object) NameRule(rs lifecycle.Rules) {
	o.Rule = ""
	if r := rs.InForce(o.RuleNumber); r != nil {
		o.Rule = r.ID
	} else {
		o.RuleAt, o.RuleNumber = 0, 0
	}
}
