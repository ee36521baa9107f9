package servers

import (
	"context"
	"net"
	"syscall"
	"testing"
)

// NATS starts a NATS with JetStream, and returns its URL. Its command gets args, too.
func NATS(t testing.TB, args ...string) string {
	t.Helper()
	path := decide(t, need{names: []string{"nats-server"}, folders: []string{"/usr/sbin"}})
	f, err := newFolder(self())
	if err != nil {
		t.Fatal(err)
	}
	p, addr, err := onFreePort(func(addr string) (*process, error) {
		return &process{launch: launch{
			args:   append([]string{path, "--addr", "127.0.0.1", "--port", portOf(addr), "--jetstream", "--store_dir", f.path}, args...),
			folder: f, end: syscall.SIGTERM, orphan: syscall.SIGKILL,
			answers: func(ctx context.Context) error {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				if err == nil {
					err = conn.Close()
				}
				return err
			},
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.endWith(t)
	return "nats://" + addr
}
