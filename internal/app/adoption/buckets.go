package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/s3blob"
)

// buckets are the opened stores: one for each collection and prefix, since what
// a store learns about its service, and its rate of deletes, belong to the
// store.
type buckets struct {
	mu       sync.Mutex
	open     map[folder]bucket
	pairings map[string]*adopt.Pairing // by collection
}

// folder is a prefix in the bucket of a collection.
type folder struct{ collection, prefix string }

// close closes the stores.
func (b *buckets) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, store := range b.open {
		errs = append(errs, store.Close())
	}
	b.open = nil
	return errors.Join(errs...)
}

// bucket returns the bucket of a collection below its prefix. It sends no
// request.
func (a *Adoption) bucket(ctx context.Context, name string) (bucket, error) {
	return a.below(ctx, name, a.Description.Collections[name].Prefix)
}

// below returns the bucket of a collection below a prefix.
func (a *Adoption) below(ctx context.Context, name, prefix string) (bucket, error) {
	a.buckets.mu.Lock()
	defer a.buckets.mu.Unlock()
	at := folder{name, prefix}
	if store := a.buckets.open[at]; store != nil {
		return store, nil
	}
	c := a.Description.Collections[name]
	store, err := open(ctx, a.Description.Buckets[c.Bucket], beside{c.Prefix, prefix})
	if errors.Is(err, blob.ErrDown) {
		err = fmt.Errorf("%w: %s", err, a.mendBucket(name))
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", c.Bucket, err)
	}
	if whole, ok := store.(blob.Store); ok && a.o.Spans.Backend != nil {
		store = hookedBucket{intercept.New(whole, intercept.Observation{Watch: a.o.Spans.Backend(c.Bucket), Clock: a.o.Boot}), store}
	}
	if a.buckets.open == nil {
		a.buckets.open = map[folder]bucket{}
	}
	a.buckets.open[at] = store
	return store, nil
}

// bucket stores objects below a prefix: in a bucket of an S3 service, or a
// folder.
type bucket interface {
	adopt.FolderStore
	adopt.CopyStore
	// Probe finds out what service and bucket support.
	Probe(ctx context.Context) error
	Close() error
}

// open opens a bucket below a prefix, for a collection with objects below
// another.
func open(ctx context.Context, b adopt.BucketSpec, at beside) (bucket, error) {
	if b.Path != "" {
		return openFolder(b, at)
	}
	return s3blob.New(ctx, s3blob.Options{
		Endpoint: b.Endpoint, Region: b.Region, Bucket: b.Bucket, Prefix: at.prefix, Foreign: true,
		AccessKey: b.AccessKey, SecretKey: b.SecretKey, PathStyle: b.PathStyle,
	})
}

// beside is a prefix, and that of the objects of the collection.
type beside struct{ objects, prefix string }

// unfit returns why nothing can be deleted, and put; empty if it can.
func unfit(b bucket) (noDelete, noPut string) {
	if s, ok := untraced(b).(*s3blob.Store); ok {
		return s.Capabilities().NoDelete, s.Capabilities().NoPut
	}
	return "", ""
}

// untraced returns the bucket without tracing.
func untraced(b bucket) bucket {
	if traced, ok := b.(hookedBucket); ok {
		return traced.bucket
	}
	return b
}

// compare compares what rows name with the contents of the bucket.
type compare func(ctx context.Context, store bucket) ([]adopt.Finding, error)

// mendBucket says what to do about a bucket of a collection that does not answer.
func (a *Adoption) mendBucket(name string) string {
	if a.Description.Buckets[a.Description.Collections[name].Bucket].Path != "" {
		return "mount the disk, or correct the bucket's path, or what this user may do there"
	}
	return "correct the bucket's address and keys, or what its key may do"
}

// checkBucket probes the bucket of a collection, and compares.
func (a *Adoption) checkBucket(ctx context.Context, name string, compare compare) ([]adopt.Finding, error) {
	c := a.Description.Collections[name]
	store, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := store.Probe(ctx); err != nil {
		return []adopt.Finding{{Problem: true, What: ofBucket(err), Do: a.mendBucket(name)}}, ctx.Err()
	}
	var out []adopt.Finding
	switch noDelete, noPut := unfit(store); {
	case noDelete != "":
		out = append(out, adopt.Finding{Problem: true, What: "bucket " + c.Bucket + ": " + noDelete, Do: "nothing would be freed"})
	case noPut != "" && c.Kind == adopt.OfFolders:
		out = append(out, adopt.Finding{Problem: true, What: "bucket " + c.Bucket + ": " + noPut, Do: "nothing could be marked"})
	}
	paired, err := a.checkPairing(ctx, name)
	if err != nil {
		return nil, err
	}
	out = append(out, paired...)
	if !adopt.Problems(out) && ages(c) {
		skewed, err := a.checkClock(ctx, store, c)
		if err != nil {
			return nil, err
		}
		out = append(out, skewed...)
	}
	found, err := compare(ctx, store)
	if err == nil {
		var more []adopt.Finding
		more, err = a.checkQuarantine(ctx, name)
		found = append(found, more...)
	}
	return append(out, found...), err
}

// ages reports whether a collection relies on the ages of objects.
func ages(c adopt.Collection) bool {
	return c.Kind == adopt.OfKeys || c.Kind == adopt.OfFolders || c.Graces().ObjectAge > 0
}

// checkClock compares the bucket's clock with the database's. A clock that
// cannot be read now is no finding: another check may be reading it. If it is behind by
// min_age, no object is too young to be an orphan.
func (a *Adoption) checkClock(ctx context.Context, store bucket, c adopt.Collection) ([]adopt.Finding, error) {
	now, err := a.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	at, err := adopt.BackendNow(ctx, store)
	if skew := at.Sub(now); err == nil && skew.Abs() > clockSkew {
		blind := c.Kind == adopt.OfKeys && -skew >= c.Keys.Rules().MinAge
		return []adopt.Finding{{Problem: blind, What: fmt.Sprintf("the bucket's clock differs from the database's by %s; the ages of objects go by the bucket's", skew.Round(time.Second)),
			Do: "set both by NTP, or make min_age and grace.object_age longer by that"}}, nil
	}
	return nil, ctx.Err()
}

// isolated adds to the findings of a collection what bucket or database refuse
// to show. That is a problem of this collection only, unless the database does
// not respond at all.
func (a *Adoption) isolated(ctx context.Context, name string, found []adopt.Finding, err error) ([]adopt.Finding, error) {
	if err == nil || ctx.Err() != nil {
		return found, err
	}
	if errors.Is(err, blob.ErrDown) {
		return append(found, adopt.Finding{Problem: true, What: ofBucket(err), Do: a.mendBucket(name)}), nil
	}
	if _, down := a.DB.Now(ctx); down != nil {
		return found, err
	}
	var denied *sqladopt.Denied
	if errors.As(err, &denied) {
		if slices.ContainsFunc(found, func(f adopt.Finding) bool { return f.Do == adopt.ToGrant(denied.Grants) }) {
			return found, nil
		}
		return append(found, misfit(err)), nil
	}
	return append(found, adopt.Finding{Problem: true, What: "it could not be checked: " + sqladopt.Reason(err).Error(), Do: "correct the description or the table, or let the statement be quicker"}), nil
}

// ofBucket returns the text of a bucket's error without the package that it comes from.
func ofBucket(err error) string {
	return strings.NewReplacer("s3blob: ", "", blob.ErrDown.Error()+": ", "").Replace(err.Error())
}

// sampled compares keys of a collection that sample returns.
func sampled(c adopt.Collection, sample func(ctx context.Context, limit int) ([]string, error)) compare {
	return func(ctx context.Context, store bucket) ([]adopt.Finding, error) {
		keys, err := sample(ctx, samples)
		if err != nil {
			return nil, err
		}
		s, err := look(ctx, store, c.Prefix, keys)
		s.Kind = c.Kind
		return s.Findings(c.Prefix), err
	}
}

func look(ctx context.Context, store bucket, prefix string, keys []string) (s adopt.Sampled, err error) {
	for _, key := range keys {
		if key == "" { // as with NULL, it names nothing
			continue
		}
		s.Named++
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			s.Outside = append(s.Outside, key)
			continue
		}
		if odd := blob.CheckForeign(rest); odd != nil {
			s.Odd = append(s.Odd, fmt.Sprintf("%q (%v)", key, odd))
			continue
		}
		switch err := adopt.Lies(ctx, store, rest); {
		case err == nil:
			s.Found++
		case blob.Absent(err):
			s.Missing = key
			other, err := adopt.OtherSpelling(ctx, store, prefix, key)
			if err != nil {
				return s, err
			}
			s.Spelled = cmp.Or(s.Spelled, other)
		default:
			return s, err
		}
	}
	return s, nil
}
