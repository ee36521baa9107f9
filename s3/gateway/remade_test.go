package gateway_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
)

// interposed is a store that runs a function once before a change that was
// authorised, or before an object is opened.
type interposed struct {
	s3.BucketStore
	s3.DocumentStore
	s3.RuleStore
	s3.ObjectStore
	s3.UploadStore
	before *atomic.Pointer[func()]
	heads  *atomic.Int64
}

// interpose wraps a store.
func interpose(s s3.Store, before *atomic.Pointer[func()], heads *atomic.Int64) s3.Store {
	i := &interposed{s.Buckets, s.Documents, s.Rules, s.Objects, s.Uploads, before, heads}
	s.Buckets, s.Documents, s.Rules, s.Objects, s.Uploads = i, i, i, i, i
	return s
}

func (i *interposed) change() {
	if fn := i.before.Swap(nil); fn != nil {
		(*fn)()
	}
}

func (i *interposed) DeleteBucket(ctx context.Context, name string, id lethe.ID) error {
	i.change()
	return i.BucketStore.DeleteBucket(ctx, name, id)
}

func (i *interposed) PutDocument(ctx context.Context, d ledger.Document) error {
	i.change()
	return i.DocumentStore.PutDocument(ctx, d)
}

func (i *interposed) DeleteDocument(ctx context.Context, d ledger.Document) error {
	i.change()
	return i.DocumentStore.DeleteDocument(ctx, d)
}

func (i *interposed) SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error) {
	i.change()
	return i.RuleStore.SetRules(ctx, c)
}

func (i *interposed) Head(ctx context.Context, r object.GetRequest) (ledger.Object, error) {
	i.heads.Add(1)
	return i.ObjectStore.Head(ctx, r)
}

func (i *interposed) Get(ctx context.Context, r object.GetRequest) (*object.Reader, error) {
	i.change()
	return i.ObjectStore.Get(ctx, r)
}

func (i *interposed) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	i.change()
	return i.ObjectStore.Update(ctx, u)
}

func (i *interposed) Copy(ctx context.Context, r object.CopyRequest) (object.PutResult, error) {
	i.change()
	return i.ObjectStore.Copy(ctx, r)
}

// Complete may read parts of any size, for longer than requests without a body may take.
func (i *interposed) Complete(ctx context.Context, r object.CompleteRequest) (object.PutResult, error) {
	if _, limited := ctx.Deadline(); limited {
		return object.PutResult{}, errors.New("a completion that reads large parts would be cut off")
	}
	return i.UploadStore.Complete(ctx, r)
}

func (i *interposed) CopyPart(ctx context.Context, r object.PartCopyRequest) (ledger.Part, error) {
	i.change()
	return i.UploadStore.CopyPart(ctx, r)
}

func (i *interposed) CreateUpload(ctx context.Context, r object.UploadRequest) (ledger.Upload, error) {
	i.change()
	return i.UploadStore.CreateUpload(ctx, r)
}

// An authorised deletion of a bucket, a change of its documents, a copy into it or an upload does
// not reach another account's bucket that got the name between authorisation and
// change.
func TestChangesDoNotReachARecreatedBucket(t *testing.T) {
	s := newSite(t)
	alice := s.key("alice", false, "@account")
	hers, his := client(alice, nil), s.restricted("bob", false, "@account")
	bucket := s.bucket + "-hers"
	create := awss3.CreateBucketInput{Bucket: &bucket, ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}
	policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket","Resource":"arn:aws:s3:::` + bucket + `"}]}`
	changes := map[string]func() error{
		"list": func() error {
			_, err := hers.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &bucket, ACL: types.BucketCannedACLPublicRead})
			return err
		},
		"policy": func() error {
			_, err := hers.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy})
			return err
		},
		"no policy": func() error {
			_, err := hers.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: &bucket})
			return err
		},
		"tags": func() error {
			_, err := hers.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{
				Bucket: &bucket, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}},
			})
			return err
		},
		"rules": func() error {
			_, err := hers.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{
				Bucket: &bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
					ID: aws.String("all"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("x/")},
					Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
				}}},
			})
			return err
		},
	}
	maps.Copy(changes, objectChanges(s, hers, bucket))
	for name, change := range changes {
		_, err := hers.CreateBucket(s.ctx, &create)
		s.must(err)
		made := make(chan error, 1)
		taken := func() {
			_, gone := hers.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &bucket})
			_, err := his.CreateBucket(s.ctx, &create)
			made <- errors.Join(gone, err)
		}
		w.beforeChange.Store(&taken)
		err = change()
		if w.beforeChange.Swap(nil) != nil {
			t.Fatalf("%s: nothing was changed: %v", name, err)
		}
		s.must(<-made)
		t.Run(name, func(t *testing.T) { (&site{t: t, ctx: s.ctx}).fails(err, 503, "ServiceUnavailable") })
		_, err = his.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &bucket})
		s.must(err)
	}
}

// objectChanges are a copy into a bucket, an upload, and the end of a bucket without objects.
func objectChanges(s *site, hers *awss3.Client, bucket string) map[string]func() error {
	source := s.bucket + "-source"
	_, err := hers.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &source})
	s.must(err)
	_, err = hers.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &source, Key: aws.String("k"), Body: strings.NewReader("data")})
	s.must(err)
	return map[string]func() error{
		"delete": func() error {
			_, err := hers.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &bucket})
			return err
		},
		"copy": func() error {
			_, err := hers.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &bucket, Key: aws.String("k"), CopySource: aws.String(source + "/k")})
			return err
		},
		"upload": func() error {
			_, err := hers.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("k")})
			return err
		},
	}
}

// A write that an account began does not end in another account's bucket that
// got the name meanwhile.
func TestBodiesDoNotReachARecreatedBucket(t *testing.T) {
	s := newSite(t)
	alice := s.key("alice", false, "@account")
	hers, his := client(alice, nil), s.restricted("bob", false, "@account")
	bucket, size := s.bucket+"-hers", 16<<20
	_, err := hers.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	s.must(err)
	in, out := io.Pipe()
	r := s.raw(http.MethodPut, "-hers/k", nil)
	r.Body, r.ContentLength = in, int64(size)
	status := make(chan int, 1)
	go func() {
		got, _, _ := s.send(signed(r, alice, "UNSIGNED-PAYLOAD"))
		status <- got
	}()
	// The body exceeds all buffers on the way, so that the write was
	// authorised.
	_, err = io.WriteString(out, strings.Repeat("x", size-1))
	s.must(err)
	_, err = hers.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &bucket})
	s.must(err)
	_, err = his.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	s.must(err)
	_, err = io.WriteString(out, "x")
	s.must(err)
	s.must(out.Close())
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("the body of another's bucket: %d", got)
	}
	s.fails(getAs(s, his, bucket, "k"), 404, "NoSuchKey")
}

// What another instance made under a bucket's name is not read, listed, changed or
// deleted by what this one remembers of the bucket that had it before.
func TestARecreatedBucketIsNotOpenByTheFormerOnesList(t *testing.T) {
	s := newSite(t)
	hers, _ := s.account("alice")
	own := s.makes(hers, s.bucket+"-own")
	bucket, key := s.bucket+"-hers", aws.String("k")
	requests := objectRequests(s, hers, bucket, own)
	maps.Copy(requests, bucketRequests(s, hers, bucket))
	for name, do := range requests {
		s.makes(hers, bucket)
		// By another instance, while this one remembers whose the bucket was.
		s.must(getAs(s, hers, bucket, *key))
		_, err := w.store.Delete(s.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: *key}}})
		s.must(errors.Join(err, w.store.DeleteBucket(s.ctx, bucket, "")))
		_, err = w.store.CreateBucket(s.ctx, ledger.Bucket{Name: bucket, Owner: "bob"})
		s.must(err)
		his, err := w.store.Put(s.ctx, object.PutRequest{Bucket: bucket, Key: *key, Body: strings.NewReader("his"), Size: -1})
		s.must(err)
		held := strings.Contains(name, "hold")
		hold := ledger.Hold{Bucket: bucket, Scope: ledger.HoldLegal, Key: *key}
		if held {
			_, err = w.store.AddHold(s.ctx, hold)
			s.must(err)
		}
		if status, _ := errorOf(do()); status != 503 && status != 403 {
			t.Errorf("%s reached another's bucket: status %d", name, status)
		}
		if err := w.store.ReleaseHold(s.ctx, hold); (err == nil) != held {
			t.Errorf("%s set or released a hold in another's bucket: %v", name, err)
		}
		page, err := w.store.List(s.ctx, ledger.ListQuery{Bucket: bucket, Limit: 10})
		s.must(err)
		if now, err := w.store.Head(s.ctx, object.GetRequest{Bucket: bucket, Key: *key}); err != nil || now.ID != his.Object.ID || len(now.Tags) > 0 || len(page.Objects) != 1 {
			t.Errorf("%s changed another's bucket: %+v, %v, %d objects", name, now, err, len(page.Objects))
		}
		_, err = w.store.Delete(s.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: *key}, {Key: "new"}}})
		s.must(errors.Join(err, w.store.DeleteBucket(s.ctx, bucket, "")))
	}
}

// Whoever makes a bucket anew by another instance is told to try again, not that there is none.
func TestAnOwnBucketMadeAnew(t *testing.T) {
	s := newSite(t)
	hers, _ := s.account("alice")
	bucket := s.bucket + "-hers"
	_, err := hers.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	s.must(err)
	s.fails(getAs(s, hers, bucket, "k"), 404, "NoSuchKey") // by what is remembered from now on
	was, err := w.db.Bucket(s.ctx, bucket)
	s.must(err)
	s.must(w.store.DeleteBucket(s.ctx, bucket, ""))
	_, err = w.store.CreateBucket(s.ctx, ledger.Bucket{Name: bucket, Owner: was.Owner})
	s.must(err)
	s.fails(putAs(s, hers, bucket, "k"), 503, "ServiceUnavailable")
	s.must(putAs(s, hers, bucket, "k"))
}

// objectRequests are requests about an object k of a bucket; own is another bucket of the client.
func objectRequests(s *site, c *awss3.Client, bucket, own string) map[string]func() error {
	key := aws.String("k")
	return map[string]func() error{
		"get": func() error { return getAs(s, c, bucket, *key) },
		"conditional get": func() error {
			_, err := c.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &bucket, Key: key, IfNoneMatch: aws.String("x")})
			return err
		},
		"head": func() error {
			_, err := c.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &bucket, Key: key})
			return err
		},
		"attributes": func() error {
			_, err := c.GetObjectAttributes(s.ctx, &awss3.GetObjectAttributesInput{Bucket: &bucket, Key: key, ObjectAttributes: types.ObjectAttributesEtag.Values()})
			return err
		},
		"read tags": func() error {
			_, err := c.GetObjectTagging(s.ctx, &awss3.GetObjectTaggingInput{Bucket: &bucket, Key: key})
			return err
		},
		"list": func() error {
			_, err := c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &bucket})
			return err
		},
		"list uploads": func() error {
			_, err := c.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: &bucket})
			return err
		},
		"copy from": func() error {
			_, err := c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &own, Key: aws.String("copy"), CopySource: aws.String(bucket + "/k")})
			return err
		},
		"copy into": func() error {
			_, err := c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &bucket, Key: aws.String("new"), CopySource: aws.String(own + "/k")})
			return err
		},
		"put": func() error { return putAs(s, c, bucket, "new") },
		"tag": func() error {
			_, err := c.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{
				Bucket: &bucket, Key: key, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: key, Value: key}}},
			})
			return err
		},
		"delete": func() error {
			_, err := c.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &bucket, Key: key})
			return err
		},
		"delete many": func() error { return deleteKeys(s, c, bucket, *key) },
	}
}

// bucketRequests are requests about the holds and settings of a bucket.
func bucketRequests(s *site, c *awss3.Client, bucket string) map[string]func() error {
	key := aws.String("k")
	return map[string]func() error{
		"release hold": func() error {
			_, err := c.PutObjectLegalHold(s.ctx, &awss3.PutObjectLegalHoldInput{
				Bucket: &bucket, Key: key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOff},
			})
			return err
		},
		"hold": func() error {
			_, err := c.PutObjectLegalHold(s.ctx, &awss3.PutObjectLegalHoldInput{
				Bucket: &bucket, Key: key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOn},
			})
			return err
		},
		"read hold": func() error {
			_, err := c.GetObjectLegalHold(s.ctx, &awss3.GetObjectLegalHoldInput{Bucket: &bucket, Key: key})
			return err
		},
		"head bucket": func() error {
			_, err := c.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &bucket})
			return err
		},
		"read lifecycle": func() error {
			_, err := c.GetBucketLifecycleConfiguration(s.ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: &bucket})
			return err
		},
		"read notifications": func() error {
			_, err := c.GetBucketNotificationConfiguration(s.ctx, &awss3.GetBucketNotificationConfigurationInput{Bucket: &bucket})
			return err
		},
	}
}

// deleteKeys deletes keys, and returns the error of the request.
func deleteKeys(s *site, c *awss3.Client, bucket string, keys ...string) error {
	var ids []types.ObjectIdentifier
	for _, key := range keys {
		ids = append(ids, types.ObjectIdentifier{Key: &key})
	}
	out, err := c.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: ids}})
	if err != nil {
		return err
	}
	for _, e := range out.Errors {
		err = errors.Join(err, errors.New(*e.Code))
	}
	return err
}

// A copy without conditions does not fail by one if its source is replaced meanwhile: it is of the
// new version, and what is replaced at each try is to be tried again.
func TestACopyOfWhatIsReplacedHasNoCondition(t *testing.T) {
	s := newSite(t)
	up := s.create("parts", nil)
	var replace func()
	once := func() { s.put("k", rand.Text(), nil) }
	always := func() {
		once()
		w.beforeChange.Store(&replace)
	}
	defer w.beforeChange.Store(nil)
	for name, copied := range map[string]func() error{
		"object": func() error { return copyAs(s, s.Client, s.bucket+"/k", s.bucket+"/copy", nil) },
		"itself": func() error {
			return copyAs(s, s.Client, s.bucket+"/k", s.bucket+"/k", func(in *awss3.CopyObjectInput) { in.MetadataDirective = types.MetadataDirectiveReplace })
		},
		"part": func() error {
			_, err := s.UploadPartCopy(s.ctx, &awss3.UploadPartCopyInput{Bucket: &s.bucket, Key: &up.key, UploadId: &up.id, PartNumber: aws.Int32(1), CopySource: aws.String(s.bucket + "/k")})
			return err
		},
	} {
		once()
		replace = once
		w.beforeChange.Store(&replace)
		if err := copied(); err != nil {
			t.Errorf("%s, replaced once: %v", name, err)
		}
		replace = always
		w.beforeChange.Store(&replace)
		if status, _ := errorOf(copied()); status != 503 {
			t.Errorf("%s, replaced at each try: %d, want 503", name, status)
		}
		w.beforeChange.Store(nil)
	}
}

// A copy whose source is replaced meanwhile is of one version, also where the other one has
// the same ETag.
func TestACopyIsOfOneVersion(t *testing.T) {
	s := newSite(t)
	put := func(contentType string) {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{
			Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("data"), ContentType: &contentType, Tagging: aws.String("of=" + contentType),
		})
		s.must(err)
	}
	for _, a := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmSha256} {
		put("first")
		replace := func() { put("second") }
		w.beforeChange.Store(&replace)
		_, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/k"), ChecksumAlgorithm: a})
		s.must(err)
		of, err := w.store.Head(s.ctx, object.GetRequest{Bucket: s.bucket, Key: "copy"})
		s.must(err)
		if of.Attrs.ContentType != of.Tags["of"] {
			t.Errorf("the copy has the attributes of the %s and the tags of the %s", of.Attrs.ContentType, of.Tags["of"])
		}
	}
}
