package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Objects is what pages need of *object.Store.
type Objects interface {
	Get(context.Context, object.GetRequest) (*object.Reader, error)
	Put(context.Context, object.PutRequest) (object.PutResult, error)
	Delete(context.Context, object.DeleteRequest) ([]ledger.Deleted, error)
}

// Buckets are what S3 does about buckets, with the checks that requests of clients get.
// Refusals are *s3.Error. An empty text of a policy or of CORS rules is none.
type Buckets interface {
	CreateBucket(ctx context.Context, name string) error
	Policy(ctx context.Context, bucket string) (string, error)
	SetPolicy(ctx context.Context, bucket, text string) error
	CORS(ctx context.Context, bucket string) (string, error)
	SetCORS(ctx context.Context, bucket, text string) error
}

// Links signs links to objects.
type Links struct {
	// Endpoint returns the URL of the S3 server; empty while there is none.
	Endpoint       func() string
	Region         string
	Access, Secret string
}

// Setting is a key of the configuration, its value, and where that comes from. Values
// of secrets are left out.
type Setting struct{ Key, Value, From string }

// Options of a Handler. Operators, Objects, Buckets and Command are required.
type Options struct {
	Operators *service.Operators
	Objects   Objects
	Buckets   Buckets
	Links     Links
	// Hosts are the names and addresses by which browsers reach the console, without ports;
	// loopback ones are always known.
	Hosts []string
	// Secure are those of them that browsers reach by TLS, whoever ends it.
	Secure []string
	// AnyAddress admits IP addresses as hosts, for a listener on all of them.
	AnyAddress bool
	Idle       time.Duration // after which a session ends (default 30 minutes)
	Lifetime   time.Duration // of a session (default 12 hours)
	// Command writes a lethe command that can be pasted into a shell.
	Command  func(args ...string) string
	Settings []Setting
	Clock    lethe.Clock // of the times that pages show (default lethe.SystemClock)
	// Stopwatch is the clock of sessions (default lethe.Monotonic).
	Stopwatch lethe.Clock
	Random    io.Reader // of sessions (default crypto/rand); used concurrently
	// Failed is called when a page cannot be made; optional.
	Failed func(path string, err error)
}

func (o Options) withDefaults() (Options, error) {
	if o.Operators == nil || o.Objects == nil || o.Buckets == nil || o.Command == nil {
		return o, errors.New("console: Options.Operators, Objects, Buckets or Command is missing")
	}
	o.Hosts, o.Secure = canonical(o.Hosts), canonical(o.Secure)
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	o.Lifetime = max(cmp.Or(o.Lifetime, 12*time.Hour), o.Idle)
	o.Clock = cmp.Or[lethe.Clock](o.Clock, lethe.SystemClock{})
	o.Stopwatch = cmp.Or[lethe.Clock](o.Stopwatch, lethe.Monotonic{})
	o.Random = cmp.Or(o.Random, rand.Reader)
	if o.Links.Endpoint == nil {
		o.Links.Endpoint = func() string { return "" }
	}
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	return o, nil
}
