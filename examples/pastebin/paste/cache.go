package paste

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// What a key holds begins with one of these.
const (
	// isCopy: the end of the paste in microseconds since 1970, 0 for never, a line
	// feed, and the bytes.
	isCopy = 'p'
	// isLease: somebody reads the paste from the database, and may put what they
	// read here for as long as the key holds their token.
	isLease = 'l'
	// isBlock: the paste is being changed; nobody may put it here.
	isBlock = 'b'
)

const (
	cacheTimeout = 500 * time.Millisecond // of one command
	leaseFor     = readTimeout
	// blockFor outlives the change, should its process die after the commit.
	blockFor = 2 * writeTimeout
)

// cache holds copies of pastes in Redis, under paste:CODE. It forgets at will: a
// copy that is not there, or cannot be had, is read from the database. A nil cache
// holds nothing.
//
// Who finds no copy takes a lease before asking the database, and puts a copy there
// only if the lease is still theirs. A change, or anybody's DEL, takes the lease
// away; so what was read before a change never lands in the cache after it.
type cache struct {
	client *redis.Client
	keep   time.Duration // the longest life of a copy
	size   int           // of the largest copy
	now    func() time.Time
	log    *slog.Logger
	down   atomic.Bool // logged as such
}

// copied is a paste as the cache has it.
type copied struct {
	body      []byte
	expiresAt *time.Time // nil: never
}

func openCache(c Config) (*cache, error) {
	if c.Redis == "" {
		return nil, nil
	}
	o, err := redis.ParseURL(c.Redis)
	if err != nil {
		// The error of the library may show the password.
		return nil, errors.New("the URL of Redis is not understood; write it like redis://host:6379/0")
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = cacheTimeout, cacheTimeout, cacheTimeout, cacheTimeout
	o.ContextTimeoutEnabled, o.MaxRetries = true, 1
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &cache{client: redis.NewClient(o), keep: c.CacheFor, size: c.CacheSize, now: c.Now, log: c.Log}, nil
}

func (c *cache) close() {
	if c != nil {
		_ = c.client.Close() // nothing is lost with it
	}
}

func cacheKey(code string) string { return "paste:" + code }

// get returns the copy of a paste that has not expired, or nil and a lease, ""
// when none can be had.
func (c *cache) get(ctx context.Context, code string) (found *copied, lease string) {
	if c == nil {
		return nil, ""
	}
	var value []byte
	err := c.do(ctx, func(ctx context.Context) (err error) {
		value, err = c.client.Get(ctx, cacheKey(code)).Bytes()
		if !errors.Is(err, redis.Nil) {
			return err
		}
		token := string(isLease) + rand.Text()
		taken, err := c.client.SetNX(ctx, cacheKey(code), token, leaseFor).Result()
		if taken {
			lease = token
		}
		return err
	})
	if err != nil || len(value) == 0 || value[0] != isCopy {
		return nil, lease
	}
	found, err = decode(value[1:])
	if err != nil || found.expiresAt != nil && !found.expiresAt.After(c.now()) {
		return nil, ""
	}
	return found, ""
}

// fillScript puts the copy in the place of the lease.
var fillScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`)

// fill puts a copy there, if the lease still holds. It lives no longer than the
// paste.
func (c *cache) fill(ctx context.Context, code, lease string, p copied) {
	if c == nil || lease == "" {
		return
	}
	life := c.keep
	if p.expiresAt != nil {
		life = min(life, p.expiresAt.Sub(c.now()))
	}
	if life < time.Millisecond || len(p.body) > c.size {
		c.giveUp(ctx, code, lease)
		return
	}
	_ = c.do(ctx, func(ctx context.Context) error {
		return fillScript.Run(ctx, c.client, []string{cacheKey(code)}, lease, encode(p), life.Milliseconds()).Err()
	})
}

// giveUpScript removes the lease, and nothing else.
var giveUpScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])`)

// giveUp returns a lease that is of no use.
func (c *cache) giveUp(ctx context.Context, code, lease string) {
	if c == nil || lease == "" {
		return
	}
	_ = c.do(ctx, func(ctx context.Context) error {
		return giveUpScript.Run(ctx, c.client, []string{cacheKey(code)}, lease).Err()
	})
}

// block removes the copy, and keeps others from putting one there, until drop.
func (c *cache) block(ctx context.Context, code string) error {
	if c == nil {
		return nil
	}
	err := c.do(ctx, func(ctx context.Context) error {
		return c.client.Set(ctx, cacheKey(code), string(isBlock), blockFor).Err()
	})
	if err != nil {
		return fmt.Errorf("tell the cache of a change: %w", err)
	}
	return nil
}

// drop removes what the cache has of the paste. If that fails it goes by itself in
// time.
func (c *cache) drop(ctx context.Context, code string) {
	if c == nil {
		return
	}
	_ = c.do(ctx, func(ctx context.Context) error { return c.client.Del(ctx, cacheKey(code)).Err() })
}

// do runs a command. Failures are logged when they begin and when they end.
func (c *cache) do(ctx context.Context, command func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	err := command(bounded)
	switch {
	case err == nil && c.down.CompareAndSwap(true, false):
		c.log.Info("the cache works again")
	case err != nil && ctx.Err() == nil && c.down.CompareAndSwap(false, true):
		c.log.Warn("the cache does not work; pastes are read without it, and cannot be changed", "error", err)
	}
	return err
}

func encode(p copied) []byte {
	end := int64(0)
	if p.expiresAt != nil {
		end = p.expiresAt.UnixMicro()
	}
	return append(fmt.Appendf(nil, "%c%d\n", isCopy, end), p.body...)
}

func decode(value []byte) (*copied, error) {
	end, body, _ := bytes.Cut(value, []byte{'\n'})
	micros, err := strconv.ParseInt(string(end), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cached copy: %w", err)
	}
	if micros == 0 {
		return &copied{body: body}, nil
	}
	at := time.UnixMicro(micros)
	return &copied{body: body, expiresAt: &at}, nil
}
