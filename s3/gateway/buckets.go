package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// bucketPage is the page size for reading buckets.
const bucketPage = 1000

// CreateBucket creates a bucket that belongs to the requester. A restricted key
// may create those of its list, an account any.
func (b *Backend) CreateBucket(ctx context.Context, in *awss3.CreateBucketInput, acl []byte) error {
	requestOf(ctx).decide(str(in.Bucket))
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return err
	}
	if !s3.ValidLabels(o.names.bucket) {
		return s3err.GetBucketErr(s3err.ErrInvalidBucketName, o.names.bucket)
	}
	if in.ObjectLockEnabledForBucket != nil && *in.ObjectLockEnabledForBucket {
		return notKept(noLock)
	}
	var tags map[string]string
	if in.CreateBucketConfiguration != nil {
		if tags, err = backend.ParseCreateBucketTags(in.CreateBucketConfiguration.Tags); err != nil {
			return err
		}
		if err := unreserved(tags); err != nil {
			return err
		}
	}
	acct, _ := account(ctx)
	if creator, ok := ctx.Value(localOwner).(auth.Account); ok {
		acct = creator
	}
	bucket := ledger.Bucket{Name: o.names.bucket, Owner: strings.Clone(b.owner(o.req, acct)), Region: b.opt.Region}
	if acl, err = b.newList(ctx, acl, bucket.Owner); err != nil {
		return b.fail(o, err)
	}
	bucket.Documents = map[string][]byte{s3.KindACL: acl, s3.KindOwnership: []byte(b.ownership(ctx, string(in.ObjectOwnership)))}
	if acl == nil {
		delete(bucket.Documents, s3.KindACL)
	}
	if _, root := account(ctx); !root {
		bucket.Most = b.opt.AccountBuckets
	}
	if len(tags) > 0 {
		if bucket.Documents[s3.KindTags], err = json.Marshal(cloneMap(tags)); err != nil {
			return b.fail(o, err)
		}
	}
	made, err := b.store.Buckets.CreateBucket(o.ctx, bucket)
	if errors.Is(err, lethe.ErrBucketExists) && made.Owner == bucket.Owner {
		return s3err.GetBucketErr(s3err.ErrBucketAlreadyOwnedByYou, o.names.bucket)
	}
	o.req.changes(s3.ChangedOwner, nil)
	if err != nil {
		return b.fail(o, err)
	}
	o.req.changed(s3.ChangedOwner, bucket.Owner)
	for _, kind := range []string{s3.KindACL, s3.KindOwnership, s3.KindTags} {
		if body := bucket.Documents[kind]; body != nil {
			o.req.changed(kind, s3.ShownDocument(body))
		}
	}
	return nil
}

// HeadBucket checks that the bucket exists.
func (b *Backend) HeadBucket(ctx context.Context, in *awss3.HeadBucketInput) (*awss3.HeadBucketOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket)})
	defer o.cancel()
	if err != nil {
		return nil, err
	}
	if err := b.stillMeant(o); err != nil {
		return nil, b.fail(o, err)
	}
	return &awss3.HeadBucketOutput{}, nil
}

// DeleteBucket deletes a bucket without objects. Open uploads are aborted, as
// on S3.
func (b *Backend) DeleteBucket(ctx context.Context, bucket string) error {
	o, err := b.begin(ctx, need{bucket: str(&bucket), access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return err
	}
	b.changesBucket(o)
	err = s3.DeleteBucket(o.ctx, b.store, o.names.bucket, o.bucket)
	if err == nil {
		o.req.changed(s3.ChangedOwner, nil)
	}
	return b.fail(o, err)
}

// ListBuckets lists the buckets that the requester may use.
func (b *Backend) ListBuckets(ctx context.Context, in s3response.ListBucketsInput) (s3response.ListAllMyBucketsResult, error) {
	owner, prefix := str(&in.Owner), str(&in.Prefix)
	q := ledger.BucketQuery{Prefix: prefix, After: str(&in.ContinuationToken), Limit: int(in.MaxBuckets) + 1}
	o := &op{req: requestOf(ctx)}
	o.ctx, o.cancel = b.context(o.req, false)
	defer o.cancel()
	found, err := b.visible(ctx, o, q, in.IsAdmin)
	if err != nil {
		return s3response.ListAllMyBucketsResult{}, b.fail(o, err)
	}
	res := s3response.ListAllMyBucketsResult{Owner: s3response.CanonicalUser{ID: owner}, Prefix: prefix}
	for _, f := range found {
		if len(res.Buckets.Bucket) == int(in.MaxBuckets) {
			res.ContinuationToken = res.Buckets.Bucket[len(res.Buckets.Bucket)-1].Name
			break
		}
		res.Buckets.Bucket = append(res.Buckets.Bucket,
			s3response.ListAllMyBucketsEntry{Name: f.Name, CreationDate: f.CreatedAt.Time()})
	}
	return res, nil
}

// visible lists the buckets that the requester may use, by name.
func (b *Backend) visible(ctx context.Context, o *op, q ledger.BucketQuery, all bool) ([]ledger.Bucket, error) {
	acct, root := account(ctx)
	if err := b.count(o.req, acct.Access); err != nil {
		return nil, err
	}
	if b.opt.Keys == nil || root {
		if !all {
			q.Owner = strings.Clone(acct.Access)
		}
		return b.store.Buckets.Buckets(o.ctx, q)
	}
	if acct.Access == "" {
		return nil, s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	key, err := b.accessKey(o.req, acct.Access)
	if err != nil {
		return nil, err
	}
	if authz.Permits(key, authz.AllBuckets) {
		return b.store.Buckets.Buckets(o.ctx, q)
	}
	if key.Account() {
		return b.ofAccount(o, q, key)
	}
	return b.chosen(o, q, key.Buckets)
}

// chosen returns those of the names that exist.
func (b *Backend) chosen(o *op, q ledger.BucketQuery, list []string) ([]ledger.Bucket, error) {
	list = slices.Clone(list)
	slices.Sort(list)
	var out []ledger.Bucket
	for _, name := range slices.Compact(list) {
		if name == ledger.AccountBuckets || name <= q.After || !strings.HasPrefix(name, q.Prefix) {
			continue
		}
		found, err := b.store.Buckets.Bucket(o.ctx, name)
		if errors.Is(err, lethe.ErrNoSuchBucket) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, found); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// ChangeBucketOwner gives a bucket to another account, with a new access control
// list and without a policy.
func (b *Backend) ChangeBucketOwner(ctx context.Context, bucket, owner string) error {
	o, err := b.begin(ctx, need{bucket: str(&bucket), access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return err
	}
	b.changesBucket(o)
	if err := b.store.Buckets.SetBucketOwner(o.ctx, o.names.bucket, str(&owner)); err != nil {
		return b.fail(o, err)
	}
	o.req.changed(s3.ChangedOwner, str(&owner))
	return auth.UpdateBucketACLOwner(ctx, b, o.names.bucket, str(&owner))
}

// ListBucketsAndOwners lists all buckets with their owners.
func (b *Backend) ListBucketsAndOwners(ctx context.Context) ([]s3response.Bucket, error) {
	o := &op{req: requestOf(ctx)}
	o.ctx, o.cancel = b.context(o.req, false)
	defer o.cancel()
	if _, root := account(ctx); b.opt.Keys != nil && !root {
		return nil, s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	var out []s3response.Bucket
	for after, more := "", true; more; {
		page, err := b.store.Buckets.Buckets(o.ctx, ledger.BucketQuery{After: after, Limit: bucketPage})
		if err != nil {
			return nil, b.fail(o, err)
		}
		for _, f := range page {
			out, after = append(out, s3response.Bucket{Name: f.Name, Owner: f.Owner}), f.Name
		}
		more = len(page) == bucketPage
	}
	return out, nil
}
