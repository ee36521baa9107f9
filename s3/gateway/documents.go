package gateway

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// document reads a document of an existing bucket; missing is the error if there
// is none (0: none).
func (b *Backend) document(ctx context.Context, bucket, kind string, missing s3err.ErrorCode) ([]byte, error) {
	o := &op{req: requestOf(ctx), names: names{bucket: bucket}}
	doc, of, ok := b.cache.Cached(bucket, kind)
	var err error
	if !ok {
		own, cancel := b.context(o.req, false)
		defer cancel()
		doc, of, err = b.cache.DocumentOf(own, bucket, kind)
	}
	if err == nil {
		err = o.req.means(bucket, of)
	}
	if err == nil && doc == nil && missing != 0 {
		err = s3err.GetBucketErr(missing, bucket)
	}
	return doc, b.fail(o, err)
}

// putDocument writes a document; nil deletes it.
func (b *Backend) putDocument(ctx context.Context, bucket, kind string, body []byte) error {
	o, err := b.begin(ctx, need{bucket: bucket, access: authz.Setting, xml: body != nil && kind != s3.KindPolicy})
	defer o.cancel()
	if err != nil {
		return err
	}
	b.changesDocument(o, kind)
	d := ledger.Document{Bucket: bucket, Into: o.bucket, Kind: kind, Body: slices.Clone(body)}
	if body == nil {
		err = b.store.Documents.DeleteDocument(o.ctx, d)
	} else {
		err = b.store.Documents.PutDocument(o.ctx, d)
	}
	if err == nil {
		o.req.changed(kind, s3.ShownDocument(body))
	}
	return b.fail(o, err)
}

// readable authorises reading a bucket's documents for a signed request. An
// unsigned one may read them before it is authorised: they decide on it.
func (b *Backend) readable(ctx context.Context, bucket string) error {
	if acct, _ := account(ctx); acct.Access == "" {
		return nil
	}
	return b.allow(ctx, requestOf(ctx), bucket, authz.Reading)
}

// GetBucketAcl returns the access control list that decides on the request,
// with the grant of the requesting key. versitygw calls it before every
// operation.
func (b *Backend) GetBucketAcl(ctx context.Context, in *awss3.GetBucketAclInput) ([]byte, error) {
	bucket := str(in.Bucket)
	requestOf(ctx).decide(bucket)
	if err := b.readable(ctx, bucket); err != nil {
		return nil, err
	}
	if err := requestOf(ctx).precheckDocument(ctx); err != nil {
		return nil, err
	}
	expandKey(ctx, requestOf(ctx))
	requestOf(ctx).takeHoisted()
	if _, root := account(ctx); root && requestOf(ctx).event.Key != "" {
		return b.rootsACL(ctx, bucket)
	}
	if requestOf(ctx).setsBucket() {
		// The list that decides on a change is not an older one.
		b.cache.Drop(bucket)
	}
	acl, err := b.storedACL(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if requestOf(ctx).showsList() {
		requestOf(ctx).document = authz.BucketListXML(acl, groupID)
	}
	acct, _ := account(ctx)
	acl, err = b.deciding(ctx, bucket, acl.ForRequester(strings.Clone(acct.Access)))
	if err == nil {
		acl, err = b.unignored(ctx, bucket, acl)
	}
	if err != nil {
		return nil, err
	}
	if requestOf(ctx).ungrantable() {
		acl = acl.OwnersAlone()
	}
	if key := b.grantee(ctx, requestOf(ctx), bucket); key != nil {
		acl = acl.With(authz.KeyGrants(*key)...)
	}
	return writeList(acl)
}

// rootsACL returns the list for operations of root on an object. It checks that
// the bucket exists, and its expected owner. No list restricts root.
func (b *Backend) rootsACL(ctx context.Context, bucket string) ([]byte, error) {
	list, err := b.documentACL(ctx, bucket)
	if web := requestOf(ctx).web; err == nil && web != nil && web.Get("X-Amz-Expected-Bucket-Owner") == "" {
		return nil, nil
	}
	return list, err
}

// defaultACL returns the list of a bucket without one: full control for its
// owner.
func (b *Backend) defaultACL(ctx context.Context, bucket string) ([]byte, error) {
	own, cancel := b.context(requestOf(ctx), false)
	defer cancel()
	found, err := b.store.Buckets.Bucket(own, bucket)
	if err == nil {
		err = requestOf(ctx).means(bucket, found.ID)
	}
	if err != nil {
		return nil, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	return writeList(authz.OwnersOnly(found.Owner))
}

// GetBucketPolicy returns the stored policy to a client. To versitygw, which
// evaluates it for the request, it returns one that carries the decision.
func (b *Backend) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	bucket = str(&bucket)
	if err := b.readable(ctx, bucket); err != nil {
		return nil, err
	}
	doc, err := b.document(ctx, bucket, s3.KindPolicy, s3err.ErrNoSuchBucketPolicy)
	if err != nil {
		return nil, err
	}
	if len(doc) > authz.MaxPolicy {
		return b.overlong(ctx, bucket, doc)
	}
	req := requestOf(ctx)
	if req.policyStatus {
		if err := b.policyStatus(ctx, bucket, doc); err != nil {
			return nil, err
		}
	}
	// The first call is versitygw's own, the second the client's.
	if undecided(ctx) || req.asksForPolicy() && req.decided {
		return doc, nil
	}
	r, err := b.rulingOf(ctx, bucket, doc)
	if err == nil && r == nil {
		err = s3err.GetBucketErr(s3err.ErrNoSuchBucketPolicy, bucket)
	}
	if err != nil {
		return nil, err
	}
	req.decided = true
	shown, err := r.shown()
	return shown, b.fail(&op{req: req, names: names{bucket: bucket}}, err)
}

// PutBucketPolicy replaces the policy.
func (b *Backend) PutBucketPolicy(ctx context.Context, bucket string, policy []byte) error {
	if err := authz.CheckPolicy(policy); err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: str(&bucket)}}, err)
	}
	if err := b.unblockedPolicy(ctx, str(&bucket), policy); err != nil {
		return err
	}
	return b.putDocument(ctx, str(&bucket), s3.KindPolicy, policy)
}

// DeleteBucketPolicy removes the policy.
func (b *Backend) DeleteBucketPolicy(ctx context.Context, bucket string) error {
	return b.putDocument(ctx, str(&bucket), s3.KindPolicy, nil)
}

// GetBucketCors returns the rules for scripts of other origins. They are
// public: a preflight request is not signed.
func (b *Backend) GetBucketCors(ctx context.Context, bucket string) ([]byte, error) {
	rules, err := b.document(ctx, str(&bucket), s3.KindCORS, s3err.ErrNoSuchCORSConfiguration)
	requestOf(ctx).cors = rules
	return rules, err
}

// maxCORSRules is the most rules of a bucket, as in S3.
const maxCORSRules = 100

// PutBucketCors replaces the rules.
func (b *Backend) PutBucketCors(ctx context.Context, bucket string, cors []byte) error {
	var doc struct {
		Rules []struct{} `xml:"CORSRule"`
	}
	if err := xml.Unmarshal(cors, &doc); err != nil || len(doc.Rules) > maxCORSRules {
		return s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	return b.putDocument(ctx, str(&bucket), s3.KindCORS, cors)
}

// DeleteBucketCors removes the rules.
func (b *Backend) DeleteBucketCors(ctx context.Context, bucket string) error {
	return b.putDocument(ctx, str(&bucket), s3.KindCORS, nil)
}

// GetBucketOwnershipControls returns the object ownership, which decides
// whether access control lists may be set.
func (b *Backend) GetBucketOwnershipControls(ctx context.Context, bucket string) (types.ObjectOwnership, error) {
	bucket = str(&bucket)
	if err := b.readable(ctx, bucket); err != nil {
		return "", err
	}
	doc, err := b.document(ctx, bucket, s3.KindOwnership, s3err.ErrOwnershipControlsNotFound)
	return types.ObjectOwnership(doc), err
}

// PutBucketOwnershipControls sets it. As on S3, disabling access control lists
// is refused while the bucket's own grants something to others: it would stay
// in effect unseen.
func (b *Backend) PutBucketOwnershipControls(ctx context.Context, bucket string, own types.ObjectOwnership) error {
	bucket = str(&bucket)
	if own == types.ObjectOwnershipBucketOwnerEnforced {
		if err := b.unshared(ctx, bucket); err != nil {
			return err
		}
	}
	return b.putDocument(ctx, bucket, s3.KindOwnership, []byte(own))
}

// unshared refuses a bucket whose access control list grants something to others
// than its owner.
func (b *Backend) unshared(ctx context.Context, bucket string) error {
	if err := b.allow(ctx, requestOf(ctx), bucket, authz.Setting); err != nil {
		return err
	}
	doc, err := b.document(ctx, bucket, s3.KindACL, 0)
	if err != nil || doc == nil {
		return err
	}
	list, err := parseList(doc)
	if list.Shared() {
		return s3err.GetAPIError(s3err.ErrInvalidBucketAclWithObjectOwnership)
	}
	return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
}

// DeleteBucketOwnershipControls removes it.
func (b *Backend) DeleteBucketOwnershipControls(ctx context.Context, bucket string) error {
	return b.putDocument(ctx, str(&bucket), s3.KindOwnership, nil)
}

// GetBucketTagging returns the bucket's tags.
func (b *Backend) GetBucketTagging(ctx context.Context, bucket string) (map[string]string, error) {
	bucket = str(&bucket)
	if err := b.allow(ctx, requestOf(ctx), bucket, authz.Reading); err != nil {
		return nil, err
	}
	doc, err := b.document(ctx, bucket, s3.KindTags, s3err.ErrBucketTaggingNotFound)
	if err != nil {
		return nil, err
	}
	var tags map[string]string
	if err := json.Unmarshal(doc, &tags); err != nil {
		return nil, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, fmt.Errorf("s3: read tags: %w", err))
	}
	return tags, nil
}

// PutBucketTagging replaces the bucket's tags.
func (b *Backend) PutBucketTagging(ctx context.Context, bucket string, tags map[string]string) error {
	if err := checkTags(ctx, tags); err != nil {
		return err
	}
	doc, err := json.Marshal(tags)
	if err != nil {
		return err
	}
	return b.putDocument(ctx, str(&bucket), s3.KindTags, doc)
}

// DeleteBucketTagging removes them.
func (b *Backend) DeleteBucketTagging(ctx context.Context, bucket string) error {
	return b.putDocument(ctx, str(&bucket), s3.KindTags, nil)
}

// GetBucketVersioning returns the state of a bucket that never had versions,
// which clients take for "off".
func (b *Backend) GetBucketVersioning(ctx context.Context, bucket string) (s3response.GetBucketVersioningOutput, error) {
	return s3response.GetBucketVersioningOutput{}, b.allow(ctx, requestOf(ctx), bucket, authz.Reading)
}

// GetObjectLockConfiguration returns that there is none. versitygw and clients
// take that for "off"; NotImplemented would fail every write.
func (b *Backend) GetObjectLockConfiguration(ctx context.Context, bucket string) ([]byte, error) {
	return nil, s3err.GetBucketErr(s3err.ErrObjectLockConfigurationNotFound, str(&bucket))
}
