package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/webhook"
)

// inbox is a webhook that keeps what it gets.
type inbox struct {
	mu     sync.Mutex
	status int
	got    []string
	wrong  []string
}

const inboxSecret = "a secret of sixteen"

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var m struct {
		Records []struct {
			EventName string
			S3        struct {
				Bucket struct{ Name string }
				Object struct {
					Key  string
					Size int64
				}
			}
			Lethe struct{ Reason string }
		}
	}
	var seconds int64
	if _, err := fmt.Sscanf(r.Header.Get(webhook.HeaderSignature), "t=%d,", &seconds); err != nil ||
		r.Header.Get(webhook.HeaderSignature) != webhook.Sign(inboxSecret, lethe.FromTime(time.Unix(seconds, 0)), body) {
		b.wrong = append(b.wrong, "signature "+r.Header.Get(webhook.HeaderSignature))
	}
	if err := json.Unmarshal(body, &m); err != nil || len(m.Records) != 1 {
		b.wrong = append(b.wrong, string(body))
		return
	}
	e := m.Records[0]
	b.got = append(b.got, fmt.Sprint(e.EventName, " ", e.S3.Bucket.Name, "/", e.S3.Object.Key, " ", e.S3.Object.Size, " ", e.Lethe.Reason))
	w.WriteHeader(b.status)
}

func (b *inbox) answer(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = status
}

func (b *inbox) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return append(got, b.wrong...)
}

// A bucket's objects are told to a webhook: as S3's own client asks for, and with what
// became of each. What is refused is shown, and can be requeued.
func TestEventsAreDelivered(t *testing.T) {
	app := &inbox{status: 200}
	server := httptest.NewServer(app)
	defer server.Close()
	w := newWorld(t, fmt.Sprintf("events.targets=[{name: app, url: %q, secret: %s, private: true, buckets: ['to*']}]", server.URL+"/hook?token=hunter2", inboxSecret), "events.give_up=none").start()
	defer w.stop()
	w.bucket("told")
	w.notify()
	w.put("told", "in/a", "bytes", "1h")
	w.put("told", "out/b", "bytes", "")
	w.put("told", "in/c d", "bytes of c", "")
	w.remove("told", "in/c d")
	deliver := func(want ...string) {
		t.Helper()
		w.ok("reclaim", "--once", "--only", "deliver")
		got := app.take()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	deliver("ObjectCreated:Put told/in/a 5 ", "ObjectCreated:Put told/in/c+d 10 ", "ObjectRemoved:Delete told/in/c+d 10 delete")
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "expire")
	app.answer(400)
	deliver("LifecycleExpiration:Delete told/in/a 5 expiry")
	if list := asked[[]api.EventTarget](w, "events", "targets"); len(list) != 1 || list[0].Dead != 1 || list[0].Delivered != 3 {
		t.Fatalf("targets: %+v", list)
	}
	if out := w.ok("explain", "s3://told/in/a"); !strings.Contains(out, "was given up for the target app, after 1 try: it answered 400") || !strings.Contains(out, "events list app --dead") {
		t.Fatal(out)
	}
	if out := w.ok("events", "list", "app", "--dead"); !strings.Contains(out, "s3://told/in/a") || !strings.Contains(out, "it answered 400") {
		t.Fatal(out)
	}
	if out := w.ok("status"); !strings.Contains(out, "the target app refused 1 event") {
		t.Fatal(out)
	}
	app.answer(204)
	deliver()
	w.ok("events", "requeue", "app", "--all")
	deliver("LifecycleExpiration:Delete told/in/a 5 expiry")
	w.fails("name dead letters", "events", "drop", "app")
	for _, args := range [][]string{{"drop", "nobody", "--all", "--yes"}, {"drop", "nobody", "7", "--yes"}, {"requeue", "nobody", "--all"}, {"list", "nobody"}, {"list", "nobody", "--dead"}} {
		w.fails(`no such target: "nobody"; there are: app`, append([]string{"events"}, args...)...)
	}
	w.fails(`no such target: "nobody"`, "events", "drop", "nobody", "--all")
	for _, text := range []string{w.log.String(), w.ok("config", "print"), w.ok("events", "targets"), w.ok("events", "list", "app", "--dead"), w.ok("status", "--json")} {
		if strings.Contains(text, inboxSecret) || strings.Contains(text, "hunter2") {
			t.Errorf("the secret is shown: %s", text)
		}
	}
}

// notify has the events of a prefix told, by S3's own client, which reads back what it set.
func (w *world) notify() {
	t := w.t
	t.Helper()
	client, ctx := w.s3("", ""), context.Background()
	conf := types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{{
		QueueArn: new(string), Events: []types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:Delete", "s3:LifecycleExpiration:*"},
		Filter: &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{{Name: types.FilterRuleNamePrefix, Value: ptr("in/")}}}},
	}}}
	set := func(arn string) error {
		conf.QueueConfigurations[0].QueueArn = &arn
		_, err := client.PutBucketNotificationConfiguration(ctx, &awss3.PutBucketNotificationConfigurationInput{Bucket: ptr("told"), NotificationConfiguration: &conf})
		return err
	}
	if err := set("arn:lethe:sqs::nobody:webhook"); err == nil || !strings.Contains(err.Error(), `no target "nobody"`) {
		t.Fatalf("a target that is not there: %v", err)
	}
	if err := set("arn:lethe:sqs::app:webhook"); err != nil {
		t.Fatal(err)
	}
	w.bucket("silent")
	other := &awss3.PutBucketNotificationConfigurationInput{Bucket: ptr("silent"), NotificationConfiguration: &conf}
	if _, err := client.PutBucketNotificationConfiguration(ctx, other); err == nil || !strings.Contains(err.Error(), `may not use the target "app"`) {
		t.Fatalf("a target that is for other buckets: %v", err)
	}
	have, err := client.GetBucketNotificationConfiguration(ctx, &awss3.GetBucketNotificationConfigurationInput{Bucket: ptr("told")})
	if err != nil || len(have.QueueConfigurations) != 1 || *have.QueueConfigurations[0].QueueArn != "arn:lethe:sqs::app:webhook" || *have.QueueConfigurations[0].Filter.Key.FilterRules[0].Value != "in/" {
		t.Fatalf("%+v, %v", have, err)
	}
}

func ptr(s string) *string { return &s }

// What waits for a target that was taken out of the configuration can be dropped.
func TestEventsOfARemovedTarget(t *testing.T) {
	target := "events.targets=[{name: app, url: 'http://127.0.0.1:1/', secret: " + inboxSecret + ", private: true, buckets: [told]}]"
	w := newWorld(t, target).start()
	w.bucket("told")
	w.notify()
	w.put("told", "in/a", "bytes", "")
	if out := w.ok("events", "drop", "app", "--all", "--yes"); !strings.Contains(out, "0 events") {
		t.Fatal(out) // it may still be delivered
	}
	w.stop()
	w.settings = slices.DeleteFunc(w.settings, func(s string) bool { return s == target })
	w.start()
	defer w.stop()
	w.ok("events", "drop", "app", "--all", "--yes")
	if list := asked[[]api.EventTarget](w, "events", "targets"); len(list) != 1 || list[0].Waiting != 0 || list[0].Lost != 1 {
		t.Fatalf("targets: %+v", list)
	}
}

// The error of a target is shown whole.
func TestErrorsOfTargetsAreShownWhole(t *testing.T) {
	why, out := strings.Repeat("why ", 50)+"at last", new(bytes.Buffer)
	c := &cli{streams: streams{nil, out, out}}
	if err := c.printTargets([]api.EventTarget{{Name: "app", LastError: why}, {Name: "fine"}}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "\nlast error of app: "+why+"\n") || strings.Contains(text, "of fine") {
		t.Error(text)
	}
}
