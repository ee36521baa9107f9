package app

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// front is the S3 server, which binds its address when it serves.
type front struct {
	server *gateway.Server
	ready  func(net.Addr)
}

// serve serves until ctx ends. Without a server it waits for that.
func (f *front) serve(ctx context.Context, ready func(net.Addr)) error {
	if f.server == nil {
		ready(nil)
		<-ctx.Done()
		return nil
	}
	f.ready = ready
	return f.server.Serve(ctx)
}

func (a *App) openFront(context.Context) (err error) {
	if !a.Config.Has(config.RoleServe) {
		return nil
	}
	c := a.Config.Server
	store := newBuckets{tracedObjects{a.Objects, a.watch.trace}, settingsOf(a.Config.Store), a.mayName}
	o := gateway.Options{
		Store: s3.Store{Buckets: store, Documents: store, Rules: store, Objects: store, Uploads: store, Holds: store, Notifications: notifications{a.Ledger, a.Config}},
		Keys:  a.Ledger, Root: gateway.Credentials{Access: a.Root.Access, Secret: a.Root.Secret.Reveal()},
		Region: c.Region, Domain: c.Domain, Listen: []string{c.S3.Listen}, CORSOrigin: c.CORS.DefaultOrigin,
		MaxConnections: c.MaxConnections, Drain: a.drainTimeout(), Clock: a.opt.Clock, MinPart: int64(a.Config.Store.MinPartSize),
		AccountBuckets: c.AccountBuckets, MaxPerAddress: c.MaxPerAddress, BodyPace: a.bodyPace(), HeadCounts: a.Config.Store.HeadCounts,
		KeyRate:        ratelimit.Rate{PerSecond: c.RateLimit.RequestsPerSecond, Burst: c.RateLimit.Burst},
		AddressRate:    ratelimit.Rate{PerSecond: c.RateLimit.RequestsPerSecond, Burst: c.RateLimit.Burst},
		TrustedProxies: prefixes(c.TrustedProxies),
		Events:         a.watch.front(),
		Ready:          func(addrs []net.Addr) { a.front.ready(addrs[0]) },
	}
	if own := types.ObjectOwnership(c.Ownership); own != types.ObjectOwnershipBucketOwnerEnforced {
		o.Ownership = own
	}
	if c.S3.TLS.On() {
		certificates, err := gateway.LoadCertificates(c.S3.TLS.Cert, c.S3.TLS.Key, o.Events)
		if err != nil {
			return err
		}
		o.GetCertificate = certificates.GetCertificate
	}
	a.front.server, err = gateway.New(o)
	return err
}

// newBuckets gives new buckets the configured settings.
type newBuckets struct {
	tracedObjects
	settings ledger.BucketSettings
	mayName  func(context.Context, ledger.Bucket) error
}

// mayName reserves the bucket names in keys' lists for those keys and the root.
// Otherwise another key could create the bucket and receive what is stored there.
// It returns lethe.ErrBucketExists.
func (a *App) mayName(ctx context.Context, b ledger.Bucket) error {
	if b.Owner == a.Root.Access {
		return nil
	}
	keys, err := a.Ledger.AccessKeys(ctx)
	meant := false
	for _, k := range keys {
		if slices.Contains(k.Buckets, b.Name) {
			if k.Owner == b.Owner {
				return err
			}
			meant = true
		}
	}
	if meant {
		return fmt.Errorf("bucket %s is reserved for other keys: %w", b.Name, lethe.ErrBucketExists)
	}
	return err
}

// CreateBucket fills in the initial settings of a bucket.
func (n newBuckets) CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error) {
	if err := n.mayName(ctx, b); err != nil {
		return ledger.Bucket{}, err
	}
	b.BucketSettings = n.settings
	return n.tracedObjects.CreateBucket(ctx, b)
}

func settingsOf(c config.Store) ledger.BucketSettings {
	return ledger.BucketSettings{
		DefaultTTL: c.NewBuckets.DefaultTTL.Std(), MaxTTL: c.NewBuckets.MaxTTL.Std(),
		DefaultIdle: c.NewBuckets.DefaultIdle.Std(), MaxIdle: c.NewBuckets.MaxIdle.Std(),
		QuotaBytes: int64(c.NewBuckets.Quota), QuotaObjects: c.NewBuckets.MaxObjects, Undo: c.Undo.Std(),
	}
}
