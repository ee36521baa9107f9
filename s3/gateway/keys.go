package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/authz"
)

// An access key is confined in two places that both have to allow a request.
// Here, at the store: every operation names its bucket and its kind of access,
// and a key without the bucket in its list is refused, copy sources included.
// Access control lists and policies do not widen that, unless the list has
// ledger.AccountBuckets: see accounts.go. And in versitygw, which reads the
// bucket's access control list and policy before each operation: there the
// key's list appears as one more grant, so that an explicit Deny of the policy
// still holds.

// allow refuses what the signer of the request may not do to the bucket.
func (b *Backend) allow(ctx context.Context, req *request, bucket string, what authz.Access) error {
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
	if err := authz.KeyMay(key, bucket, req.decides(bucket), what); err != nil {
		return b.fail(&op{req: req, names: names{bucket: bucket}}, err)
	}
	return nil
}

// count takes a request from the rate limit of its key, once.
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

// accessKey looks up the restricted key that signed the request, once.
func (b *Backend) accessKey(req *request, id string) (ledger.AccessKey, error) {
	if req.key != nil && req.key.ID == id {
		return *req.key, nil
	}
	ctx, cancel := b.context(req, false)
	defer cancel()
	key, err := b.opt.Keys.AccessKey(ctx, id)
	if errors.Is(err, lethe.ErrNoSuchAccessKey) {
		return ledger.AccessKey{}, s3err.GetInvalidAccessKeyIdErr(id)
	}
	if err != nil {
		return ledger.AccessKey{}, b.fail(&op{req: req}, fmt.Errorf("s3: look up access key %s: %w", id, err))
	}
	req.key = &key
	return key, nil
}

// confined reports whether the signing key is restricted to some buckets, or
// nobody signed: the time that its puts take must not reveal what other buckets
// of the owner contain.
func (r *request) confined(ctx context.Context) bool {
	if r.key == nil {
		acct, _ := account(ctx)
		return acct.Access == ""
	}
	return !slices.Contains(r.key.Buckets, authz.AllBuckets)
}

// keyTTL is how long objects live that the signing key writes.
func (r *request) keyTTL() ledger.KeyTTL {
	if r.key == nil {
		return ledger.KeyTTL{}
	}
	return r.key.TTL()
}

// grantee returns the restricted key of the request if the bucket is in its
// list.
func (b *Backend) grantee(ctx context.Context, req *request, bucket string) *ledger.AccessKey {
	acct, root := account(ctx)
	if b.opt.Keys == nil || root || acct.Access == "" || req.key == nil || !authz.Permits(*req.key, bucket) {
		return nil
	}
	return req.key
}
