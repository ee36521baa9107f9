package jetstream_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/reclaim/jetstream"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/servers"
)

// A user and a password are a part of the URL. Without them, or with others, it is said that
// the server refuses them, and what they are is not.
func TestUserAndPassword(t *testing.T) {
	url := servers.NATS(t, "--user", "lethe", "--pass", "p@ss,word")
	of := func(user string) string { return strings.Replace(url, "nats://", "nats://"+user+"@", 1) }
	right := of("lethe:p%40ss%2Cword")
	servers.NATSStream(t, right)
	if err := open(t, jetstream.Target{URL: right, Private: true, Timeout: 5 * time.Second}).Send(t.Context(), event(1, "a")); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]string{"no user": url, "another password": of("lethe:hunter2"), "another user": of("hunter2:p%40ss%2Cword")} {
		err := open(t, jetstream.Target{URL: wrong, Private: true, Timeout: 5 * time.Second}).Send(t.Context(), event(1, "a"))
		if !errors.Is(err, routine.ErrUnreached) || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "p@ss") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A certificate that nobody trusts is refused before the credentials are shown, and a file
// without credentials is when the target is opened.
func TestCredentials(t *testing.T) {
	server := servers.StartNATSUsers(t)
	right, _ := server.Credentials(true)
	err := open(t, jetstream.Target{URL: server.URL, Credentials: right, Private: true, Timeout: 5 * time.Second}).Send(t.Context(), event(1, "a"))
	if !errors.Is(err, routine.ErrUnreached) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	folder := t.TempDir()
	half := filepath.Join(folder, "half.creds")
	text, err := os.ReadFile(right)
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := strings.Cut(string(text), "-----BEGIN USER NKEY SEED")
	if err := os.WriteFile(half, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{half: "no file of credentials of a NATS user", filepath.Join(folder, "none.creds"): "no such file"} {
		if _, err := jetstream.New(jetstream.Target{URL: server.URL, Credentials: path}, "eu-1"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
