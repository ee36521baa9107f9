package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/ledger"
)

// Get opens an object. Errors: ErrNoSuchBucket; ErrNoSuchKey, also from the instant
// its time to live has passed; ErrPreconditionFailed, ErrNotModified,
// ErrInvalidRange. If no copy can be read: ErrUnavailable, or ErrCorrupt if all are
// missing or damaged. ctx must last until the body is read.
//
// If the reads of the object are counted, Get takes one in a transaction once the
// beginning of the body was read and verified, and before it returns. Then there is
// ErrNoSuchKey if none was left. Whatever becomes of the body, the read was taken.
//
// For an idle time the object is used once it was found and the conditions hold, also if its
// body cannot be read then, unless r.Uncounted.
func (s *Store) Get(ctx context.Context, r GetRequest) (*Reader, error) {
	rd, err := s.get(ctx, &r)
	return rd, named("get", r.Bucket, r.Key, err)
}

func (s *Store) get(ctx context.Context, r *GetRequest) (*Reader, error) {
	const tries = 4
	if r.If != (ReadCondition{}) {
		// Most conditions are those of caches whose copy is still right: no byte is read.
		if res, err := s.head(ctx, r); err != nil {
			if errors.Is(err, lethe.ErrNotModified) && !r.Uncounted {
				s.used(res)
			}
			return nil, err
		}
	}
	for n := 1; ; n++ {
		res, err := s.ledger.Objects.Resolve(ctx, r.Bucket, r.Key)
		if err != nil {
			return nil, err
		}
		w, err := r.accept(res.Object)
		if err != nil {
			return nil, err
		}
		if !r.Uncounted {
			s.used(res) // before the body is opened, which may take longer than a note may
		}
		rd, err := s.open(ctx, res, w)
		if err == nil && res.Object.Counted() {
			rd, err = s.count(ctx, rd)
		}
		// Nothing was promised yet, so a version that replaced the unreadable one
		// is fine.
		if n == tries || !errors.Is(err, errReplaced) {
			return rd, err
		}
	}
}

// count takes a read of the object that was opened: errReplaced if there is none, or
// another version now. It closes what it does not hand out.
func (s *Store) count(ctx context.Context, rd *Reader) (*Reader, error) {
	o, err := s.ledger.Reads.CountRead(ctx, rd.Object)
	if err != nil {
		if errors.Is(err, lethe.ErrNoSuchKey) {
			err = fmt.Errorf("%w: %w", errReplaced, err)
		}
		return nil, errors.Join(err, rd.Body.Close())
	}
	rd.Object = o
	if b, ok := rd.Body.(*body); ok {
		b.counted = true
	}
	return rd, nil
}

// Head is Get without the body: the object, if it exists, the condition holds and
// the range or part lies within it.
func (s *Store) Head(ctx context.Context, r GetRequest) (ledger.Object, error) {
	res, err := s.head(ctx, &r)
	if err != nil {
		return ledger.Object{}, named("head", r.Bucket, r.Key, err)
	}
	if r.Counts {
		s.used(res)
	}
	return res.Object, nil
}

func (s *Store) head(ctx context.Context, r *GetRequest) (ledger.Resolved, error) {
	res, err := s.ledger.Objects.StatObject(ctx, r.Bucket, r.Key)
	if err == nil {
		_, err = r.accept(res.Object)
	}
	return res, err
}

// accept checks the request against the object that was found.
func (r *GetRequest) accept(o ledger.Object) (window, error) {
	if err := ledger.CheckBucketID(r.Bucket, o.BucketID, r.BucketID); err != nil {
		return window{}, err
	}
	if r.ID != "" && r.ID != o.ID {
		return window{}, fmt.Errorf("%w: there is another version", lethe.ErrPreconditionFailed)
	}
	if err := r.If.check(o); err != nil {
		return window{}, err
	}
	if r.Check != nil {
		if err := r.Check(o); err != nil {
			return window{}, err
		}
	}
	return r.window(o)
}

// open opens a window of exactly the version that was resolved.
func (s *Store) open(ctx context.Context, res ledger.Resolved, w window) (rd *Reader, err error) {
	rd = &Reader{Object: res.Object, Offset: w.offset, Length: w.length}
	size := res.Object.Size
	switch {
	case w.length == 0:
		rd.Body = io.NopCloser(bytes.NewReader(nil))
	case res.Inline.Inline():
		rd.Body, err = s.openInline(res, w)
	case size <= s.opt.Small && (w.length == size || s.caches()):
		held := s.bodyMemory.Account("")
		// The stream of a shorter object would hold as much.
		if size > s.opt.Block && !held.Hold(size) {
			rd.Body, err = s.openLarge(ctx, res, w)
			break
		}
		if rd.Body, err = s.openSmall(ctx, res, w, held); err != nil {
			held.Close()
		}
	default:
		rd.Body, err = s.openLarge(ctx, res, w)
	}
	if err != nil {
		return nil, err
	}
	return rd, nil
}

func (s *Store) caches() bool { return s.opt.Cache != cache.Cache(cache.Null{}) }

// openSmall reads all of a small object, verified, before its first byte is handed
// out. The body closes the account.
func (s *Store) openSmall(ctx context.Context, res ledger.Resolved, w window, held *budget.Account) (io.ReadCloser, error) {
	o := res.Object
	key := cache.Key(s.opt.StoreID, o.ContentID)
	if data, ok := s.cached(ctx, o, key); ok {
		if matchesDigests(data, res.Segments) {
			return &memory{Reader: bytes.NewReader(data[w.offset : w.offset+w.length]), held: held}, nil
		}
		s.opt.Cache.Drop(ctx, key)
		s.opt.Events.wrongCached(o.ContentID)
	}
	b := s.newBody(ctx, res, window{0, o.Size})
	b.most = s.opt.Small
	defer b.Close()
	data := s.bodies.get(o.Size)[:o.Size]
	if _, err := io.ReadFull(b, data); err != nil {
		s.bodies.put(data)
		return nil, err
	}
	if ttl := s.cacheTTL(o, res.Now); ttl > 0 {
		s.opt.Cache.Put(ctx, key, data, ttl)
	}
	return &memory{Reader: bytes.NewReader(data[w.offset : w.offset+w.length]), data: data, pool: &s.bodies, held: held}, nil
}

// cached looks a content up in the cache, which holds none whose reads are counted.
func (s *Store) cached(ctx context.Context, o ledger.Object, key string) ([]byte, bool) {
	if o.Counted() {
		return nil, false
	}
	return s.opt.Cache.Get(ctx, key)
}

// openLarge reads the first block, so that a failure is known before anything is
// promised; the rest is read by the caller.
func (s *Store) openLarge(ctx context.Context, res ledger.Resolved, w window) (io.ReadCloser, error) {
	b := s.newBody(ctx, res, w)
	if err := b.begin(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// memory is a body in a pooled buffer, or in the cache.
type memory struct {
	*bytes.Reader
	data []byte // from the pool
	pool *pool
	held *budget.Account
}

// Close implements io.Closer.
func (m *memory) Close() error {
	if m.data != nil {
		m.pool.put(m.data)
		m.Reader, m.data = bytes.NewReader(nil), nil
	}
	m.held.Close()
	return nil
}

// errReplaced: the version that was being read is gone.
var errReplaced = errors.New("the object was replaced or removed while it was read")

// again resolves the object once more; errReplaced if its key has other bytes now,
// or none. Another version of the same content is fine: those are its bytes.
func (s *Store) again(ctx context.Context, o ledger.Object) (ledger.Resolved, error) {
	res, err := s.ledger.Objects.Resolve(ctx, o.Bucket, o.Key)
	switch {
	case errors.Is(err, lethe.ErrNoSuchKey), errors.Is(err, lethe.ErrNoSuchBucket):
		return res, errReplaced
	case err != nil:
		return res, err
	case res.Object.ContentID != o.ContentID:
		return res, errReplaced
	}
	return res, nil
}
