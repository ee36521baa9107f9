package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisPair is a primary and its replica, watched by a sentinel that lets the
// replica take over when the primary is gone.
type RedisPair struct {
	Sentinel string // host:port
	Master   string // the name under which the sentinel knows the pair

	Primary *RedisServer // the one that was it first
	replica *RedisServer

	t testing.TB
}

// NewRedisPair starts the three. A primary that does not answer for half a second is
// taken for gone.
func NewRedisPair(t testing.TB) *RedisPair {
	t.Helper()
	out := &RedisPair{Master: "store", Primary: NewRedis(t, "--repl-diskless-sync-delay", "0"), t: t}
	out.replica = NewRedis(t, "--replicaof", "127.0.0.1", portOf(out.Primary.Addr))
	f, err := newFolder(self())
	if err != nil {
		t.Fatal(err)
	}
	p, addr, err := onFreePort(func(addr string) (*process, error) {
		file := filepath.Join(f.path, "sentinel.conf") // which it writes to
		text := fmt.Sprintf("bind 127.0.0.1\nport %[1]s\ndir %[2]s\nsentinel monitor %[3]s 127.0.0.1 %[4]s 1\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n",
			portOf(addr), f.path, out.Master, portOf(out.Primary.Addr))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("servers: %w", err)
		}
		return &process{launch: launch{
			args: []string{out.Primary.process.args[0], file, "--sentinel"}, folder: f, end: syscall.SIGTERM, orphan: syscall.SIGKILL,
			answers: func(ctx context.Context) error { return out.watched(ctx, addr) },
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	out.Sentinel = addr
	return out
}

// watched says why a sentinel could not let the replica take over yet.
func (p *RedisPair) watched(ctx context.Context, addr string) error {
	return asked(addr, func(s *redis.SentinelClient) error {
		list, err := s.Replicas(ctx, p.Master).Result()
		if err != nil {
			return err
		}
		if len(list) != 1 || list[0]["master-link-status"] != "ok" {
			return errors.New("the sentinel has not seen the replica follow")
		}
		return nil
	})
}

// AwaitFailover waits until the sentinel names the replica as the primary.
func (p *RedisPair) AwaitFailover() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), startTime)
	defer cancel()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		err := asked(p.Sentinel, func(s *redis.SentinelClient) error {
			at, err := s.GetMasterAddrByName(ctx, p.Master).Result()
			if err == nil && net.JoinHostPort(at[0], at[1]) != p.replica.Addr {
				err = errors.New("it still names the old primary")
			}
			return err
		})
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("servers: no failover after %s: %v", startTime, err)
		}
	}
}

func asked(sentinel string, ask func(*redis.SentinelClient) error) error {
	silence()
	client := redis.NewSentinelClient(&redis.Options{Addr: sentinel, MaxRetries: -1, PoolSize: 1, DialerRetries: 1, ContextTimeoutEnabled: true})
	defer client.Close()
	return ask(client)
}
