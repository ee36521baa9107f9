package main

import (
	"os"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
)

// Commands use a remote server with a token, as far as its role allows.
func TestCommandsOverTheNetwork(t *testing.T) {
	w := newWorld(t, "server.admin.listen=127.0.0.1:0").start()
	server := w.app.Addresses().Admin
	w.fails("make one on that machine with \"lethe token\"", "--server", server, "status")
	root, err := os.ReadFile(app.TokenPath(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LETHE_ADMIN_SERVER", server)
	t.Setenv("LETHE_ADMIN_TOKEN", string(root))
	if out := w.ok("token", "who"); out != "root (destroy)\n" {
		t.Errorf("who: %q", out)
	}
	k := asked[api.NewToken](w, "token", "add", "watcher", "--ttl", "90d")
	if out := w.ok("token", "list"); !strings.Contains(out, "watcher") || !strings.Contains(out, "read") || strings.Contains(out, k.Text) {
		t.Errorf("listed as %q", out)
	}
	t.Setenv("LETHE_ADMIN_TOKEN", k.Text)
	if out := w.ok("status"); !strings.Contains(out, "main") {
		t.Errorf("status: %q", out)
	}
	w.fails("has the role read; backends/hold needs operate", "backend", "hold", "main")
	w.fails("has the role read; backup needs destroy", "backup", t.TempDir()+"/copy")
	w.fails("has the role read; tokens/remove needs destroy", "token", "rm", "watcher")
	w.ok("--token", strings.TrimSpace(string(root)), "token", "rm", "watcher")
	w.fails("wants a token that it knows", "status")
	w.fails("is not a URL", "--server", "lethe.example.org", "status")
	if strings.Contains(w.log.String(), k.Text) || !strings.Contains(w.log.String(), `"event":"admin_denied"`) {
		t.Errorf("the log holds the token, or no denial: %s", w.log.String())
	}
}

// The owner of the socket needs no token; a given one takes precedence.
func TestTokenTakesPrecedenceOnTheSocket(t *testing.T) {
	w := newWorld(t).start()
	if out := w.ok("token", "who"); !strings.Contains(out, "owner of the socket (destroy)") {
		t.Errorf("who: %q", out)
	}
	k := asked[api.NewToken](w, "token", "add", "op", "--role", "operate")
	if out := w.ok("--token", k.Text, "token", "who"); out != "op (operate)\n" {
		t.Errorf("who: %q", out)
	}
	w.fails("needs destroy", "--token", k.Text, "token", "rm", "op")
	w.ok("token", "rm", "op")
	w.fails("no such token", "token", "rm", "op")
}
