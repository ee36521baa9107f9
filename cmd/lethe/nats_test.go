package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/nats-io/nats.go"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/servers"
)

// A server whose credentials NATS refuses says so, and keeps what it has to tell. With others, which
// it reads without a restart, a stream gets all of it: in order, with the ids, once.
func TestServeTellsAStream(t *testing.T) {
	server := servers.StartNATSUsers(t)
	t.Setenv("SSL_CERT_FILE", server.Authorities) // of the process
	right, seed := server.Credentials(true)
	wrong, other := server.Credentials(false)
	in := filepath.Join(t.TempDir(), "app.creds")
	moveTo(t, wrong, in)
	js := servers.NATSStream(t, server.URL, nats.RootCAs(server.Authorities), nats.UserCredentials(right))
	w := newWorld(t, fmt.Sprintf("events.targets=[{name: app, kind: nats, url: %q, subject: lethe.app, credentials_file: %q, private: true}]", server.URL, in),
		"events.backoff_min=50ms", "events.backoff_max=50ms", "reclaim.deliver.enabled=true", "reclaim.expire.enabled=true", "reclaim.expire.schedule=every 1s",
		"root.access_key=myself", "root.secret=a-long-secret")
	_, out, errs, _ := w.process(w.args("serve")...)
	text, ok := out.await("lethe status")
	if !ok {
		t.Fatalf("not started: %s%s", text, errs)
	}
	tellsOf(t, regexp.MustCompile(`S3 +(http\S+)`).FindStringSubmatch(text)[1])
	var shown string
	soon(t, "the refusal is shown", func() bool {
		shown = w.ok("events", "targets")
		return strings.Contains(strings.ToLower(shown), "authorization violation")
	})
	if out := w.ok("explain", "s3://told/a"); !strings.Contains(out, "app") || !strings.Contains(strings.ToLower(out), "authorization violation") {
		t.Errorf("explain says\n%s", out)
	}
	moveTo(t, right, in)
	fromStream(t, js)
	shown += out.String() + errs.String() + w.ok("events", "targets", "--json") + w.ok("status", "--json") + w.ok("config", "print")
	for _, secret := range []string{seed, other} {
		if strings.Contains(shown, secret) || strings.Contains(shown, secret[2:]) {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

// moveTo puts a file in the place of another at once.
func moveTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// soon waits until something holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 200 {
		if holds() {
			return
		}
		if err := lethe.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("not within 10 s: %s", what)
}

// tellsOf has a bucket told of, and does what it is told of.
func tellsOf(t *testing.T, endpoint string) {
	t.Helper()
	c, ctx := s3At(endpoint, "myself", "a-long-secret"), t.Context()
	steps := []func() error{
		func() error {
			_, err := c.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("told")})
			return err
		},
		func() error {
			_, err := c.PutBucketNotificationConfiguration(ctx, &awss3.PutBucketNotificationConfigurationInput{Bucket: aws.String("told"), NotificationConfiguration: &types.NotificationConfiguration{
				QueueConfigurations: []types.QueueConfiguration{{QueueArn: aws.String("arn:lethe:sqs::app:webhook"), Events: []types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}}},
			}})
			return err
		},
		func() error {
			_, err := c.PutObject(ctx, &awss3.PutObjectInput{Bucket: aws.String("told"), Key: aws.String("ends"), Body: strings.NewReader("ends"), Metadata: map[string]string{"ttl": "1s"}})
			return err
		},
	}
	for i := range 3 {
		steps = append(steps, func() error {
			_, err := c.PutObject(ctx, &awss3.PutObjectInput{Bucket: aws.String("told"), Key: aws.String("a"), Body: strings.NewReader(strings.Repeat("a", i+1))})
			return err
		})
	}
	steps = append(steps, func() error {
		_, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String("told"), Key: aws.String("a")})
		return err
	})
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
}

// fromStream reads what a stream keeps, and wants it to be what happened: each key in its order.
func fromStream(t *testing.T, js nats.JetStreamContext) {
	t.Helper()
	sub, err := js.SubscribeSync("lethe.app")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"a":    {"ObjectCreated:Put 1 ", "ObjectCreated:Put 2 ", "ObjectCreated:Put 3 ", "ObjectRemoved:Delete 3 delete"},
		"ends": {"ObjectCreated:Put 4 ", "LifecycleExpiration:Delete 4 expiry"},
	}
	got, last, ids := map[string][]string{}, map[string]string{}, map[string]bool{}
	for range 6 {
		m, err := sub.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatalf("%v, after %q", err, got)
		}
		var body struct {
			Records []struct {
				EventName string
				S3        struct {
					Object struct {
						Key, Sequencer string
						Size           int64
					}
				}
				Lethe struct{ Reason string }
			}
		}
		if err := json.Unmarshal(m.Data, &body); err != nil || len(body.Records) != 1 {
			t.Fatalf("%s: %v", m.Data, err)
		}
		r := body.Records[0]
		key, id := r.S3.Object.Key, m.Header.Get("Lethe-Event-Id")
		got[key] = append(got[key], fmt.Sprintf("%s %d %s", r.EventName, r.S3.Object.Size, r.Lethe.Reason))
		if id == "" || ids[id] || m.Header.Get("Nats-Msg-Id") != id || m.Header.Get("Lethe-Sequencer") != r.S3.Object.Sequencer || r.S3.Object.Sequencer <= last[key] {
			t.Errorf("%s: id %q, sequencer %q after %q: %v", key, id, r.S3.Object.Sequencer, last[key], m.Header)
		}
		ids[id], last[key] = true, r.S3.Object.Sequencer
	}
	for key := range want {
		if !slices.Equal(got[key], want[key]) {
			t.Errorf("%s: %q, want %q", key, got[key], want[key])
		}
	}
}
