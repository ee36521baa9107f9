package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/authz"
)

// A key whose list has ledger.AccountBuckets is an account. It creates buckets
// of any free name, owns them, and may use what access control lists and
// policies of other buckets grant to its id. In buckets outside its list only
// versitygw decides, by the bucket's list and policy. At the store the backend
// checks that versitygw decided on that very bucket, so that a bucket name that
// it parsed otherwise is refused.

// decide records that versitygw decides on the request in a bucket.
func (r *request) decide(bucket string) {
	if !slices.Contains(r.deciding, bucket) {
		r.deciding = append(r.deciding, bucket)
	}
}

// decides reports whether versitygw decides on the request in a bucket.
func (r *request) decides(bucket string) bool { return slices.Contains(r.deciding, bucket) }

// means records a bucket whose documents decide on the request. All of them, and
// what is done then, are of one bucket: the name may go to another owner at any
// time, and cached documents may be those of a bucket that is gone.
func (r *request) means(bucket string, id lethe.ID) error {
	if r.meant == nil {
		r.meant = map[string]lethe.ID{}
	}
	if r.meant[bucket] == "" {
		r.meant[bucket] = id
	}
	return ledger.CheckBucketID(bucket, id, r.meant[bucket])
}

// decidedOn returns the bucket for which a request was authorised by that
// bucket itself. A key with the name in its list may use any bucket of the
// name.
func (b *Backend) decidedOn(ctx context.Context, req *request, bucket string) lethe.ID {
	if _, root := account(ctx); root || b.grantee(ctx, req, bucket) != nil {
		return ""
	}
	return req.meant[bucket]
}

// setsBucket reports whether the request changes a bucket's documents.
func (r *request) setsBucket() bool {
	return r.event.Key == "" && (r.event.Method == http.MethodPut || r.event.Method == http.MethodDelete)
}

// isAccount reports whether an account's key signed the request.
func (b *Backend) isAccount(req *request) bool {
	return b.opt.Keys == nil || (req.key != nil && req.key.Account())
}

// owner returns the account that a bucket made by the request belongs to.
func (b *Backend) owner(req *request, acct auth.Account) string {
	if b.opt.Keys == nil || req.key == nil || req.key.Owner == "" {
		return acct.Access
	}
	return req.key.Owner
}

// newList returns the list of a new bucket: as versitygw builds it, or, where
// versitygw refused the requested list, that one for the bucket's owner. Grants
// without effect are refused.
func (b *Backend) newList(ctx context.Context, made []byte, owner string) ([]byte, error) {
	list, err := parseList(made)
	if w := requestOf(ctx).wish; w != nil {
		list, err = wishedList(*w, owner)
	}
	if err != nil || list.Owner == "" {
		return slices.Clone(made), err
	}
	for i, g := range list.Grants {
		if g.Account == list.Owner {
			list.Grants[i].Account = owner
		}
	}
	list.Owner = owner
	if err := b.holdable(ctx, list.GroupsFirst(), owner); err != nil {
		return nil, err
	}
	return writeList(list)
}

// policyGrantee returns the key of the request if it owns the bucket or has it
// in its list: unless the policy denies it, the key keeps its rights.
func (b *Backend) policyGrantee(ctx context.Context, req *request, bucket string) (*ledger.AccessKey, error) {
	if key := b.grantee(ctx, req, bucket); key != nil {
		return key, nil
	}
	acct, root := account(ctx)
	if b.opt.Keys == nil || root || acct.Access == "" || !b.isAccount(req) {
		return nil, nil
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err != nil || owner != req.key.ID {
		return nil, err
	}
	return req.key, nil
}

// grantable refuses grants to keys that are not accounts: they are confined to
// their lists.
func (b *Backend) grantable(ctx context.Context, ids []string) error {
	if b.opt.Keys == nil {
		return nil
	}
	own, cancel := b.context(requestOf(ctx), false)
	defer cancel()
	for _, id := range ids {
		key, err := b.opt.Keys.AccessKey(own, id)
		switch {
		case errors.Is(err, lethe.ErrNoSuchAccessKey):
			// The root is not a key of the ledger.
		case err != nil:
			return b.fail(&op{req: requestOf(ctx)}, err)
		case !key.Account():
			return s3err.APIError{
				Code: "NotImplemented", HTTPStatusCode: http.StatusNotImplemented,
				Description: "Access key " + key.ID + " may use the buckets that were chosen when it was made, and an access control list cannot widen that: " +
					"grant to " + authz.AllUsers + ", make a key for the bucket, or one for " + ledger.AccountBuckets + ", which can be granted something.",
			}
		}
	}
	return nil
}

// ofAccount lists the buckets that an account owns or that are in its key's list.
func (b *Backend) ofAccount(o *op, q ledger.BucketQuery, key ledger.AccessKey) ([]ledger.Bucket, error) {
	listed, err := b.chosen(o, q, key.Buckets)
	if err != nil {
		return nil, err
	}
	q.Owner = key.ID
	out, err := b.store.Buckets.Buckets(o.ctx, q)
	if err != nil {
		return nil, err
	}
	byName := func(a, b ledger.Bucket) int { return strings.Compare(a.Name, b.Name) }
	out = append(out, listed...)
	slices.SortFunc(out, byName)
	out = slices.CompactFunc(out, func(a, b ledger.Bucket) bool { return a.Name == b.Name })
	return out[:min(len(out), q.Limit)], nil
}
