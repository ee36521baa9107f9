package s3

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
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
	// Notifications are the rules by which targets are told of objects.
	Notifications NotificationStore
}

// BucketStore keeps buckets.
type BucketStore interface {
	CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error)
	Bucket(ctx context.Context, name string) (ledger.Bucket, error)
	Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error)
	DeleteBucket(ctx context.Context, name string, id lethe.ID) error
	SetBucketOwner(ctx context.Context, bucket, owner string) error
}

// DocumentStore keeps opaque documents of a bucket.
type DocumentStore interface {
	PutDocument(ctx context.Context, d ledger.Document) error
	Document(ctx context.Context, bucket, kind string) ([]byte, error)
	DeleteDocument(ctx context.Context, d ledger.Document) error
}

// RuleStore keeps the lifecycle rules of buckets.
type RuleStore interface {
	SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error)
	Rules(ctx context.Context, bucket string) (ledger.BucketRules, error)
}

// NotificationStore keeps the notification rules of buckets.
type NotificationStore interface {
	SetNotifications(ctx context.Context, c ledger.NotificationChange) error
	Notifications(ctx context.Context, bucket string) (notification.Rules, error)
	// MayUse returns nil if a bucket may use a target: notification.ErrNoTarget, ErrNotAllowed.
	MayUse(bucket, target string) error
}

// HoldStore keeps holds.
type HoldStore interface {
	AddHold(ctx context.Context, h ledger.Hold) (ledger.Hold, error)
	ReleaseHold(ctx context.Context, h ledger.Hold) error
	HoldsOn(ctx context.Context, bucket, key string) ([]ledger.Hold, error)
}

// ObjectStore reads and writes objects.
type ObjectStore interface {
	ObjectReader
	ObjectWriter
}

// ObjectReader reads objects.
type ObjectReader interface {
	Get(ctx context.Context, r object.GetRequest) (*object.Reader, error)
	Head(ctx context.Context, r object.GetRequest) (ledger.Object, error)
	List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error)
}

// ObjectWriter writes objects.
type ObjectWriter interface {
	Put(ctx context.Context, r object.PutRequest) (object.PutResult, error)
	Copy(ctx context.Context, r object.CopyRequest) (object.PutResult, error)
	Update(ctx context.Context, u ledger.Update) (ledger.Object, error)
	Delete(ctx context.Context, r object.DeleteRequest) ([]ledger.Deleted, error)
}

// UploadStore keeps multipart uploads.
type UploadStore interface {
	UploadLister
	CreateUpload(ctx context.Context, r object.UploadRequest) (ledger.Upload, error)
	PutPart(ctx context.Context, r object.PartRequest) (ledger.Part, error)
	CopyPart(ctx context.Context, r object.PartCopyRequest) (ledger.Part, error)
	Complete(ctx context.Context, r object.CompleteRequest) (object.PutResult, error)
	Abort(ctx context.Context, bucket, key string, id lethe.ID) error
}

// UploadLister lists uploads and parts.
type UploadLister interface {
	Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error)
	Parts(ctx context.Context, q object.PartQuery) (ledger.Upload, []ledger.Part, error)
}

// AccessKeys looks up access keys; *sqlledger.DB satisfies it. AccessKey fails
// with lethe.ErrNoSuchAccessKey.
type AccessKeys interface {
	AccessKey(ctx context.Context, id string) (ledger.AccessKey, error)
}
