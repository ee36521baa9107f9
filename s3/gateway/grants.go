package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// allBuckets in a key's list stands for every bucket.
const allBuckets = "*"

// An access key is confined in two places that both have to let it pass. Here,
// where the store is touched: every operation names its bucket and whether it
// writes, and a key that does not have the bucket in its list is refused, copy
// sources included. Neither access control lists nor policies widen that, unless
// the list has meta.AccountBuckets: see accounts.go. And in versitygw, which asks
// for the bucket's access control list and policy before each operation: there the
// key's list appears as one more grant, so that an explicit Deny in the policy
// still holds.

// access is what an operation does in its bucket.
type access int

const (
	reading access = iota
	writing        // objects
	setting        // what is said of the bucket or decides on its objects, and the bucket itself
)

// allow refuses what the signer of the request may not do to the bucket.
func (b *Backend) allow(ctx context.Context, req *request, bucket string, what access) error {
	acct, root := account(ctx)
	if err := b.count(req, acct.Access); err != nil {
		return err
	}
	if b.opt.Keys == nil || root {
		return nil
	}
	if acct.Access == "" {
		if public(ctx) {
			return nil
		}
		return s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	key, err := b.accessKey(req, acct.Access)
	if err != nil {
		return err
	}
	switch {
	case !permits(key, bucket) && !(key.Account() && req.decides(bucket)):
		return denied("Access key %s may not use bucket %q. Its buckets are chosen when the key is made.", key.ID, bucket)
	case what != reading && key.ReadOnly:
		return denied("Access key %s may only read.", key.ID)
	case what == setting && !key.Settings && permits(key, bucket):
		return denied("Access key %s was made without the right to change settings of bucket %q, to make or to delete it.", key.ID, bucket)
	}
	return nil
}

// count takes a request from the allowance of its key, once.
func (b *Backend) count(req *request, access string) error {
	if access == "" || req.counted {
		return nil
	}
	req.counted = true
	if _, ok := b.rates.Allow(access); !ok {
		b.opt.Events.Limited("key", access)
		return s3err.GetAPIError(s3err.ErrSlowDown)
	}
	return nil
}

// accessKey looks the restricted key up that signed the request, once.
func (b *Backend) accessKey(req *request, id string) (meta.AccessKey, error) {
	if req.key != nil && req.key.ID == id {
		return *req.key, nil
	}
	ctx, cancel := b.context(req, false)
	defer cancel()
	key, err := b.opt.Keys.AccessKey(ctx, id)
	if errors.Is(err, lethe.ErrNoSuchAccessKey) {
		return meta.AccessKey{}, s3err.GetInvalidAccessKeyIdErr(id)
	}
	if err != nil {
		return meta.AccessKey{}, b.fail(&op{req: req}, fmt.Errorf("s3: look up access key %s: %w", id, err))
	}
	req.key = &key
	return key, nil
}

// permits says that the key's list has the bucket.
func permits(k meta.AccessKey, bucket string) bool {
	return slices.Contains(k.Buckets, bucket) || slices.Contains(k.Buckets, allBuckets)
}

// confined says that a key signed the request which may not use every bucket: what
// other buckets of the owner hold must not show in the time that its puts take.
func (r *request) confined() bool { return r.key != nil && !slices.Contains(r.key.Buckets, allBuckets) }

// grantee returns the restricted key of the request if the bucket is in its
// list.
func (b *Backend) grantee(ctx context.Context, req *request, bucket string) *meta.AccessKey {
	acct, root := account(ctx)
	if b.opt.Keys == nil || root || acct.Access == "" || req.key == nil || !permits(*req.key, bucket) {
		return nil
	}
	return req.key
}

// grantACL adds what the key may do to an access control list.
func grantACL(acl auth.ACL, key *meta.AccessKey) auth.ACL {
	permissions := []auth.Permission{auth.PermissionFullControl}
	if key.ReadOnly {
		permissions = []auth.Permission{auth.PermissionRead, auth.PermissionReadAcp}
	}
	for _, p := range permissions {
		acl.Grantees = append(acl.Grantees, auth.Grantee{Permission: p, Access: key.ID, Type: types.TypeCanonicalUser})
	}
	return acl
}

// keyRule is what the key may do on the bucket, as a statement of its policy: with a
// policy, versitygw does not look at the access control list.
func keyRule(bucket string, key *meta.AccessKey) rule {
	actions := auth.Actions{auth.AllActions: {}}
	if key.ReadOnly {
		actions = auth.Actions{"s3:Get*": {}, "s3:List*": {}}
	}
	return rule{
		allow: true, principals: auth.Principals{key.ID: {}}, actions: actionsOf(actions),
		resources: globs(auth.Resources{bucket: {}, bucket + "/*": {}}),
	}
}
