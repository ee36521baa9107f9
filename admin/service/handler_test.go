package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// newService returns a service over a ledger and a backend in memory.
func newService(t *testing.T) *service.Service {
	t.Helper()
	return newServiceWith(t, func(string, string, ...slog.Attr) {})
}

func newServiceWith(t *testing.T, audit func(event, reason string, attrs ...slog.Attr), failures ...lethe.Clock) *service.Service {
	t.Helper()
	ctx := context.Background()
	db, err := sqlledger.Open(ctx, sqlledger.Memory, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, err := db.Identity(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "main"}); err != nil {
		t.Fatal(err)
	}
	backends := map[string]blob.Store{"main": memblob.New(memblob.Options{})}
	objects, err := object.New(object.Options{Ledger: ledgertest.ForObjects(db), Backends: backends, StoreID: store.ID})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(sums bool) *routine.Verify {
		return &routine.Verify{Ledger: db, Stores: backends, Store: store.ID, Checksums: sums, Limit: 10}
	}
	loop := &reclaim.Loop{
		Ledger: db, Clock: lethe.SystemClock{}, Worker: "test",
		NewID: func() lethe.ID { return lethe.RandomID(lethe.SystemClock{}.Now()) },
		Routines: []reclaim.Scheduled{
			{Routine: &routine.Expire{Ledger: db, Batch: ledger.Batch{Limit: 10}}, Timetable: schedule.Schedule{}},
			{Routine: verify(false), Timetable: schedule.Schedule{}},
		},
	}
	if len(failures) == 0 {
		failures = append(failures, nil)
	}
	return service.New(service.Options{
		Failures: failures[0],
		Ledger:   db, Objects: objects, Backends: backends, Cache: cache.Null{}, Loop: loop, Verify: verify, StoreID: store.ID,
		Pairing: &pairing.Pairing{Ledger: db, Stores: backends, Clock: lethe.SystemClock{}}, Clock: lethe.SystemClock{},
		Scratch: t.TempDir(), Version: "test", Audit: audit,
	})
}

// send posts to a call.
func send(t *testing.T, base, call, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, base+api.Prefix+call, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// rush is a clock by which failures are always long ago.
type rush struct{ at atomic.Int64 }

func (c *rush) Now() lethe.Time { return lethe.Time(c.at.Add(int64(time.Hour / time.Microsecond))) }

// No call works without the token, or from a web page of another origin.
func TestEveryCallWantsTheToken(t *testing.T) {
	srv := httptest.NewServer(service.Handler(newServiceWith(t, func(string, string, ...slog.Attr) {}, &rush{}), service.Access{Token: "the-token"}))
	defer srv.Close()
	calls := []string{"no/such/call"}
	for _, r := range api.Routes() {
		calls = append(calls, r.Name)
	}
	for _, call := range calls {
		for name, header := range map[string][]string{
			"none":   nil,
			"wrong":  {"Authorization", "Bearer the-tokem"},
			"empty":  {"Authorization", "Bearer "},
			"prefix": {"Authorization", "Bearer the-token2"},
			"basic":  {"Authorization", "Basic the-token"},
		} {
			if code, body := send(t, srv.URL, call, "{}", header...); code != http.StatusUnauthorized || !strings.Contains(body, "unauthorized") {
				t.Errorf("%s with %s token: %d %s", call, name, code, body)
			}
		}
		if code, _ := send(t, srv.URL, call, "{}", "Authorization", "Bearer the-token", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
			t.Errorf("%s from another origin: %d", call, code)
		}
	}
	if code, body := send(t, srv.URL, "status", "", "Authorization", "Bearer the-token"); code != http.StatusOK || !strings.Contains(body, `"version":"test"`) {
		t.Errorf("with the token: %d %s", code, body)
	}
}

// Hole 13: credentials of the S3 API, or of other services, are not accepted
// here: signatures in a header or the address, cookies, and foreign tokens.
func TestOtherCredentialsAreRefused(t *testing.T) {
	srv := httptest.NewServer(service.Handler(newServiceWith(t, func(string, string, ...slog.Attr) {}, &rush{}), service.Access{Token: "the-token"}))
	defer srv.Close()
	const scope = "rootkey/20260101/us-east-1/s3/aws4_request"
	const presigned = "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=rootkey%2F20260101%2Fus-east-1%2Fs3%2Faws4_request" +
		"&X-Amz-Date=20260101T000000Z&X-Amz-Expires=604800&X-Amz-SignedHeaders=host&X-Amz-Signature="
	signature := strings.Repeat("0", 64)
	for _, r := range api.Routes() {
		for name, c := range map[string]struct {
			query  string
			header []string
		}{
			"a signature":        {"", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=" + scope + ", SignedHeaders=host, Signature=" + signature}},
			"an old signature":   {"", []string{"Authorization", "AWS rootkey:" + signature}},
			"a presigned link":   {presigned + signature, nil},
			"an old link":        {"?AWSAccessKeyId=rootkey&Expires=99999999999&Signature=" + signature, nil},
			"the token in it":    {"?token=the-token&access_token=the-token&Authorization=Bearer%20the-token", nil},
			"a token and a link": {presigned + signature, []string{"X-Amz-Security-Token", "the-token"}},
			"a cookie":           {"", []string{"Cookie", "token=the-token; Authorization=Bearer the-token"}},
			"a web token":        {"", []string{"Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0."}},
			"another header":     {"", []string{"X-Authorization", "Bearer the-token", "X-Forwarded-User", "root", "X-Remote-User", "root"}},
		} {
			if code, body := send(t, srv.URL, r.Name+c.query, "{}", c.header...); code != http.StatusUnauthorized {
				t.Errorf("%s with %s: %d %s", r.Name, name, code, body)
			}
		}
	}
}

func TestBadRequestsSaySo(t *testing.T) {
	srv := httptest.NewServer(service.Handler(newService(t), service.Access{Open: "test"}))
	defer srv.Close()
	for _, c := range []struct {
		call, body, want string
		code             int
	}{
		{"explain", `{"bucket":"b"}`, "s3://bucket/key", 400},
		{"explain", `{"bucket":"b","kee":"k"}`, "unknown field", 400},
		{"explain", `{"bucket":`, "the body", 400},
		{"explain", `{} {}`, "more than one value", 400},
		{"ttl/set", `{"bucket":"b","key":"k","ttl":"soon"}`, "no number", 400},
		{"ttl/set", `{"bucket":"b","key":"k","ttl":"1h","idle":"1s"}`, "shorter than a minute", 400},
		{"ttl/show", `{"bucket":"b","key":"k"}`, "no such bucket", 404},
		{"buckets/set", `{"name":"none"}`, "no such bucket", 404},
		{"keys/remove", `{"id":"none"}`, "no such access key", 404},
		{"keys/add", `{}`, "chosen buckets", 400},
		{"dead/requeue", `{}`, "choose them", 400},
		{"dead/requeue", `{"ids":["nonsense"]}`, "is not an id", 400},
		{"trash/purge", `{}`, "choose them", 400},
		{"backends/hold", `{"id":"none"}`, "no such backend", 404},
		{"backends/drain", `{"id":"none"}`, "no such backend", 404},
		{"cleanup-queue/list", `{"backend":"none"}`, "no such backend", 404},
		{"lifecycle/set", `{"bucket":"none","change":"remove","rule":"x"}`, "no such bucket", 404},
		{"lifecycle/set", `{"bucket":"b","rule":"x"}`, "no such bucket", 404},
		{"reclaim", `{"only":["none"]}`, "no routine", 200}, // told in the stream
	} {
		code, body := send(t, srv.URL, c.call, c.body)
		if code != c.code || !strings.Contains(body, c.want) || !strings.Contains(body, `"error"`) {
			t.Errorf("%s %s: %d %s", c.call, c.body, code, body)
		}
	}
	if res, err := http.Get(srv.URL + api.Prefix + "status"); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a GET: %v %v", res, err)
	}
}

// A client within the process gets the same as one over the network.
func TestLocalAndRemoteAgree(t *testing.T) {
	h := service.Handler(newService(t), service.Access{Open: "test"})
	srv := httptest.NewServer(h)
	defer srv.Close()
	local := &service.Local{Handler: h}
	defer local.Wait()
	ctx := context.Background()
	for name, c := range map[string]*api.Client{
		"local": {Base: "http://x", HTTP: local}, "remote": {Base: srv.URL, HTTP: api.TCP()},
	} {
		if s, err := c.Status(ctx); err != nil || s.Version != "test" || len(s.Backends) != 1 {
			t.Errorf("%s: status %+v, %v", name, s, err)
		}
		if res, err := api.Stream[api.CheckResult](ctx, c, "check", api.CheckRequest{Checksums: true}, func(api.Event) {}); err != nil || res.Problems != 0 {
			t.Errorf("%s: check %+v, %v", name, res, err)
		}
		_, err := api.Call[api.ObjectInfo](ctx, c, "ttl/show", api.ObjectName{Bucket: "none", Key: "k"})
		if !errors.Is(err, lethe.ErrNoSuchBucket) || errors.Is(err, lethe.ErrNoSuchKey) {
			t.Errorf("%s: the kind of the error is lost: %v", name, err)
		}
		var copied strings.Builder
		if n, err := c.Backup(ctx, &copied); err != nil || n != int64(copied.Len()) || !strings.HasPrefix(copied.String(), "SQLite format 3") {
			t.Errorf("%s: backup of %d bytes, %v", name, n, err)
		}
	}
}

// An interrupted stream is an error, never a short success.
func TestBrokenStreams(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":  "",
		"progress": `{"progress":{"what":"check","done":1}}` + "\n",
		"half":     `{"progress":{"what":"check","done":1}}` + "\n" + `{"res`,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		c := &api.Client{Base: srv.URL, HTTP: api.TCP()}
		if _, err := api.Stream[api.CheckResult](context.Background(), c, "check", api.CheckRequest{}, func(api.Event) {}); err == nil {
			t.Errorf("%s: taken for a result", name)
		}
		if _, err := c.Backup(context.Background(), io.Discard); err == nil {
			t.Errorf("%s: taken for a backup", name)
		}
		srv.Close()
	}
}

// Cancelling a call ends its work.
func TestLocalCallsEndWithTheirCaller(t *testing.T) {
	began := make(chan struct{})
	local := &service.Local{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		<-began
		cancel()
	}()
	c := &api.Client{Base: "http://x", HTTP: local}
	if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	local.Wait()
}

// Missing times are left out of a response, not zero.
func TestZeroTimesAreLeftOut(t *testing.T) {
	s, err := newService(t).Status(context.Background(), api.None{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil || strings.Contains(string(raw), "0001-01-01") {
		t.Errorf("%s %v", raw, err)
	}
}
