// Package claimlock serialises claimers where configured: a lock in Redis
// around the transactions in which expire, purge, clean and reap claim rows, so
// that many instances do not contend for the same index pages.
//
// Nothing depends on it: claims are disjoint by themselves (row locks, fences).
// A lock that expires, is lost in a failover or cannot be reached does no harm,
// and without Redis claims go on without it.
package claimlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/redisconn"
)

const (
	retryMin = 5 * time.Millisecond
	retryMax = 200 * time.Millisecond
)

// Options of a Lock.
type Options struct {
	Conn *redisconn.Conn
	// Prefix begins every key (default redisconn.KeyPrefix); Store keeps stores apart.
	Prefix string
	Store  lethe.ID
	// TTL is when a lock expires that its holder did not release (default 30 s).
	TTL    time.Duration
	Random io.Reader // of tokens (default crypto/rand)
	// Sleep waits for d or the end of ctx (default: a timer).
	Sleep     func(ctx context.Context, d time.Duration)
	Monotonic lethe.Clock // default lethe.Monotonic
	Events    Events
}

// Events report the use of locks. Nil funcs are skipped.
type Events struct {
	// Without: the claim went on without the lock, because Redis is down, or
	// the lock was not released in time.
	Without func(name string, err error)
}

// Locks is a set of named locks.
type Locks struct{ Options }

// New returns locks on the connection, which the caller closes.
func New(o Options) *Locks {
	o.Prefix = cmp.Or(o.Prefix, redisconn.KeyPrefix)
	o.TTL = cmp.Or(o.TTL, 30*time.Second)
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Monotonic == nil {
		o.Monotonic = lethe.Monotonic{}
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) { _ = lethe.Sleep(ctx, d) }
	}
	return &Locks{o}
}

// Key returns the Redis key of a name's lock.
func (l *Locks) Key(name string) string { return l.Prefix + "lock:" + string(l.Store) + ":" + name }

// Around runs claim with the lock, or without it if it cannot be acquired. The
// error is the claim's, or that of a ctx that ended during the wait.
func (l *Locks) Around(ctx context.Context, name string, claim func(context.Context) error) error {
	token, err := l.acquire(ctx, name)
	if ctx.Err() != nil && token == "" {
		return ctx.Err()
	}
	if err != nil {
		if l.Events.Without != nil {
			l.Events.Without(name, err)
		}
		return claim(ctx)
	}
	defer l.release(ctx, name, token)
	return claim(ctx)
}

// errNotReleased reports that the lock was not released although its time is over.
var errNotReleased = errors.New("claimlock: the lock was not released in time")

// acquire tries until it has the lock. It waits no longer than a holder may
// have it.
func (l *Locks) acquire(ctx context.Context, name string) (token string, err error) {
	random := make([]byte, 16)
	if _, err := io.ReadFull(l.Random, random); err != nil {
		return "", fmt.Errorf("claimlock: %w", err)
	}
	token = hex.EncodeToString(random)
	begun := l.Monotonic.Now()
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		got, err := l.try(ctx, l.Key(name), token)
		waited := l.Monotonic.Now().Sub(begun)
		switch {
		case err != nil:
			return "", err
		case got:
			return token, nil
		case waited > l.TTL:
			return "", errNotReleased
		}
		if l.Sleep(ctx, pause); ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
}

// try tries once. A SET that was repeated, because its first response was lost,
// looks refused; the stored token shows the holder.
func (l *Locks) try(ctx context.Context, key, token string) (got bool, err error) {
	err = l.Conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) error {
		got, err = r.SetNX(ctx, key, token, l.TTL).Result()
		if err != nil || got {
			return err
		}
		holder, err := r.Get(ctx, key).Result()
		if errors.Is(err, redis.Nil) {
			return nil // released meanwhile
		}
		got = err == nil && holder == token
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claimlock: %w", err)
	}
	return got, nil
}

// unlock removes the key only if it still holds the token: after its time
// another may hold the lock.
var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// release releases the lock; if that fails the lock expires.
func (l *Locks) release(ctx context.Context, name, token string) {
	_ = l.Conn.Do(context.WithoutCancel(ctx), func(ctx context.Context, r redis.UniversalClient) error {
		return unlock.Run(ctx, r, []string{l.Key(name)}, token).Err()
	})
}
