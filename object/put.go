package object

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
)

// Put stores an object. A body that does not match its declaration fails with
// ErrIncompleteBody, ErrTooLarge or ErrDigestMismatch and leaves nothing. Nothing
// refers to a body before it was read to its end and verified (docs/protocol.md,
// rule 20).
//
// ErrReaped: the upload was reaped for lack of a heartbeat. An error that wraps
// ErrUnknownOutcome leaves open whether the object was made; every other one means
// that it was not. Otherwise the errors are those of the ledger's Commit,
// ErrInvalidKey, and ErrNoRoom or ErrUnavailable when no backend takes the bytes.
func (s *Store) Put(ctx context.Context, r PutRequest) (PutResult, error) {
	res, err := s.put(ctx, &r, "")
	return res, named("put", r.Bucket, r.Key, err)
}

// put stores r; etag, if not empty, replaces the body's MD5.
func (s *Store) put(ctx context.Context, r *PutRequest, etag string) (PutResult, error) {
	if err := ledger.CheckKey(r.Key); err != nil {
		return PutResult{}, err
	}
	w := &write{s: s, r: r, etag: etag, op: s.newID()}
	want := expected{block: s.opt.Block, size: r.Size, sha256: r.SHA256, md5: r.MD5}
	if r.Finish != nil {
		want.finish = func() error { return r.Finish(&r.Attrs) }
	}
	w.in = newIntake(ctx, r.Body, want)
	if r.Size > s.opt.Small {
		return w.large(ctx, nil)
	}
	held := s.bodyMemory.Account("")
	defer held.Close()
	data, whole, err := w.in.readSmall(&s.bodies, s.opt.Small, held)
	defer func() { s.bodies.put(data) }()
	if err != nil {
		return PutResult{}, err
	}
	switch {
	case !whole:
		return w.large(ctx, data)
	case len(data) == 0:
		return s.commit(ctx, w.plan(), nil)
	case int64(len(data)) <= s.opt.Inline:
		return w.inline(ctx, data)
	}
	return w.uploaded(ctx, data)
}

// write is a put in progress.
type write struct {
	s    *Store
	r    *PutRequest
	in   *intake
	op   lethe.ID
	etag string
}

// uploaded references the content if it exists and is sound, else uploads it.
func (w *write) uploaded(ctx context.Context, data []byte) (PutResult, error) {
	c := w.plan()
	u := &upload{size: int64(len(data)), data: data, digest: c.Content.Digest, crc: w.in.sums.CRC32C(), blocks: w.in.sums.Sums(), promotion: promotion(lethe.CallerOf(ctx), c)}
	u.backends = w.s.opt.Pick(u.size)
	// Most bytes are new, which Begin finds out. It is checked first if a condition
	// may fail, and if no backend takes the bytes, which may exist nonetheless.
	u.unknown = c.If == (ledger.Precondition{}) && len(u.backends) > 0 && !w.r.Send
	if u.unknown {
		if res, err := w.uploadKept(ctx, u); !errors.Is(err, lethe.ErrContentKnown) {
			return res, err
		}
	}
	if !w.r.Send {
		if res, err := w.refer(ctx, c); !errors.Is(err, lethe.ErrContentGone) {
			return res, err
		}
	}
	u.unknown = false
	return w.uploadKept(ctx, u)
}

// uploadKept uploads a small body, and caches it for the next reader.
func (w *write) uploadKept(ctx context.Context, u *upload) (PutResult, error) {
	res, err := w.upload(ctx, u)
	if err == nil {
		w.s.keep(ctx, res.Object, u.data)
	}
	return res, err
}

// keptBody is the largest body that is cached for the next reader, in bytes: above
// it the cost of opening a file is small beside that of sending the body.
const keptBody = 64 << 10

// keep caches a small body that was just stored, where that costs no call. If the
// object is gone already, its content stays in the cache, unused, until it expires
// or is evicted.
func (s *Store) keep(ctx context.Context, o ledger.Object, data []byte) {
	if k, ok := s.opt.Cache.(cache.Keeper); ok && !o.Counted() && o.ContentID != "" && len(data) <= keptBody {
		k.Keep(ctx, cache.Key(s.opt.StoreID, o.ContentID), data, s.cacheTTL(o, o.ModifiedAt))
	}
}

// refer makes the object without its bytes: ErrContentGone if they are not known.
func (w *write) refer(ctx context.Context, c ledger.Commit) (PutResult, error) {
	res, err := w.s.commit(ctx, c, nil)
	if err == nil {
		w.s.events.deduped(res.Object, false)
	}
	return res, err
}

// large streams the body, of which begun was read already.
func (w *write) large(ctx context.Context, begun []byte) (PutResult, error) {
	if err := w.precheck(ctx); err != nil {
		return PutResult{}, err
	}
	u := &upload{size: w.in.want.size, stream: &streamed{in: w.in, begun: begun}}
	if w.fixed() {
		c := w.plan()
		u.digest, u.promotion = c.Content.Digest, promotion(lethe.CallerOf(ctx), c)
	}
	return w.upload(ctx, u)
}

// fixed reports whether all of the commit is known before the body is read, so that
// the reaper may finish it from proof (docs/protocol.md, rule 19).
func (w *write) fixed() bool {
	r := w.r
	return r.Size >= 0 && r.SHA256 != "" && (r.MD5 != "" || w.etag != "") && r.Finish == nil
}

func (w *write) upload(ctx context.Context, u *upload) (PutResult, error) {
	b, err := w.s.send(ctx, u)
	if err != nil {
		return PutResult{}, err
	}
	c := w.plan()
	c.Blobs = []ledger.Uploaded{b.Uploaded}
	res, err := w.s.commit(ctx, c, []sent{b})
	if err == nil && res.Duplicate {
		w.s.events.deduped(res.Object, true)
	}
	return res, err
}

// plan is the transaction that makes the object, without the blobs.
func (w *write) plan() ledger.Commit {
	size, digest, etag := w.in.n, w.in.digest(), w.in.etag()
	if !w.in.ended() {
		size, digest, etag = w.r.Size, strings.ToLower(w.r.SHA256), strings.ToLower(w.r.MD5)
	}
	if w.etag != "" {
		etag = w.etag
	}
	c := ledger.Commit{
		Op: w.op, What: cmp.Or(w.r.What, "put"), If: w.r.If, Into: w.r.BucketID, TTL: w.r.TTL, ByKey: w.r.ByKey, Reach: w.s.reach(),
		Object: ledger.Object{
			Bucket: w.r.Bucket, Key: w.r.Key, Size: size, ETag: etag,
			TTLAt: w.r.TTLAt, ReadsLeft: w.r.Reads, IdleFor: w.r.Idle, Attrs: w.r.Attrs, Tags: w.r.Tags,
		},
	}
	if size > 0 {
		// The ledger sets the dedup domain, which is the bucket's.
		c.Content = ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: size}
	}
	return c
}

// promotion returns what the reaper needs to make the commit c with one blob.
func promotion(by lethe.Caller, c ledger.Commit) func(ledger.Uploaded) *ledger.Promotion {
	return func(b ledger.Uploaded) *ledger.Promotion {
		c := c
		c.Blobs, c.Reach, c.By = []ledger.Uploaded{b}, nil, by // the reaper may reach other backends
		return &ledger.Promotion{Commit: c}
	}
}

// commit settles the transaction that makes an object, and gives its blobs up if it
// fails.
func (s *Store) commit(ctx context.Context, c ledger.Commit, blobs []sent) (PutResult, error) {
	var made ledger.Committed
	o := operation{op: c.Op, what: c.What, promotable: len(blobs) > 0 && blobs[0].promotable}
	o.run = func(ctx context.Context) error {
		return s.withRoom(ctx, copiedIn(c), func(ctx context.Context) (err error) {
			made, err = s.ledger.Objects.Commit(ctx, c)
			return err
		})
	}
	end, err := s.settle(ctx, o)
	if err != nil {
		return PutResult{}, s.abandonBlobs(ctx, blobs, err)
	}
	if end.lookedUp {
		made.Object = s.recorded(ctx, c, end.outcome)
	}
	if len(blobs) == 0 && !c.Inline.Inline() && c.Object.Size > 0 {
		made.Duplicate = true // only existing content can be referenced
	}
	return s.made(ctx, made), nil
}

// made reports an object that was made.
func (s *Store) made(ctx context.Context, made ledger.Committed) PutResult {
	s.drop(ctx, made.Dropped)
	s.events.committed(made.Object, made.Duplicate)
	return PutResult{Object: made.Object, Duplicate: made.Duplicate}
}

// abandonBlobs gives up the blobs of a commit that certainly did not happen. Those of an
// unknown one are left to the reaper: they may be live.
func (s *Store) abandonBlobs(ctx context.Context, blobs []sent, cause error) error {
	if errors.Is(cause, lethe.ErrUnknownOutcome) {
		for _, b := range blobs {
			s.events.unrecorded(Unrecorded{b.Blob, b.backend, b.Size, "commit", cause})
			if b.mayBeReaped {
				s.condemnLate(ctx, ledger.LateBytes{Blob: b.Blob, Backend: b.backend, Size: b.Size})
			}
		}
		return cause
	}
	for _, b := range blobs {
		cause = s.giveUp(ctx, abandonment{blob: b.Blob, backend: b.backend, size: b.Size, mayBeReaped: b.mayBeReaped, late: b.Late, promotable: b.promotable, cause: cause})
	}
	return cause
}

// recorded returns the object that a commit has made according to its outcome: its
// row, or if that was replaced or removed since, what the commit contained.
func (s *Store) recorded(ctx context.Context, c ledger.Commit, out ledger.Outcome) ledger.Object {
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	res, err := s.ledger.Objects.StatObject(ctx, c.Object.Bucket, c.Object.Key)
	if err == nil && res.Object.ID == out.ObjectID {
		return res.Object
	}
	o := c.Object
	o.ID, o.ModifiedAt = out.ObjectID, out.At
	if c.TTL > 0 {
		o.TTLAt = out.At.Add(c.TTL)
	}
	return o
}

// precheck refuses early an upload without a bucket or room in it, with too long a
// time to live, or with a condition that fails already. The commit decides on what
// passes here.
func (w *write) precheck(ctx context.Context) error {
	b, err := w.s.ledger.Buckets.Bucket(ctx, w.r.Bucket)
	if err != nil {
		return err
	}
	if _, err := b.EndOf(w.s.opt.Clock.Now(), ledger.TTLChange{TTL: w.r.TTL, ByKey: w.r.ByKey}, 0); err != nil {
		return err
	}
	if _, err := b.EndsIdle(w.r.Idle, 0); err != nil {
		return err
	}
	full := b.QuotaObjects > 0 && b.Objects >= b.QuotaObjects || b.QuotaBytes > 0 && w.r.Size > 0 && b.Bytes+w.r.Size > b.QuotaBytes
	if w.r.If == (ledger.Precondition{}) && !full {
		return nil
	}
	var old *ledger.Object
	o, err := w.s.ledger.Objects.StatObject(ctx, w.r.Bucket, w.r.Key)
	if err == nil {
		old = &o.Object
	} else if !errors.Is(err, lethe.ErrNoSuchKey) {
		return err
	}
	if err := w.r.If.Holds(old); err != nil || !full {
		return err
	}
	return checkQuota(b, w.r.Size, old)
}

// checkQuota refuses a body of size bytes (-1: unknown) that exceeds the bucket's quota,
// even if it replaces the object of its key. A bucket that evicts makes the room.
func checkQuota(b ledger.Bucket, size int64, old *ledger.Object) error {
	err := b.Takes(size, old, b.CheckQuota)
	if _, evicts := ledger.RoomFor(err); evicts {
		return nil
	}
	return err
}
