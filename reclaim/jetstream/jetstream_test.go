package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim/jetstream"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/servers"
)

func event(no int64, key string) ledger.Event {
	return ledger.Event{No: no, Target: "app", At: 1e15, Event: notification.Event{
		Kind: notification.Put, Rule: "r", Bucket: "b", Key: key, Version: lethe.ID("v" + key), Size: 7,
	}}
}

// open returns a sender, which ends with the test.
func open(t *testing.T, to jetstream.Target) *jetstream.Sender {
	t.Helper()
	if to.Subject == "" {
		to.Subject = "lethe.app"
	}
	s, err := jetstream.New(to, "eu-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A stream keeps each event once, however often it is sent, in the order in which they were sent.
func TestEventsAreKept(t *testing.T) {
	url := servers.NATS(t)
	s := open(t, jetstream.Target{URL: url, Private: true, Timeout: 5 * time.Second})
	if err := s.Send(t.Context(), event(1, "a")); !errors.Is(err, routine.ErrUnreached) || !strings.Contains(err.Error(), "no stream keeps the subject lethe.app") {
		t.Fatalf("without a stream: %v", err)
	}
	js := servers.NATSStream(t, url)
	for _, e := range []ledger.Event{event(1, "a"), event(2, "b"), event(1, "a"), event(2, "b"), event(3, "a")} {
		if err := s.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := js.SubscribeSync("lethe.app")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"va-0000000000000001", "vb-0000000000000002", "va-0000000000000003"} {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Lethe-Event-Id") != want || m.Header.Get("Nats-Msg-Id") != want || !strings.Contains(string(m.Data), `"eventName":"ObjectCreated:Put"`) {
			t.Errorf("%v %s, want %s", m.Header, m.Data, want)
		}
	}
	if m, err := sub.NextMsg(200 * time.Millisecond); err == nil {
		t.Errorf("one more: %v", m.Header)
	}
}

// What cannot be reached is said, without the password of the URL.
func TestUnreached(t *testing.T) {
	for name, c := range map[string]struct {
		to   jetstream.Target
		want string
	}{
		"nobody listens":    {jetstream.Target{URL: "nats://me:hunter2@127.0.0.1:1", Private: true}, "no servers available"},
		"a private address": {jetstream.Target{URL: "nats://me:hunter2@127.0.0.1:1"}, "private or loopback"},
		"a name of one":     {jetstream.Target{URL: "nats://me:hunter2@localhost:1"}, "private or loopback"},
	} {
		c.to.Timeout = time.Second
		err := open(t, c.to).Send(context.Background(), event(1, "a"))
		if !errors.Is(err, routine.ErrUnreached) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
