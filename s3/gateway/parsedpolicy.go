package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3/authz"
)

// parsePolicy parses a policy.
func parsePolicy(body []byte) *authz.Policy {
	p := &authz.Policy{Body: body}
	p.Err = readPolicy(p)
	return p
}

func readPolicy(p *authz.Policy) error {
	parsed, err := auth.ParsePolicyDocument(p.Body)
	if err != nil {
		return err
	}
	p.Version = string(parsed.Version)
	statements, err := authz.Statements(p.Body)
	if err != nil {
		return err
	}
	if len(statements) != len(parsed.Statement) {
		return errors.New("s3: the policy's statements cannot be told apart")
	}
	for i, s := range parsed.Statement {
		own, err := authz.ReadStatement(statements[i])
		if err != nil {
			return err
		}
		r := authz.PolicyStatement{
			Allow: s.Effect == auth.BucketPolicyAccessTypeAllow, Principals: s.Principals,
			Actions:   authz.ActionsThat(func(a authz.Action) bool { return s.Actions.FindMatch(auth.Action(a)) }),
			Condition: s.Condition, Clauses: own.Clauses,
		}
		for resource := range s.Resources {
			r.Resources = append(r.Resources, authz.PatternOf(resource))
		}
		if len(r.Clauses) > 0 {
			r.Condition = own.Condition()
		}
		p.Statements = append(p.Statements, r)
	}
	return nil
}

// overlong handles a policy that was stored before there was a bound. It is not
// parsed: nothing is allowed in its bucket until the bucket's owner or root
// replaces or deletes it.
func (b *Backend) overlong(ctx context.Context, bucket string, policy []byte) ([]byte, error) {
	req := requestOf(ctx)
	if undecided(ctx) || req.policyRead && req.decided {
		return policy, nil
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if acct, _ := account(ctx); acct.Access != "" && acct.Access == owner && req.setsPolicy() {
		// versitygw evaluates the list, which allows the owner.
		req.decided = true
		return nil, s3err.GetBucketErr(s3err.ErrNoSuchBucketPolicy, bucket)
	}
	return nil, denied("The policy of bucket %q has %d bytes, and at most %d are read: its owner or root has to put a shorter one, or delete it.",
		bucket, len(policy), authz.MaxPolicy)
}

// undecided reports whether no policy decides on the account's request.
func undecided(ctx context.Context) bool {
	acct, root := account(ctx)
	return root || acct.Role == auth.RoleAdmin
}

// setsPolicy reports whether the request reads, puts or deletes a bucket's
// policy, and cannot be taken for another operation.
func (r *request) setsPolicy() bool {
	if r.web == nil || r.event.Key != "" || r.event.Method == http.MethodPost {
		return false
	}
	var names []string
	for name := range r.web.Request().URI().QueryArgs().All() {
		if n := strings.ToLower(string(name)); !strings.HasPrefix(n, "x-amz-") && n != "x-id" {
			names = append(names, n)
		}
	}
	return slices.Equal(names, []string{"policy"})
}
