package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"
)

const (
	// maxPolicy is how many bytes a policy may have, as on S3. It is parsed while
	// requests wait for it.
	maxPolicy = 20 << 10
	// maxParsed bounds how many policies are kept parsed.
	maxParsed = 1000
)

// parsedPolicy is a bucket's policy as requests need it. It is not changed.
type parsedPolicy struct {
	body    []byte
	version auth.PolicyVersion
	rules   []rule
	public  bool
	err     error // why it cannot be taken apart
}

// parsePolicy takes a policy apart.
func parsePolicy(body []byte) *parsedPolicy {
	p := &parsedPolicy{body: body}
	p.err = p.parse()
	return p
}

func (p *parsedPolicy) parse() error {
	parsed, err := auth.ParsePolicyDocument(p.body)
	if err != nil {
		return err
	}
	p.version, p.public = parsed.Version, isPublic(parsed)
	doc, name, err := statementsOf(p.body)
	if err != nil {
		return err
	}
	var statements []json.RawMessage
	if err := json.Unmarshal(doc[name], &statements); err != nil {
		return err
	}
	if len(statements) != len(parsed.Statement) {
		return errors.New("s3: the policy's statements cannot be told apart")
	}
	for i, s := range parsed.Statement {
		own, err := readRuled(statements[i])
		if err != nil {
			return err
		}
		r := rule{
			allow: s.Effect == auth.BucketPolicyAccessTypeAllow, principals: s.Principals,
			actions: actionsOf(s.Actions), resources: globs(s.Resources), condition: s.Condition, clauses: own.clauses,
		}
		if len(r.clauses) > 0 {
			r.condition = own.rest[own.condition]
		}
		p.rules = append(p.rules, r)
	}
	return nil
}

// statementsOf reads a policy's elements, and by what name its statements stand there.
func statementsOf(policy []byte) (doc map[string]json.RawMessage, name string, err error) {
	if err := json.Unmarshal(policy, &doc); err != nil {
		return nil, "", err
	}
	for n := range doc {
		if !strings.EqualFold(n, "Statement") {
			continue
		}
		if name != "" {
			return nil, "", errors.New("s3: the policy has Statement twice")
		}
		name = n
	}
	return doc, name, nil
}

// policies keeps the parsed form of each bucket's policy for as long as it is the same.
type policies struct {
	parse func([]byte) *parsedPolicy

	mu sync.Mutex
	by map[string]*parsedPolicy
}

// of returns the parsed form of a bucket's policy.
func (p *policies) of(bucket string, body []byte) *parsedPolicy {
	p.mu.Lock()
	have := p.by[bucket]
	p.mu.Unlock()
	if have != nil && bytes.Equal(have.body, body) {
		return have
	}
	have = p.parse(body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.by) >= maxParsed {
		clear(p.by)
	}
	p.by[bucket] = have
	return have
}

// overlong answers for a policy that was stored while there was no bound. It is not
// parsed: nothing is allowed in its bucket until a shorter one is put, or it is
// deleted, by the bucket's owner or root.
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
		// versitygw goes by the list, which lets the owner.
		req.decided = true
		return nil, s3err.GetBucketErr(s3err.ErrNoSuchBucketPolicy, bucket)
	}
	return nil, denied("The policy of bucket %q has %d bytes, and at most %d are read: its owner or root has to put a shorter one, or delete it.",
		bucket, len(policy), maxPolicy)
}

// undecided says that no policy decides on what the account does.
func undecided(ctx context.Context) bool {
	acct, root := account(ctx)
	return root || acct.Role == auth.RoleAdmin
}

// setsPolicy reports whether the request reads, puts or deletes a bucket's policy, and
// can be taken for nothing else.
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
