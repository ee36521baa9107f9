// Package redisconn connects to Redis or Valkey: one server, a cluster, or the
// master that sentinels name. Its users are optimisations (the content
// cache, wake-ups, the lock around claiming) and have to work without it. A slow
// command is cancelled, and after a few failures commands fail at once, without
// touching the network, until the server responds again.
package redisconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lethe-storage/lethe"
)

// ErrDown is the error of commands that are not sent, because the server did
// not respond recently.
var ErrDown = errors.New("redis does not answer; it is tried again soon")

// KeyPrefix begins all keys and channels, on a server that is shared with others.
const KeyPrefix = "lethe:"

// Kinds of URL.
const (
	Single   = "single"   // redis://[user:password@]host:port[/database]; rediss:// for TLS
	Cluster  = "cluster"  // the same, more nodes as ?addr=host:port&addr=host:port
	Sentinel = "sentinel" // the same with the sentinels' addresses and ?master_name=name
)

// KindOf returns the kind that the form of a URL shows.
func KindOf(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Single // Open reports it
	case u.Query().Has("master_name"):
		return Sentinel
	case u.Query().Has("addr"):
		return Cluster
	}
	return Single
}

// Options are the server's address and timeouts.
type Options struct {
	URL  string
	Kind string // default Single
	// Password overrides that of the URL, so that the URL need not have it.
	Password string
	// TLS overrides what a rediss URL implies.
	TLS *tls.Config
	// Timeout bounds every call, connecting included (default 100 ms).
	Timeout time.Duration
	// Monotonic measures the pauses between probes (default lethe.Monotonic).
	Monotonic lethe.Clock
	Events    Events
}

// Events report the server's state. Nil funcs are skipped.
type Events struct {
	Down func(err error) // it does not respond; commands fail at once from now on
	Up   func()          // it responds again
}

// Conn is a connection pool, safe for concurrent use.
type Conn struct {
	client  redis.UniversalClient
	timeout time.Duration
	circuit *circuit

	mu      sync.Mutex
	closed  bool
	probing sync.WaitGroup
}

// silence keeps the library from writing to standard error.
var silence = sync.OnceFunc(logging.Disable)

// Open prepares a pool. It connects when first used, so that a server that is
// down does not prevent a start. Only invalid options are errors, which never
// show the URL's password.
func Open(o Options) (*Conn, error) {
	silence()
	o.Timeout = cmp.Or(o.Timeout, 100*time.Millisecond)
	client, err := dial(o)
	if err != nil {
		return nil, err
	}
	if o.Monotonic == nil {
		o.Monotonic = lethe.Monotonic{}
	}
	c := &Conn{client: client, timeout: o.Timeout}
	c.circuit = &circuit{clock: o.Monotonic, events: o.Events}
	return c, nil
}

func dial(o Options) (redis.UniversalClient, error) {
	switch cmp.Or(o.Kind, Single) {
	case Single:
		r, err := redis.ParseURL(o.URL)
		if err != nil {
			return nil, malformed("redis://host:6379/0")
		}
		r.Password, r.TLSConfig = cmp.Or(o.Password, r.Password), cmp.Or(o.TLS, r.TLSConfig)
		r.DialTimeout, r.ReadTimeout, r.WriteTimeout, r.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
		r.MaxRetries, r.MinRetryBackoff, r.DialerRetries = 1, -1, 1
		r.ContextTimeoutEnabled, r.DisableIdentity, r.MaintNotificationsConfig = true, true, quiet()
		return redis.NewClient(r), nil
	case Cluster:
		r, err := redis.ParseClusterURL(o.URL)
		if err != nil {
			return nil, malformed("redis://host:6379?addr=other:6379")
		}
		r.Password, r.TLSConfig = cmp.Or(o.Password, r.Password), cmp.Or(o.TLS, r.TLSConfig)
		r.DialTimeout, r.ReadTimeout, r.WriteTimeout, r.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
		r.MaxRetries, r.MinRetryBackoff, r.DialerRetries = 1, -1, 1
		r.ContextTimeoutEnabled, r.DisableIdentity, r.MaintNotificationsConfig = true, true, quiet()
		return redis.NewClusterClient(r), nil
	case Sentinel:
		r, err := redis.ParseFailoverURL(o.URL)
		if err != nil || r.MasterName == "" {
			return nil, malformed("redis://sentinel:26379?master_name=mymaster&addr=other:26379")
		}
		r.Password, r.TLSConfig = cmp.Or(o.Password, r.Password), cmp.Or(o.TLS, r.TLSConfig)
		r.DialTimeout, r.ReadTimeout, r.WriteTimeout, r.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
		r.MaxRetries, r.MinRetryBackoff, r.DialerRetries = 1, -1, 1
		r.ContextTimeoutEnabled, r.DisableIdentity = true, true
		return redis.NewFailoverClient(r), nil
	}
	return nil, fmt.Errorf("redis: unknown kind %q; use %q, %q or %q", o.Kind, Single, Cluster, Sentinel)
}

// quiet disables the notifications that some hosted services push.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func malformed(example string) error {
	return fmt.Errorf("redis: the URL is not understood; write it like %s", example)
}

// Do calls with the client within the timeout. The error is the call's, or
// ErrDown if the server did not respond recently. Responses of the server,
// errors included, count as success; so does a ctx that ended.
func (c *Conn) Do(ctx context.Context, call func(context.Context, redis.UniversalClient) error) error {
	if probe, err := c.circuit.allow(); err != nil {
		if probe {
			c.probe()
		}
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err := call(bounded, c.client)
	if ctx.Err() == nil {
		c.circuit.report(failure(err))
	}
	return err
}

// failure returns nil for everything that shows that the server works.
func failure(err error) error {
	var said redis.Error
	if err == nil || errors.As(err, &said) {
		return nil
	}
	return err
}

// probe probes the server without delaying callers.
func (c *Conn) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.probing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
		defer cancel()
		c.circuit.probed(failure(c.client.Ping(ctx).Err()))
	})
}

// Ping asks the server now, also one that did not respond recently, and returns why it does
// not respond. A single lost answer does not count.
func (c *Conn) Ping(ctx context.Context) (err error) {
	for range 2 {
		bounded, cancel := context.WithTimeout(ctx, c.timeout)
		err = failure(c.client.Ping(bounded).Err())
		cancel()
		if ctx.Err() == nil {
			c.circuit.pinged(err)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// Subscribe subscribes to a channel, and reconnects by itself until it is
// closed. Messages sent meanwhile are lost.
func (c *Conn) Subscribe(ctx context.Context, channel string) *redis.PubSub {
	return c.client.Subscribe(ctx, channel)
}

// Up reports whether commands are being sent.
func (c *Conn) Up() bool { return c.circuit.up() }

// Clustered reports that keys of one command have to be in one slot.
func (c *Conn) Clustered() bool {
	_, ok := c.client.(*redis.ClusterClient)
	return ok
}

// Close closes the pool; commands fail from then on.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.client.Close()
	c.probing.Wait()
	if err != nil {
		return fmt.Errorf("redis: close: %w", err)
	}
	return nil
}
