package app

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/internal/config"
)

// openS3 opens a bucket of an S3 service. One that the ledger has may be down for a
// while; a new one has to be usable.
func (s *Store) openS3(ctx context.Context, b config.Backend, known bool) error {
	o, err := s3Options(b)
	if err != nil {
		return fmt.Errorf("backend %s: %w", b.Name, err)
	}
	o.Events = s.watch.s3blob(b.Name)
	st, err := s3blob.New(ctx, o)
	if err != nil {
		return fmt.Errorf("backend %s: %w", b.Name, err)
	}
	s.closing(st.Close)
	if s.opt.Create || !known {
		err = s.probe(ctx, st, known)
	}
	unfit := st.Capabilities()
	switch {
	case known && err != nil:
		s.opt.Log.Error("a backend does not answer; the store continues without it", "backend", b.Name, "error", err)
	case err != nil:
		return fmt.Errorf("backend %s is new, and cannot be used: %w; check its endpoint, bucket and keys", b.Name, err)
	case !known && (unfit.NoPut != "" || unfit.NoDelete != ""):
		return fmt.Errorf("backend %s: bucket %s: %w: %s", b.Name, b.S3.Bucket, blob.ErrUnfit, cmp.Or(unfit.NoPut, unfit.NoDelete))
	case unfit.NoPut != "" || unfit.NoDelete != "":
		s.opt.Log.Error("a backend is unsuitable: it is refused until this is corrected", "backend", b.Name,
			"no_writes", unfit.NoPut, "no_deletes", unfit.NoDelete)
	}
	s.buckets[b.Name] = st
	s.addBackend(b.Name, st)
	return nil
}

// probe finds out what a bucket's service can do. For a bucket that the ledger has,
// it does not delay the start: it is repeated when it is needed.
func (s *Store) probe(ctx context.Context, st *s3blob.Store, known bool) error {
	if known {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*lookTime)
		defer cancel()
	}
	return st.Probe(ctx)
}

// deletesInFlight is how many batches of deletes a worker has in flight on a bucket
// at full speed: the service is far away, and does several at once.
const deletesInFlight = 4

// partsHeld is how many parts of blobs in flight to a service are held in memory at
// once.
const partsHeld = 16

// s3Memory bounds the bytes in flight to a service that are held in memory.
func s3Memory(c config.S3) int64 { return partsHeld * int64(c.PartSize) }

func s3Options(b config.Backend) (s3blob.Options, error) {
	c := b.S3
	secret, err := c.SecretKey.OrFile(c.SecretKeyFile)
	if err != nil {
		return s3blob.Options{}, fmt.Errorf("s3.secret_key_file: %w", err)
	}
	o := s3blob.Options{
		Endpoint: c.Endpoint, Region: c.Region, Bucket: c.Bucket, Prefix: c.Prefix,
		AccessKey: c.AccessKey, SecretKey: secret.Reveal(), PathStyle: c.PathStyle,
		Timeout: c.Timeout.Std(), PartSize: int64(c.PartSize), Memory: s3Memory(c), MaxBatch: c.MaxBatch, Concurrency: c.Concurrency,
	}
	if c.CAFile == "" {
		return o, nil
	}
	if o.CA, err = os.ReadFile(c.CAFile); err != nil {
		return o, fmt.Errorf("s3.ca_file: %w", err)
	}
	return o, nil
}
