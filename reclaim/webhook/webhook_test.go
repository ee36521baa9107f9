package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/webhook"
)

const secret = "sixteen characters"

var event = ledger.Event{No: 26, Target: "app", At: 1e15, Event: notification.Event{
	Kind: notification.Deleted, Rule: "r", Bucket: "b", Key: "a key/ü", Version: "v", Size: 7, ETag: "e", Reason: lethe.ReasonDelete,
}}

// send sends the event to a handler, with changes of the target.
func send(t *testing.T, h http.HandlerFunc, change func(*webhook.Target)) error {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	to := webhook.Target{URL: server.URL + "/hook?token=hunter2", Secret: secret, Private: true, Timeout: 10 * time.Second}
	if change != nil {
		change(&to)
	}
	err := webhook.New(to, "eu-1", lethe.SystemClock{}).Send(context.Background(), event)
	if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "hunter2")) {
		t.Errorf("the error shows the URL or the secret: %v", err)
	}
	return err
}

func TestEventIsSentInS3sForm(t *testing.T) {
	err := send(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		const want = `{"Records":[{"eventVersion":"2.3","eventSource":"aws:s3","awsRegion":"eu-1","eventTime":"2001-09-09T01:46:40.000Z","eventName":"ObjectRemoved:Delete",` +
			`"userIdentity":{"principalId":""},"responseElements":{"x-amz-request-id":""},"s3":{"s3SchemaVersion":"1.0","configurationId":"r",` +
			`"bucket":{"name":"b","ownerIdentity":{"principalId":""},"arn":"arn:aws:s3:::b"},` +
			`"object":{"key":"a+key/%C3%BC","size":7,"eTag":"e","versionId":"v","sequencer":"000000000000001A"}},"lethe":{"id":"v-000000000000001A","reason":"delete"}}]}`
		if err != nil || string(body) != want {
			t.Errorf("%v, %s", err, body)
		}
		if r.Method != http.MethodPost || r.Header.Get("Lethe-Event-Id") != "v-000000000000001A" || r.Header.Get("Lethe-Sequencer") != "000000000000001A" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		w.WriteHeader(http.StatusAccepted)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// The signature of a fixed body, as a receiver computes it by other means.
func TestSignature(t *testing.T) {
	const signed = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
	have := webhook.Sign("key", lethe.FromTime(time.Unix(1_700_000_000, 0)), []byte("{}"))
	// printf '1700000000.{}' | openssl dgst -sha256 -hmac key
	if want := "t=1700000000,v1=" + signed; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}

// What a target answers, and whether it counts as unreached.
func TestAnswers(t *testing.T) {
	for status, unreached := range map[int]bool{500: false, 400: false, 404: false, 429: true, 502: true, 503: true, 504: true, 302: false} {
		calls := 0
		err := send(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<20)) // more than is read
		}, nil)
		if err == nil || errors.Is(err, routine.ErrUnreached) != unreached || calls != 1 {
			t.Errorf("%d: %v after %d requests", status, err, calls)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestSlowAndAbsentTargets(t *testing.T) {
	release := make(chan struct{})
	err := send(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that it notices when the client is gone
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}, func(to *webhook.Target) { to.Timeout = 50 * time.Millisecond })
	close(release)
	if !errors.Is(err, routine.ErrUnreached) {
		t.Errorf("slow: %v", err)
	}
	if err := send(t, nil, func(to *webhook.Target) { to.URL = "http://127.0.0.1:1/?token=hunter2" }); !errors.Is(err, routine.ErrUnreached) {
		t.Errorf("absent: %v", err)
	}
}

// An answer that is not HTTP is not kept with each event.
func TestErrorsAreShort(t *testing.T) {
	err := send(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, strings.Repeat("x", 10_000)+"\r\n\r\n")
	}, nil)
	if !errors.Is(err, routine.ErrUnreached) || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

// Private addresses are refused where they are dialled, by whatever name.
func TestPrivateAddressesAreRefused(t *testing.T) {
	asked := false
	handler := func(http.ResponseWriter, *http.Request) { asked = true }
	for _, host := range []string{"", "localhost", "127.0.0.1", "[::1]", "10.0.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "[::ffff:127.0.0.1]", "[fd00::1]", "[64:ff9b::7f00:1]", "0.0.0.0"} {
		err := send(t, handler, func(to *webhook.Target) {
			if to.Private = false; host != "" {
				to.URL = "http://" + host + ":9/"
			}
		})
		if err == nil || asked {
			t.Fatalf("%q: %v, asked: %t", host, err, asked)
		}
		if host != "localhost" && !strings.Contains(err.Error(), "private or loopback") {
			t.Errorf("%q: %v", host, err)
		}
	}
}
