package s3

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
)

// Store is what the front serves, by subject. Every part is needed.
type Store struct {
	Buckets   BucketStore
	Documents DocumentStore
	Rules     RuleStore
	Objects   ObjectStore
	Uploads   UploadStore
	Holds     HoldStore
}

// BucketStore keeps buckets.
type BucketStore interface {
	CreateBucket(ctx context.Context, b meta.Bucket) (meta.Bucket, error)
	Bucket(ctx context.Context, name string) (meta.Bucket, error)
	Buckets(ctx context.Context, q meta.BucketQuery) ([]meta.Bucket, error)
	DeleteBucket(ctx context.Context, name string) error
	SetBucketOwner(ctx context.Context, bucket, owner string) error
}

// DocumentStore keeps opaque documents of a bucket.
type DocumentStore interface {
	PutDocument(ctx context.Context, d meta.Document) error
	Document(ctx context.Context, bucket, kind string) ([]byte, error)
	DeleteDocument(ctx context.Context, d meta.Document) error
}

// RuleStore keeps the lifecycle rules of buckets.
type RuleStore interface {
	SetRules(ctx context.Context, c meta.RulesChange) (meta.BucketRules, error)
	Rules(ctx context.Context, bucket string) (meta.BucketRules, error)
}

// HoldStore keeps holds.
type HoldStore interface {
	AddHold(ctx context.Context, h meta.Hold) (meta.Hold, error)
	LiftHold(ctx context.Context, h meta.Hold) error
	HoldsOn(ctx context.Context, bucket, key string) ([]meta.Hold, error)
}

// ObjectStore reads and writes objects.
type ObjectStore interface {
	ObjectReader
	ObjectWriter
}

// ObjectReader reads objects.
type ObjectReader interface {
	Get(ctx context.Context, r object.GetRequest) (*object.Reader, error)
	Head(ctx context.Context, r object.GetRequest) (meta.Object, error)
	List(ctx context.Context, q meta.ListQuery) (meta.ListPage, error)
}

// ObjectWriter writes objects.
type ObjectWriter interface {
	Put(ctx context.Context, r object.PutRequest) (object.PutResult, error)
	Copy(ctx context.Context, r object.CopyRequest) (object.PutResult, error)
	Update(ctx context.Context, u meta.Update) (meta.Object, error)
	Delete(ctx context.Context, r object.DeleteRequest) ([]meta.Deleted, error)
}

// UploadStore keeps multipart uploads.
type UploadStore interface {
	UploadLister
	CreateUpload(ctx context.Context, r object.UploadRequest) (meta.Upload, error)
	PutPart(ctx context.Context, r object.PartRequest) (meta.Part, error)
	CopyPart(ctx context.Context, r object.PartCopyRequest) (meta.Part, error)
	Complete(ctx context.Context, r object.CompleteRequest) (object.PutResult, error)
	Abort(ctx context.Context, bucket, key string, id lethe.ID) error
}

// UploadLister lists uploads and parts.
type UploadLister interface {
	Uploads(ctx context.Context, q meta.UploadQuery) ([]meta.Upload, error)
	Parts(ctx context.Context, q object.PartQuery) (meta.Upload, []meta.Part, error)
}

// AccessKeys looks access keys up; *meta.DB satisfies it. AccessKey fails with
// lethe.ErrNoSuchAccessKey.
type AccessKeys interface {
	AccessKey(ctx context.Context, id string) (meta.AccessKey, error)
}
