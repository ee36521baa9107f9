// Package s3blob is a blob.Store in a bucket of an S3 service: a key is the name of
// an object below a prefix. It is a client; Lethe's own S3 server is in package s3.
//
// A probe finds out what the service can do (Capabilities): whether a PUT can
// refuse an existing name, whether one request deletes many keys, whether there are
// multipart uploads. The probe also finds settings of the bucket that would make a
// deletion ineffective or lose a write: versions, object lock, a lifecycle rule. An
// unfit bucket is refused with blob.ErrUnfit and the remedy; it is probed again
// from time to time.
//
// A request is sent once, and its error has what is known of its effect. A response
// that refuses it, or a connection that was never made, is blob.ErrNotDone;
// everything else is blob.ErrUnknown (docs/protocol.md, rules 7 to 9). Only
// requests that may safely land twice are repeated: parts of an upload, deletions,
// pages of a listing.
//
// options.go has the settings, client.go sends, errors.go classifies responses;
// probe.go and bucket.go probe the service and the bucket; put.go, parts.go,
// get.go, delete.go, list.go and sweep.go are the store; answer.go parses the
// responses of batch deletes, pace.go decides how fast to delete.
package s3blob

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/semaphore"

	"github.com/lethe-storage/lethe/blob"
)

// ownFolder, below the prefix, holds what Lethe puts among another program's objects, such
// as those of probes. It is listed only if asked for by a prefix in it. One further below is
// that of a store with a narrower prefix.
const (
	ownFolder   = ".lethe/"
	probeFolder = ownFolder + "probe/"
)

// Store keeps blobs in a bucket. It is safe for concurrent use.
type Store struct {
	o         Options
	client    *s3.Client
	transport http.RoundTripper
	memory    *semaphore.Weighted // bytes of bodies held at once
	pace      *pace
	putting   sync.Map // names of objects in flight: string -> chan struct{}
	state     state
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
)

// New makes a store without a request to the service; the first call makes one. Its
// errors are those of the options.
func New(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Store{o: o, memory: semaphore.NewWeighted(o.Memory)}
	s.pace = newPace(paceOptions{Batch: o.MaxBatch, Concurrency: o.Concurrency, Clock: o.Clock, Changed: o.Events.pace})
	if err := s.connect(ctx); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", o.Bucket, err)
	}
	return s, nil
}

// Open is New and a probe. It fails with blob.ErrDown when the service cannot be
// reached or refuses to work, and with blob.ErrUnfit when the bucket must not be
// written to or deleted from. A process that can do without the backend for a while
// calls New, and Probe.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.Probe(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	c := s.Capabilities()
	for _, why := range []string{c.NoPut, c.NoDelete} {
		if why != "" {
			_ = s.Close()
			return nil, fmt.Errorf("bucket %s: %w: %w: %s", o.Bucket, blob.ErrDown, blob.ErrUnfit, why)
		}
	}
	return s, nil
}

// Close closes idle connections. Calls in flight and open bodies continue.
func (s *Store) Close() error {
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// checkKey refuses keys that cannot be names here.
func (s *Store) checkKey(key string) error {
	if s.o.Foreign {
		return blob.CheckForeign(key)
	}
	return blob.CheckKey(key)
}

// name is the object's name for a key.
func (s *Store) name(key string) *string {
	name := s.o.Prefix + key
	return &name
}

// key returns the key of a listed name; ok is false for names that are not the
// store's: the prefix itself, and what lies in a folder of Lethe's.
func (s *Store) key(name string) (key string, ok bool) {
	key, ok = strings.CutPrefix(name, s.o.Prefix)
	return key, ok && key != "" && !strings.Contains("/"+key, "/"+ownFolder)
}
