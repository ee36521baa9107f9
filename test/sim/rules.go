package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// The methods that lifecycle rules need.

func (s *seam) SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error) {
	return write(s, "set-rules", fmt.Sprint(c.Bucket, len(c.Rules)), scope{alone: c.Bucket}, func() (ledger.BucketRules, error) {
		op := lethe.ID(fmt.Sprint("rules-", len(s.w.oracle.byOp))) // a zombie that wakes is no effect of its own
		s.w.oracle.wants(op, nil)
		out, err := s.in.SetRules(s.lasting(ctx), c)
		s.w.oracle.applied(op, err)
		if err == nil {
			s.w.oracle.rules[c.Bucket] = out.Rules
		}
		return out, err
	})
}

func (s *seam) Rules(ctx context.Context, bucket string) (ledger.BucketRules, error) {
	return s.in.Rules(ctx, bucket)
}

func (s *seam) RuledBuckets(ctx context.Context) ([]ledger.BucketRules, error) {
	return s.in.RuledBuckets(ctx)
}

func (s *seam) ReapplyRules(ctx context.Context, limit int) (ledger.Reapplied, error) {
	return write(s, "reapply", fmt.Sprint(limit), scope{}, func() (ledger.Reapplied, error) { return s.in.ReapplyRules(s.lasting(ctx), limit) })
}

func (s *seam) ReapplyBacklog(ctx context.Context) (ledger.Backlog, error) {
	return s.in.ReapplyBacklog(ctx)
}

func (s *seam) RuledUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	return read(s, "ruled-uploads", "", func() ([]ledger.OverdueUpload, error) { return s.in.RuledUploads(ctx, q) })
}

func (s *seam) AbortRuled(ctx context.Context, id lethe.ID) (string, error) {
	return write(s, "abort-ruled", string(id), scope{}, func() (string, error) {
		allowed := s.w.oracle.givesUp(id)
		rule, err := s.in.AbortRuled(s.lasting(ctx), id)
		if err == nil && !allowed {
			s.w.fail(broken("upload %s was given up by the rule %q, which does not say so", id, rule))
		}
		return rule, err
	})
}

// drawRules draws rules of which some end what is written now at once, some
// after a day or more, and some do not work.
func drawRules(r *rand.Rand, begin lethe.Time) (rs lifecycle.Rules) {
	for _, rule := range []lifecycle.Rule{
		{ID: "one", Prefix: pick(r, []string{"a", "c"}), Date: begin},
		{ID: "two", Tags: map[string]string{"t": "x"}, Date: begin},
		{ID: "three", Prefix: "ü", Days: 1},
		{ID: "four", Prefix: "c", Date: begin.Add(24 * time.Hour)},
		{ID: "five", AbortDays: 1},
	} {
		if r.IntN(3) == 0 || rule.AbortDays > 0 && r.IntN(2) == 0 {
			rule.Disabled = r.IntN(5) == 0
			rs = append(rs, rule)
		}
	}
	return rs
}

// makeRules changes the rules of a bucket, now and then to none.
func makeRules(r *rand.Rand, op *operation) func(*actor, *operation) error {
	seed := r.Uint64()
	return func(a *actor, op *operation) error {
		rules := drawRules(rand.New(rand.NewPCG(seed, 0)), a.w.begin)
		_, err := a.proc.node.objects.SetRules(context.Background(), ledger.RulesChange{Bucket: op.at.bucket, Rules: rules, By: "operator"})
		return err
	}
}

// leave is an upload that is left lying, or a rule that may end it.
func (s *script) leave(number int) {
	op := &operation{kind: "multipart", number: number, at: place{"plain", pick(s.rng, keyNames)}}
	do := makeMultipart
	if s.rng.IntN(3) == 0 {
		op.kind, do = "rules", makeRules
	}
	s.do = append(s.do, do(s.rng, op))
	s.ops = append(s.ops, op)
}

// makeRetag gives an object a tag that a rule may be about, or takes it away.
func makeRetag(r *rand.Rand, _ *operation) func(*actor, *operation) error {
	tags := map[string]string{}
	if r.IntN(2) == 0 {
		tags["t"] = "x"
	}
	return func(a *actor, op *operation) error {
		_, err := a.proc.node.objects.Update(context.Background(), ledger.Update{Bucket: op.at.bucket, Key: op.at.key, Tags: &tags})
		return err
	}
}

// ended says that an object's own time has passed, or that a rule which is in
// force at this very moment ends it.
func (o *oracle) ended(x ledger.Object) bool {
	s := o.stamp(x)
	return x.TTLAt != 0 && x.TTLAt <= o.w.now || idleOver(x, o.w.now) || s.Rule != 0 && s.At <= o.w.now
}

// stamp is what the rules in force say of an object.
func (o *oracle) stamp(x ledger.Object) lifecycle.Stamp {
	return o.rules[x.Bucket].Stamp(lifecycle.Facts{Key: x.Key, Tags: x.Tags, Size: x.Size, Modified: x.ModifiedAt})
}

// givesUp says that a rule in force gives an upload up now.
func (o *oracle) givesUp(id lethe.ID) bool {
	for _, u := range o.view.Uploads {
		if u.ID == id {
			rule, at := o.rules[u.Bucket].Aborts(u.Key, u.CreatedAt)
			return rule != nil && at <= o.w.now
		}
	}
	return false
}

// stamped holds every change of a row against the rules: what a client writes or
// retags carries the stamp of the rules in force, and the engine touches nothing
// of a row that stays but its stamp.
func (o *oracle) stamped(before View, step Step, sc scope, err error) error {
	was, is := byPlace(before.Objects), byPlace(o.view.Objects)
	for _, key := range sc.keys {
		at := place{sc.bucket, key}
		now, there := is[at]
		if !there || err != nil || step == "delete" {
			continue
		}
		if s := o.stamp(now); s.At != now.RuleAt || s.Rule != now.RuleNumber {
			return broken("%v was written with the end %s by rule %d, its rules say %s by rule %d", at, now.RuleAt, now.RuleNumber, s.At, s.Rule)
		}
	}
	if step != "reapply" && step != "expire" {
		return nil
	}
	for at, now := range is {
		old := was[at]
		if old.ID == now.ID && (old.TTLAt != now.TTLAt || old.ModifiedAt != now.ModifiedAt || len(old.Tags) != len(now.Tags)) {
			return broken("%v: the client's own time %s became %s", at, old.TTLAt, now.TTLAt)
		}
	}
	return nil
}

// ruled: at the end all that the rules in force say is done, and no stamp is left
// of another.
func (o *oracle) ruled() error {
	for _, x := range o.view.Objects {
		if o.ended(x) {
			return broken("%s/%s is over by the rules in force and is still there", x.Bucket, x.Key)
		}
		if s := o.stamp(x); s.At != x.RuleAt || s.Rule != x.RuleNumber {
			return broken("%s/%s carries the end %s by rule %d, its rules say %s by rule %d", x.Bucket, x.Key, x.RuleAt, x.RuleNumber, s.At, s.Rule)
		}
	}
	left, err := o.w.ledger.ReapplyBacklog(context.Background())
	if err == nil && left.Count != 0 {
		err = broken("objects wait to be stamped anew for ever")
	}
	return err
}
