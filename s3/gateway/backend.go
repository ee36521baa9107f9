package gateway

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

const (
	// defaultMinPart is the smallest part but the last, in bytes, as in S3.
	defaultMinPart = 5 << 20
	// defaultTimeout bounds operations without a body.
	defaultTimeout = time.Minute
)

// BackendOptions of a Backend. Store is needed.
type BackendOptions struct {
	Store s3.Store
	// Keys confines access keys to their buckets. If nil, only access control
	// lists and policies confine authenticated accounts.
	Keys   s3.AccessKeys
	Clock  lethe.Clock // reads times to live (default lethe.SystemClock)
	Region string      // of new buckets
	// Ownership applies to buckets created without one (default
	// BucketOwnerEnforced).
	Ownership types.ObjectOwnership
	// AccountBuckets is how many buckets an account may own; 0: any number. The
	// root is not limited.
	AccountBuckets int
	HeadCounts     bool          // HeadObject counts as a read for idle times
	MinPart        int64         // the store's, for error texts (default 5 MiB)
	Timeout        time.Duration // of operations that move no body (default 1 min)
	// Base cancels every operation when it is cancelled (default: never).
	Base context.Context
	// KeyRate limits requests per access key.
	KeyRate ratelimit.Rate
	Events  s3.Events
}

// Backend is versitygw's backend over a Store. Missing operations return
// NotImplemented, as S3 does.
type Backend struct {
	backend.BackendUnsupported
	opt   BackendOptions
	store s3.Store
	cache *s3.DocumentCache // caches buckets and their documents
	// policies are the parsed policies of buckets.
	policies *authz.Policies
	rates    *ratelimit.Limiter
	// accounts are the valid grantees of lists; nil disables the check.
	accounts auth.IAMService
}

var _ backend.Backend = (*Backend)(nil)

// NewBackend makes a backend.
func NewBackend(o BackendOptions) *Backend {
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	if o.MinPart == 0 {
		o.MinPart = defaultMinPart
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Base == nil {
		o.Base = context.Background()
	}
	o.Events = o.Events.WithDefaults()
	store, cache := o.Store, s3.NewDocumentCache(o.Store)
	store.Buckets, store.Documents = cache, cache
	return &Backend{
		opt: o, store: store, cache: cache, policies: &authz.Policies{Parse: parsePolicy},
		rates: ratelimit.New(o.KeyRate, nil),
	}
}

// String names the backend in versitygw's messages.
func (*Backend) String() string { return "Lethe" }

// NormalizeObjectKey returns the key unchanged: a key is a name, not a path,
// and authorisation and operation have to use the same bytes.
func (*Backend) NormalizeObjectKey(_, key string) string { return key }

// op is one operation in progress.
type op struct {
	ctx    context.Context
	cancel context.CancelFunc
	req    *request
	names  names
	bucket lethe.ID // whose documents authorised it; empty: any of the name
}

// at names the object of the operation.
func (o *op) at() object.GetRequest {
	return object.GetRequest{Bucket: o.names.bucket, BucketID: o.bucket, Key: o.names.key, Check: o.req.asJudged}
}

// failed keeps an error of which the client receives less until the request ends, since its
// operation is known only then.
func (o *op) failed(err error) {
	o.req.failures = append(o.req.failures, s3.Failure{Bucket: o.names.bucket, Key: o.names.key, Err: err})
}

// need is what an operation requires.
type need struct {
	bucket, key, upload string
	access              authz.Access
	body                bool // moves or reads a body: only the connection's deadlines apply
	xml                 bool // the request's body is an XML document
}

// begin authorises an operation on its bucket and creates its context. The
// caller calls cancel, also after an error.
func (b *Backend) begin(rctx context.Context, n need) (*op, error) {
	o := &op{req: requestOf(rctx), cancel: func() {}}
	o.names = names{bucket: n.bucket, key: n.key, upload: n.upload}
	if err := b.allow(rctx, o.req, n.bucket, n.access); err != nil {
		return o, err
	}
	if n.key != "" {
		if err := checkKey(n.key); err != nil {
			return o, err
		}
	}
	if rc, ok := rctx.(*fasthttp.RequestCtx); ok && n.xml && !s3.WellFormed(rc.Request.Body()) {
		return o, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	acct, _ := account(rctx)
	o.bucket = b.decidedOn(rctx, o.req, n.bucket)
	o.ctx, o.cancel = b.context(o.req, n.body)
	o.ctx = lethe.WithCaller(o.ctx, lethe.Caller{Key: strings.Clone(acct.Access), Request: o.req.event.ID})
	return o, nil
}

// context creates the context of work on a request. It ends with the body, or
// for a request without one after a timeout.
func (b *Backend) context(r *request, body bool) (context.Context, context.CancelFunc) {
	base := r.base
	if base == nil {
		base = b.opt.Base
	}
	if body {
		return context.WithCancel(base)
	}
	return context.WithTimeout(base, b.opt.Timeout)
}

// str clones a string of a request; nil is empty.
func str(p *string) string {
	if p == nil {
		return ""
	}
	return strings.Clone(*p)
}

// num returns an optional number; nil is zero.
func num[T int32 | int64](p *T) T {
	if p == nil {
		return 0
	}
	return *p
}

// ptr returns a pointer to s, nil if it is empty.
func ptr(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// to returns a pointer to v.
func to[T any](v T) *T { return &v }

// cloneMap clones a map of a request with its strings.
func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range maps.All(m) {
		out[strings.Clone(k)] = strings.Clone(v)
	}
	return out
}

// quote puts an ETag in quotes, as HTTP requires.
func quote(etag string) string { return `"` + etag + `"` }

// unquote removes the quotes of an ETag.
func unquote(etag string) string { return strings.Trim(etag, `"`) }

// wanted returns the ETag that a condition names. An empty one, which without its quotes would
// be no condition, keeps them: no object has it.
func wanted(etag string) string { return cmp.Or(unquote(etag), etag) }
