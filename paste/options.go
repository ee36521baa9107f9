package paste

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Owner owns the bucket of the pastes. No access key can have this name, so that
// only the root and keys with access to the bucket reach it by S3.
const Owner = "lethe:pastes"

// maxSize bounds Options.MaxSize: pastes are held in memory.
const maxSize = 64 << 20

// Store is what pastes need of *object.Store.
type Store interface {
	CreateBucket(context.Context, ledger.Bucket) (ledger.Bucket, error)
	Put(context.Context, object.PutRequest) (object.PutResult, error)
	Get(context.Context, object.GetRequest) (*object.Reader, error)
	Head(context.Context, object.GetRequest) (ledger.Object, error)
	Delete(context.Context, object.DeleteRequest) ([]ledger.Deleted, error)
}

// Limiter bounds the requests of one client, named by its address; an IPv6
// client by the first 64 bits of it. *ratelimit.Limiter is one.
type Limiter interface {
	Allow(client string) (wait time.Duration, ok bool)
}

// Misses bounds the requests of one client for absent pastes. Spent takes nothing.
// *ratelimit.Limiter is one.
type Misses interface {
	Limiter
	Spent(client string) (wait time.Duration, spent bool)
}

// Options of a Handler. Store is required; the zero value of the others selects the
// defaults.
type Options struct {
	Store  Store
	Bucket string // holds the pastes (default "pastes")
	// Settings of the bucket when it is made.
	Settings ledger.BucketSettings
	// PublicURL begins the links, such as https://paste.example.org (default: the
	// URL that the client used).
	PublicURL string
	MaxSize   int64 // of one paste, in bytes (default 1 MiB, at most 64 MiB)
	// Memory bounds the bytes that the pastes being received hold together, and one
	// client half of it (default 64 MiB; at least two of the largest). Beyond it
	// the response is 503.
	Memory     int64
	DefaultTTL time.Duration // of pastes without one (default MaxTTL)
	MaxTTL     time.Duration // a longer one is refused; 0: no limit
	Limiter    Limiter       // default: no limit
	Misses     Misses        // of guessed codes; default: no limit
	// TrustedProxies may set the client in X-Forwarded-For, and the scheme in
	// X-Forwarded-Proto.
	TrustedProxies []netip.Prefix
	Clock          lethe.Clock // default lethe.SystemClock
	Random         io.Reader   // of codes and delete tokens (default crypto/rand); used concurrently
	Events         Events
}

func (o Options) withDefaults() (Options, error) {
	o.Bucket = cmp.Or(o.Bucket, "pastes")
	o.MaxSize = cmp.Or(o.MaxSize, 1<<20)
	o.Memory = max(cmp.Or(o.Memory, 64<<20), 2*(heldPerByte*encodedRoom(o.MaxSize)+budget.Unit))
	o.DefaultTTL = cmp.Or(o.DefaultTTL, o.MaxTTL)
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	u, err := url.Parse(o.PublicURL)
	switch {
	case o.Store == nil:
		return o, errors.New("paste: Options.Store is missing")
	case err != nil || o.PublicURL != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != ""):
		return o, fmt.Errorf("paste: public URL %q is no URL such as https://paste.example.org", o.PublicURL)
	case o.MaxSize < 1 || o.MaxSize > maxSize:
		return o, fmt.Errorf("paste: maximum size of %d bytes: use 1 byte to 64 MiB; larger files belong to the S3 endpoint", o.MaxSize)
	case o.MaxTTL > 0 && o.DefaultTTL > o.MaxTTL:
		return o, fmt.Errorf("paste: default time to live %s is longer than the longest, %s",
			lethe.FormatTTL(o.DefaultTTL), lethe.FormatTTL(o.MaxTTL))
	}
	return o, nil
}

// openBucket makes the bucket if there is none. A bucket that others made is
// refused: its objects would be public.
func openBucket(ctx context.Context, o Options) error {
	b, err := o.Store.CreateBucket(ctx, ledger.Bucket{
		Name: o.Bucket, Owner: Owner, Domain: Owner, BucketSettings: o.Settings,
	})
	if err == nil || errors.Is(err, lethe.ErrBucketExists) && b.Domain == Owner {
		return nil
	}
	if errors.Is(err, lethe.ErrBucketExists) {
		return fmt.Errorf("paste: bucket %q was not made for pastes (its owner is %q): name another bucket for them: %w", o.Bucket, b.Owner, err)
	}
	return fmt.Errorf("paste: make bucket %q: %w", o.Bucket, err)
}
