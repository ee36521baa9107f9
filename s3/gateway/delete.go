package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// DeleteObject deletes a key. A missing key is not an error.
func (b *Backend) DeleteObject(ctx context.Context, in *awss3.DeleteObjectInput) (*awss3.DeleteObjectOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: authz.Writing})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(in.VersionId))
	}
	if err != nil {
		return nil, err
	}
	c, err := o.req.deleteCondition()
	if err != nil {
		return nil, err
	}
	done, err := b.store.Objects.Delete(o.ctx, object.DeleteRequest{
		Bucket: o.names.bucket, BucketID: o.bucket, Items: []ledger.DeleteItem{{Key: o.names.key, If: c.precondition()}},
	})
	if err == nil && len(done) == 1 {
		err = b.deleteError(o, o.names.key, done[0].Err, c)
	}
	if err != nil {
		return nil, b.fail(o, err)
	}
	return &awss3.DeleteObjectOutput{}, nil
}

// DeleteObjects deletes up to 1,000 keys in one transaction. It skips those
// that the bucket's policy denies.
func (b *Backend) DeleteObjects(ctx context.Context, in *awss3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	refused, err := b.refusedKeys(ctx, in)
	if err != nil || len(refused) > 0 && len(in.Delete.Objects) == 0 {
		return s3response.DeleteResult{Error: refused}, err
	}
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), access: authz.Writing})
	defer o.cancel()
	if err != nil {
		return s3response.DeleteResult{}, err
	}
	if in.Delete == nil || len(in.Delete.Objects) == 0 || len(in.Delete.Objects) > s3.MaxDelete {
		return s3response.DeleteResult{}, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	d := deletion{b: b, o: o, res: s3response.DeleteResult{Error: refused}}
	for _, id := range in.Delete.Objects {
		d.add(id)
	}
	if err := d.run(); err != nil {
		return s3response.DeleteResult{}, b.fail(o, err)
	}
	if o.req.quiet {
		d.res.Deleted = nil
	}
	return d.res, nil
}

// refusedKeys removes the keys of a deletion that the bucket's policy denies.
// versitygw gets a policy that allows every key, since it would parse the
// policy for each.
func (b *Backend) refusedKeys(ctx context.Context, in *awss3.DeleteObjectsInput) (out []types.Error, err error) {
	bucket := str(in.Bucket)
	if undecided(ctx) || in.Delete == nil {
		return nil, nil
	}
	policy, err := b.document(ctx, bucket, s3.KindPolicy, 0)
	if err != nil || policy == nil {
		return nil, err
	}
	if len(policy) > authz.MaxPolicy {
		_, err := b.overlong(ctx, bucket, policy)
		return nil, err
	}
	r, err := b.rulingOf(ctx, bucket, policy)
	if err != nil || r == nil {
		return nil, err
	}
	var left []types.ObjectIdentifier
	for _, id := range in.Delete.Objects {
		action := auth.DeleteObjectAction
		if str(id.VersionId) != "" {
			action = auth.DeleteObjectVersionAction
		}
		if err := r.refuses(action, str(id.Key)); err != nil {
			out = append(out, s3err.ObjectDeleteError(id.Key, id.VersionId, err))
			continue
		}
		left = append(left, id)
	}
	in.Delete.Objects = left
	return out, nil
}

// precheckDocument checks the body of a request that is a document, after
// authentication and before versitygw reads it: long markup costs a hundred
// times its size there. It reads deletions strictly. versitygw reads any number
// of keys, and counts only those that may be deleted; of two keys in one entry
// it takes the last.
func (r *request) precheckDocument(ctx context.Context) error {
	rc, ok := ctx.(*fasthttp.RequestCtx)
	if acct, _ := account(ctx); !ok || r.web == nil || acct.Access == "" && !public(ctx) {
		return nil
	}
	q, method := rc.QueryArgs(), r.web.Method()
	if r.form || streams(r.web, r) || ofPolicyAlone(q) || method != http.MethodPut && method != http.MethodPost {
		return nil
	}
	body := rc.Request.Body()
	if s3.LongMarkup(body) || !q.Has("delete") && s3.Unwieldy(body) {
		return s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	if method == http.MethodPost && r.event.Key == "" && q.Has("delete") {
		quiet, ok := s3.CheckDelete(body)
		if !ok {
			return s3err.GetAPIError(s3err.ErrMalformedXML)
		}
		r.quiet = quiet
	}
	return nil
}

// ofPolicyAlone reports whether a request is about the bucket's policy, which
// is not XML, and no other sub-resource.
func ofPolicyAlone(q *fasthttp.Args) bool {
	for name := range q.All() {
		_, bucket := ofBuckets[string(name)]
		_, object := ofObjects[string(name)]
		if (bucket || object || string(name) == "uploadId") && string(name) != "policy" {
			return false
		}
	}
	return q.Has("policy")
}

// deletion is a DeleteObjects in progress.
type deletion struct {
	b     *Backend
	o     *op
	items []ledger.DeleteItem
	conds []deleteCondition
	res   s3response.DeleteResult
}

// add adds an entry, or refuses just that one.
func (d *deletion) add(id types.ObjectIdentifier) {
	key, version := str(id.Key), str(id.VersionId)
	err := checkVersion(version)
	if err == nil {
		err = checkKey(key)
	}
	if err == nil && key == "" {
		err = s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	if err != nil {
		d.res.Error = append(d.res.Error, s3err.ObjectDeleteError(&key, ptr(version), err))
		return
	}
	c := deleteCondition{wanted(str(id.ETag)), id.LastModifiedTime, id.Size}
	d.items = append(d.items, ledger.DeleteItem{Key: key, If: c.precondition()})
	d.conds = append(d.conds, c)
	// The response has the version that the request named.
	d.res.Deleted = append(d.res.Deleted, types.DeletedObject{Key: &key, VersionId: ptr(version)})
}

func (d *deletion) run() error {
	if len(d.items) == 0 {
		return nil
	}
	done, err := d.b.store.Objects.Delete(d.o.ctx, object.DeleteRequest{Bucket: d.o.names.bucket, BucketID: d.o.bucket, Items: d.items})
	if err != nil {
		return err
	}
	asked := d.res.Deleted
	d.res.Deleted = nil
	for i, item := range done {
		if err := d.b.deleteError(d.o, item.Key, item.Err, d.conds[i]); err != nil {
			d.res.Error = append(d.res.Error, s3err.ObjectDeleteError(asked[i].Key, asked[i].VersionId, d.b.fail(d.o, err)))
			continue
		}
		d.res.Deleted = append(d.res.Deleted, asked[i])
	}
	return nil
}

// deleteCondition is the condition of a delete; zero if there is none.
type deleteCondition struct {
	match    string
	modified *time.Time
	size     *int64
}

func (c deleteCondition) precondition() ledger.Precondition {
	p := ledger.Precondition{IfMatch: c.match, IfSize: c.size}
	if c.modified != nil {
		p.IfModified = cmp.Or(lethe.FromTime(*c.modified), -1) // 0 is no condition
	}
	return p
}

// deleteCondition reads the conditions of a deletion. versitygw leaves out what it
// cannot read, and dates in the future: whatever the object is, it would go.
func (r *request) deleteCondition() (c deleteCondition, err error) {
	const dated, sized = "X-Amz-If-Match-Last-Modified-Time", "X-Amz-If-Match-Size"
	c.match = r.condition(nil, nil).match
	if text := r.header(dated); text != "" {
		if c.modified, err = parseDate(text); err != nil {
			return c, badCondition(dated, text)
		}
	}
	if text := r.header(sized); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return c, badCondition(sized, text)
		}
		c.size = &n
	}
	return c, nil
}

func parseDate(text string) (*time.Time, error) {
	at, err := http.ParseTime(text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	return &at, err
}

func badCondition(name, value string) error {
	return s3err.InvalidArgumentError{Description: "The condition cannot be read.", ArgumentName: name, ArgumentValue: value}
}

// deleteError returns the error for the failed condition. As on S3, a condition
// on a missing key is ignored.
func (b *Backend) deleteError(o *op, key string, err error, c deleteCondition) error {
	if !errors.Is(err, lethe.ErrPreconditionFailed) {
		return err
	}
	obj, headErr := b.store.Objects.Head(o.ctx, object.GetRequest{Bucket: o.names.bucket, BucketID: o.bucket, Key: key})
	if errors.Is(headErr, lethe.ErrNoSuchKey) {
		return nil
	}
	if headErr != nil {
		return headErr
	}
	given := backend.ObjectDeletePreconditions{IfMatch: ptr(c.match), IfMatchLastModTime: c.modified, IfMatchSize: c.size}
	if err := backend.EvaluateObjectDeletePreconditions(obj.ETag, obj.ModifiedAt.Time(), obj.Size, given); err != nil {
		return err
	}
	return s3err.GetPreconditionFailedErr(s3err.ConditionIfMatch)
}
