package servers

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
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

// NATSStream makes a stream of a NATS that keeps all subjects below "lethe", and returns what
// reads it until the test ends.
func NATSStream(t testing.TB, url string, options ...nats.Option) nats.JetStreamContext {
	t.Helper()
	conn, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := conn.JetStream()
	if err == nil {
		_, err = js.AddStream(&nats.StreamConfig{Name: "EVENTS", Subjects: []string{"lethe.>"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return js
}
