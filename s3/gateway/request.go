package gateway

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// requestKey is the context key of a request's state.
type requestKey struct{}

// Names under which versitygw keeps its state of a request.
const (
	localAccount = "account"
	localIsRoot  = "is-root"
	localPublic  = "public-bucket"
	localOwner   = "bucket-owner"
	localForm    = "object-post-result"
	localPath    = "original-uri-path" // where the bucket is part of the host's name
)

// request is the state that one request shares between the web server's
// middleware, the backend and the access keys. One goroutine uses it at a time.
type request struct {
	event s3.RequestEvent
	// base is the parent of the request's contexts (nil for the backend's), and
	// ended reports the request's end to its provider.
	base  context.Context
	ended func(s3.RequestEvent)
	// failures are reported when the request ends.
	failures []s3.Failure
	// routed is the bucket as versitygw has parsed and verified it.
	routed string
	// expires is the header for the object's expiry, empty for none.
	expires string
	// readsLeft is the header for the reads that an object has left, empty for none.
	readsLeft string
	// unchanged is the object of a 304.
	unchanged *ledger.Object
	// hoisted is the user metadata in the query of a presigned link.
	hoisted map[string]string
	// cors are the bucket's rules for scripts of other origins, once looked up.
	cors []byte
	// document replaces the response's body.
	document []byte
	// wish is the access control list of a new bucket that versitygw refused.
	wish *authz.RequestedACL
	// referred reports that the response has marks instead of characters.
	referred bool
	// parts is the number of parts in a response of object attributes.
	parts int
	// end reports that the body was sent, with its bytes.
	end func(bytes int64)
	// streaming reports that a body is being sent; its end ends the request.
	streaming bool
	// received is how long reads waited for the body's bytes, in nanoseconds; a
	// backend may read them in its own goroutine.
	received atomic.Int64
	// fetched is how long reading the response's bytes took.
	fetched time.Duration

	web   fiber.Ctx // while the request is being handled
	lists int       // access control lists read so far, for a copy

	body       *budget.Reader // a document's
	form       bool           // an upload by HTML form: the body's length is unknown
	filename   string         // of the form's file
	policyRead bool           // reads the bucket's policy itself
	// policyStatus: requests whether it is public.
	policyStatus bool
	urlEncode    bool // wants names in listings URL-encoded
	quiet        bool // a deletion whose response omits deleted keys

	key     *ledger.AccessKey // the restricted key that signed it, once looked up
	counted bool              // by the rate limit of its key
	decided bool              // the bucket's policy was read to decide on it
	// deciding are the buckets on which versitygw decides.
	deciding []string
	// meant are the ids of buckets by whose documents the request is decided on.
	meant map[string]lethe.ID
	// judging are the objects by which it is decided on the request, as they were read then: once,
	// however many conditions ask. judged is what of them decided.
	judging map[objectName]ledger.Object
	judged  map[objectName]ledger.Marks
	// replaced: an object was not as it decided on the request.
	replaced bool
}

// errReplaced: what the request was authorised for is no longer there.
var errReplaced = errors.New("the object, its list or its tags were replaced since the request was authorised")

type objectName struct{ bucket, key string }

// judge returns an object by which it is decided on the request, the zero object if there is none.
func (b *Backend) judge(r *request, name objectName) (ledger.Object, error) {
	if o, ok := r.judging[name]; ok {
		return o, nil
	}
	ctx, cancel := b.context(r, false)
	defer cancel()
	o, err := b.store.Objects.Head(ctx, object.GetRequest{Bucket: name.bucket, Key: name.key})
	if err != nil && !errors.Is(err, lethe.ErrNoSuchKey) && !errors.Is(err, lethe.ErrInvalidKey) {
		return ledger.Object{}, err
	}
	if r.judging == nil {
		r.judging = map[objectName]ledger.Object{}
	}
	r.judging[name] = o
	return o, nil
}

// judgesTag records that a tag of an object decides on the request, and returns it; nil if the
// object has none of the name.
func (r *request) judgesTag(name objectName, tag string) (value *string) {
	if v, has := r.judging[name].Tags[tag]; has {
		value = &v
	}
	r.marks(name, func(m *ledger.Marks) {
		if m.Tags == nil {
			m.Tags = map[string]*string{}
		}
		m.Tags[tag] = value
	})
	return value
}

// judgesList records that the list of an object decides on the request.
func (r *request) judgesList(name objectName) {
	r.marks(name, func(m *ledger.Marks) { m.Listed, m.ACL = true, r.judging[name].Attrs.ACL })
}

func (r *request) marks(name objectName, add func(*ledger.Marks)) {
	if r.judged == nil {
		r.judged = map[objectName]ledger.Marks{}
	}
	m := r.judged[name]
	add(&m)
	r.judged[name] = m
}

// asJudged returns errReplaced if the object is not as it decided on the request.
func (r *request) asJudged(o ledger.Object) error {
	if !r.judged[objectName{o.Bucket, o.Key}].On(o) {
		r.replaced = true
		return errReplaced
	}
	return nil
}

// update changes an object that is still as it decided on the request; errReplaced if it is not.
func (b *Backend) update(o *op, u ledger.Update) error {
	u.Bucket, u.Into, u.Key = o.names.bucket, o.bucket, o.names.key
	u.Marks = o.req.judged[objectName{u.Bucket, u.Key}]
	_, err := b.store.Objects.Update(o.ctx, u)
	if errors.Is(err, lethe.ErrPreconditionFailed) {
		err = errReplaced
	}
	return err
}

// requestOf returns the state of ctx's request; a fresh one if it has none.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// header returns a header of the request while it is being handled, "" if it has none.
func (r *request) header(name string) string {
	if r.web == nil {
		return ""
	}
	return strings.Clone(r.web.Get(name))
}

// account returns the account that signed the request; the zero account if
// anonymous.
func account(ctx context.Context) (acct auth.Account, root bool) {
	acct, _ = ctx.Value(localAccount).(auth.Account)
	root, _ = ctx.Value(localIsRoot).(bool)
	return acct, root
}

// public reports whether versitygw has admitted an unsigned request.
func public(ctx context.Context) bool {
	return ctx.Value(localPublic) != nil
}

// expiresWith sets the response's headers for an object's end.
func (r *request) expiresWith(o ledger.Object) {
	r.expires, r.readsLeft = s3.Expiration(o), s3.ReadsLeft(o)
}
