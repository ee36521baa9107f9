// Package s3blob is a blob.Store in a bucket of an S3 service: a key is the name
// of an object below a prefix.
//
// What the service can do is found out by a probe (Capabilities), not by its
// name: whether a PUT can be made to refuse an existing name, whether many keys
// are deleted by one request, whether there are multipart uploads. The probe also
// looks at what would make a deletion a lie or a write a loss: versions, object
// lock, a lifecycle rule of the bucket. What it finds unfit is refused with
// blob.ErrUnfit and the word what to do; it is asked again from time to time.
//
// A request is sent once, and its error says what is known of its effect: an
// answer that refuses it, or a connection that was never made, is blob.ErrNotDone,
// everything else is blob.ErrUnknown (docs/protocol.md, rules 7 to 9). Only what may safely
// land twice is repeated: parts of an upload, deletions, pages of a listing.
//
// options.go says what can be set, client.go sends, errors.go judges answers;
// probe.go and bucket.go find out what the service and the bucket are; put.go,
// parts.go, get.go, delete.go, list.go and sweep.go are the store; answer.go
// reads the answers of batch deletes, pace.go decides how fast to delete.
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

// ownFolder, below the prefix, holds the objects of probes. No key can lie in it,
// and it is not listed.
const ownFolder = ".lethe/"

// Store keeps blobs in a bucket. It is safe for concurrent use.
type Store struct {
	o         Options
	client    *s3.Client
	transport http.RoundTripper
	memory    *semaphore.Weighted // bytes of bodies held at once
	pace      *pace
	putting   sync.Map // names of objects under way: string -> chan struct{}
	state     state
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
)

// New makes a store without asking the service; the first call does. Its errors
// are those of the options.
func New(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("s3blob: %w", err)
	}
	s := &Store{o: o, memory: semaphore.NewWeighted(o.Memory)}
	s.pace = newPace(paceOptions{Batch: o.MaxBatch, Concurrency: o.Concurrency, Clock: o.Clock, Changed: o.Events.pace})
	if err := s.connect(ctx); err != nil {
		return nil, fmt.Errorf("s3blob: bucket %s: %w", o.Bucket, err)
	}
	return s, nil
}

// Open is New and a probe. It fails with blob.ErrDown when the service cannot be
// reached or refuses to work, and with blob.ErrUnfit when the bucket must not be
// written to or deleted from as it stands. A process that can do without the
// backend for a while calls New, and Probe.
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
			return nil, fmt.Errorf("s3blob: bucket %s: %w: %w: %s", o.Bucket, blob.ErrDown, blob.ErrUnfit, why)
		}
	}
	return s, nil
}

// Close lets idle connections go. Calls under way and open bodies go on.
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

// key is the key of a name that was listed; ok is false for what is not the
// store's to tell: the prefix itself, and what probes have left.
func (s *Store) key(name string) (key string, ok bool) {
	key, ok = strings.CutPrefix(name, s.o.Prefix)
	return key, ok && key != "" && !strings.HasPrefix(key, ownFolder)
}
