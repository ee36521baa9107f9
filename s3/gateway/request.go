package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// requestKey is the name under which a request's state travels with it.
type requestKey struct{}

// Names under which versitygw keeps what it knows of a request.
const (
	localAccount = "account"
	localIsRoot  = "is-root"
	localPublic  = "public-bucket"
	localOwner   = "bucket-owner"
	localForm    = "object-post-result"
)

// request is what one request carries between the web server's middleware, the
// backend and the access keys. It is used by one goroutine at a time.
type request struct {
	event s3.RequestEvent
	// base begins the contexts of what is done for the request (nil: as the backend
	// has it), and ended tells who gave it that the request has ended.
	base  context.Context
	ended func(s3.RequestEvent)
	// routed is the bucket as versitygw has read and verified it.
	routed string
	// expires is the header that tells of the object's end; empty: none.
	expires string
	// unchanged is the object that the client has already, of a 304.
	unchanged *ledger.Object
	// cors are the rules of the bucket for scripts of other origins, once looked up.
	cors []byte
	// document takes the place of the response's body.
	document []byte
	// wish is the access control list of a new bucket that versitygw refused.
	wish *authz.Wish
	// referred: the response has marks in place of characters.
	referred bool
	// parts is how many parts the object has whose attributes are answered.
	parts int
	// end tells that the body was sent, with its bytes.
	end func(bytes int64)
	// streaming: a body is being sent; its end ends the request.
	streaming bool
	// received is how long the body's bytes were waited for, in nanoseconds; a backend
	// may read them in a goroutine of its own.
	received atomic.Int64
	// fetched is how long those of the answer took to be read.
	fetched time.Duration

	web   fiber.Ctx // while the request is being answered
	lists int       // access control lists that were asked for, of a copy

	body       *budget.Reader // a document's
	form       bool           // an upload by HTML form: the body's length is not known
	filename   string         // of the form's file
	policyRead bool           // asks for the bucket's policy itself
	// policyStatus: asks whether it is public.
	policyStatus bool
	urlEncode    bool // wants names in listings URL-encoded
	quiet        bool // a deletion that is not to be told of each key

	key     *ledger.AccessKey // the restricted key that signed it, once looked up
	counted bool              // by the rate of its key
	decided bool              // the bucket's policy was asked for to decide on it
	// deciding are the buckets on which versitygw decides.
	deciding []string
	// meant are the ids of buckets on which is decided that they may be changed.
	meant map[string]lethe.ID
}

// requestOf returns the state of the request that ctx belongs to; a fresh one if
// it came another way.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// account returns who signed the request; the zero account if nobody did.
func account(ctx context.Context) (acct auth.Account, root bool) {
	acct, _ = ctx.Value(localAccount).(auth.Account)
	root, _ = ctx.Value(localIsRoot).(bool)
	return acct, root
}

// public says that versitygw has admitted an unsigned request.
func public(ctx context.Context) bool {
	return ctx.Value(localPublic) != nil
}

// expiresWith notes the end of an object for the response's header.
func (r *request) expiresWith(o ledger.Object) { r.expires = s3.Expiration(o) }
