package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/middlewares"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/internal/netlimit"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/s3"
)

// Options of a Server. Store and Root are required.
type Options struct {
	Store s3.Store
	// Keys are the access keys besides the root's, each confined to its
	// buckets.
	Keys s3.AccessKeys
	Root Credentials

	// accounts replaces Keys by versitygw's own accounts, whose administration is then
	// served beside the S3 API. Its suite needs both.
	accounts auth.IAMService

	Region string   // default us-east-1
	Domain string   // of virtual-host addressing; empty: path style only
	Listen []string // TCP addresses, such as "127.0.0.1:9000"; port 0 picks one
	// GetCertificate enables TLS; Certificates serves one from files.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	CORSOrigin     string // allowed where a bucket has no rules; empty for none
	// Ownership applies to buckets created without one: whether access control
	// lists have an effect. The default is BucketOwnerEnforced, as on S3: they
	// have none.
	Ownership types.ObjectOwnership
	// HeadCounts: a HeadObject counts as a read for the idle times of objects.
	HeadCounts bool
	// AccountBuckets is how many buckets an account may own; 0 is no limit.
	AccountBuckets int

	MaxConnections int            // default 4,096
	MaxPerAddress  int            // connections of one address, an IPv6 /64 (0: any number), unless a TrustedProxy
	BodyPace       netlimit.Pace  // of bodies that are sent; slower ones are cut off
	Documents      int64          // memory of all requests that are documents, in bytes (default 128 MiB); more get SlowDown
	MaxRequests    int            // concurrent requests; more get SlowDown (default 1,024)
	KeyRate        ratelimit.Rate // of requests per access key
	AddressRate    ratelimit.Rate // of requests per client address, signed or not
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is trusted

	HeaderTimeout time.Duration // for the whole header (default 30 s)
	IdleTimeout   time.Duration // for one read or write, and between requests (default 2 min)
	Drain         time.Duration // for requests in progress when the server stops (default 30 s)
	Timeout       time.Duration // of operations without a body (default 1 min)

	Clock   lethe.Clock // reads times to live (default lethe.SystemClock)
	MinPart int64       // the store's (default 5 MiB)
	Events  s3.Events
	// Ready is called once, with the bound addresses in the order of Listen.
	Ready func([]net.Addr)
}

// Credentials are an access key and its secret.
type Credentials struct {
	Access, Secret string
}

// String hides the secret.
func (c Credentials) String() string { return "Credentials{" + c.Access + " REDACTED}" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// Server serves S3. A process can have only one.
type Server struct {
	opt   Options
	web   *fasthttp.Server
	conns *connTracker
	// operations are versitygw's, as its routes call them.
	operations controllers.S3ApiController
	backend    *Backend
	iam        auth.IAMService
	verifier   *verifier
	addresses  *ratelimit.Limiter
	documents  *budget.Budget
	stop       context.CancelFunc // of operations in progress
}

// longestBody bounds the time of one body; IdleTimeout bounds its pauses.
const longestBody = 7 * 24 * time.Hour

// writeBuffer bounds the bytes of a response that a connection buffers: a small
// object is sent with its header, in one system call.
const writeBuffer = 8 << 10

// New returns a server; Serve runs it.
func New(o Options) (*Server, error) {
	switch {
	case o.Store.Objects == nil:
		return nil, errors.New("s3: Options.Store is missing")
	case o.Root.Access == "" || o.Root.Secret == "":
		return nil, errors.New("s3: Options.Root needs an access key and a secret")
	case len(o.Listen) == 0:
		return nil, errors.New("s3: Options.Listen is empty: at least one address is needed")
	}
	o = o.withDefaults()
	base, stop := context.WithCancel(context.Background())
	s := &Server{opt: o, stop: stop, conns: newConnTracker(o), addresses: ratelimit.New(o.AddressRate, nil), documents: documentBudget(o.Documents)}
	gateway, err := s.gateway(base)
	if err == nil {
		err = bodySettable()
	}
	if err == nil {
		s.web, err = s.webServer(gateway)
	}
	if err != nil {
		stop()
		return nil, err
	}
	s.web.Name, s.web.ErrorHandler = "Lethe", unreadable
	s.web.WriteBufferSize = writeBuffer
	// It would read a form whole, before authentication.
	s.web.DisablePreParseMultipartForm = true
	s.web.ReadTimeout, s.web.IdleTimeout = o.HeaderTimeout, o.IdleTimeout
	s.web.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{ReadTimeout: longestBody}
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	o.Events = o.Events.WithDefaults()
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.MaxConnections = cmp.Or(o.MaxConnections, 4096)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1024)
	o.Documents = cmp.Or(o.Documents, defaultDocuments)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.Drain = cmp.Or(o.Drain, 30*time.Second)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MinPart = cmp.Or(o.MinPart, defaultMinPart)
	return o
}

// gateway returns versitygw's server over our backend.
func (s *Server) gateway(base context.Context) (*s3api.S3ApiServer, error) {
	o := s.opt
	b := BackendOptions{
		Store: o.Store, Keys: o.Keys, Clock: o.Clock, Region: o.Region, MinPart: o.MinPart,
		Timeout: o.Timeout, Base: base, KeyRate: o.KeyRate, Ownership: o.Ownership, AccountBuckets: o.AccountBuckets, HeadCounts: o.HeadCounts, Events: o.Events,
	}
	iam := o.accounts
	switch {
	case iam != nil:
		b.Keys = nil
	case o.Keys == nil:
		iam = auth.NewIAMServiceSingle(auth.Account{Access: o.Root.Access, Secret: o.Root.Secret, Role: auth.RoleAdmin})
	default:
		iam = &keyring{root: o.Root.Access, keys: o.Keys, base: base, timeout: o.Timeout}
	}
	opts := []s3api.Option{
		s3api.WithQuiet(), s3api.WithKeepAlive(), s3api.WithMiddleware("/", s.serve),
		s3api.WithConcurrencyLimiter(o.MaxConnections, o.MaxRequests),
		s3api.WithCORSAllowOrigin(o.CORSOrigin),
	}
	if o.Domain != "" {
		opts = append(opts, s3api.WithHostStyle(o.Domain))
	}
	if o.accounts != nil {
		opts = append(opts, s3api.WithAdminServer())
	}
	root := middlewares.RootUserConfig{Access: o.Root.Access, Secret: o.Root.Secret}
	s.backend, s.iam = NewBackend(b), iam
	s.backend.accounts = iam
	gateway, err := s3api.New(s.backend, root, o.Region, iam, nil, nil, nil, recorder{}, opts...)
	if err != nil {
		return nil, fmt.Errorf("s3: gateway: %w", err)
	}
	s.operations = gateway.Router.Ctrl
	if o.accounts == nil {
		s.verifier = newVerifier(auth.Account{Access: root.Access, Secret: root.Secret, Role: auth.RoleAdmin}, o.Region, iam)
	}
	return gateway, nil
}

// webServer returns versitygw's web server, which is a private field: its
// timeouts cannot be set and its port not be read otherwise.
func (s *Server) webServer(gateway *s3api.S3ApiServer) (*fasthttp.Server, error) {
	field := reflect.ValueOf(gateway).Elem().FieldByName("app")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*fiber.App]() {
		return nil, errors.New("s3: this version of versitygw keeps its web server elsewhere: use the one that go.mod names")
	}
	app := (*fiber.App)(field.UnsafePointer())
	if err := s.route(app); err != nil {
		return nil, err
	}
	// Builds the routes.
	app.Handler()
	return app.Server(), nil
}

// Serve listens and serves until ctx is done. Then it stops accepting, waits up
// to Drain for requests in progress, and cuts off the rest. It runs once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.stop()
	listeners, err := s.conns.listen(s.opt.Listen, s.opt.GetCertificate)
	if err != nil {
		return err
	}
	addrs := make([]net.Addr, len(listeners))
	failed := make(chan error, len(listeners))
	var served sync.WaitGroup
	for i, ln := range listeners {
		addrs[i] = ln.Addr()
		served.Go(func() {
			if err := s.web.Serve(ln); err != nil {
				failed <- fmt.Errorf("s3: serve %s: %w", ln.Addr(), err)
			}
		})
	}
	if s.opt.Ready != nil {
		s.opt.Ready(addrs)
	}
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	for _, ln := range listeners {
		// The web server closes them again.
		_ = ln.Close()
	}
	s.drain()
	served.Wait()
	return err
}

// drain waits for requests in progress.
func (s *Server) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), s.opt.Drain)
	defer cancel()
	s.conns.closeAll(true)
	if err := s.web.ShutdownWithContext(ctx); err != nil {
		s.stop()
		s.conns.closeAll(false)
	}
}
