package servers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// RedisServer is a Redis or a Valkey of its own; it keeps nothing on disk.
type RedisServer struct {
	Addr string // host:port

	t       testing.TB
	process *process
}

// NewRedis starts a Redis (or Valkey) that the test may flush, kill, freeze and
// restart. Options are those of the command line, "--maxmemory", "1mb" for two.
func NewRedis(t testing.TB, options ...string) *RedisServer {
	t.Helper()
	path := decide(t, need{names: []string{"redis-server", "valkey-server"}})
	f, err := newFolder(self())
	if err != nil {
		t.Fatal(err)
	}
	p, addr, err := onFreePort(func(addr string) (*process, error) {
		args := []string{path, "--bind", "127.0.0.1", "--port", portOf(addr), "--save", "", "--appendonly", "no", "--dir", f.path}
		return &process{launch: launch{
			args: slices.Concat(args, options), folder: f, end: syscall.SIGTERM, orphan: syscall.SIGKILL,
			answers: func(ctx context.Context) error { return redisDo(ctx, addr, "PING") },
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	return &RedisServer{Addr: addr, t: t, process: p}
}

// NewRedisCluster starts a cluster of one node that serves every slot: commands
// with keys of several slots are refused as on a larger one.
func NewRedisCluster(t testing.TB) *RedisServer {
	t.Helper()
	s := NewRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", filepath.Join(t.TempDir(), "nodes.conf"))
	if err := redisDo(context.Background(), s.Addr, "CLUSTER", "ADDSLOTSRANGE", 0, 16383); err != nil {
		t.Fatal(err)
	}
	// A cluster that has just got its slots refuses commands for a moment.
	s.process.answers = func(ctx context.Context) error { return redisDo(ctx, s.Addr, "SET", "probe", "", "PX", 1) }
	if err := s.process.await(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Kill ends the server as kill -9 does; what it held is gone.
func (s *RedisServer) Kill() { s.process.kill() }

// Restart starts it again at its address, empty.
func (s *RedisServer) Restart() {
	s.t.Helper()
	if err := s.process.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze makes the server stop answering while connections stay open, until
// Thaw.
func (s *RedisServer) Freeze() { s.process.freeze() }

// Thaw ends Freeze.
func (s *RedisServer) Thaw() { s.process.thaw() }

// FlushAll empties the server.
func (s *RedisServer) FlushAll() {
	s.t.Helper()
	if err := redisDo(context.Background(), s.Addr, "FLUSHALL"); err != nil {
		s.t.Fatal(err)
	}
}

// silence keeps the library from writing to the tests' output while a server
// starts.
var silence = sync.OnceFunc(logging.Disable)

func redisDo(ctx context.Context, addr string, command ...any) error {
	silence()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1, DialerRetries: 1, ContextTimeoutEnabled: true})
	defer client.Close()
	if err := client.Do(ctx, command...).Err(); err != nil {
		return fmt.Errorf("servers: %v: %w", command[0], err)
	}
	return nil
}
