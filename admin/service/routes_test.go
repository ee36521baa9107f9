package service_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
)

// lines collects audit lines.
type lines struct {
	mu   sync.Mutex
	list []line
}

type line struct {
	event, reason string
	attrs         map[string]string
}

func (l *lines) audit(event, reason string, attrs ...slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := map[string]string{}
	for _, a := range attrs {
		m[a.Key] = a.Value.String()
	}
	l.list = append(l.list, line{event, reason, m})
}

// take returns the lines of an event since the last call, and forgets all.
func (l *lines) take(event string) (out []line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.list {
		if one.event == event {
			out = append(out, one)
		}
	}
	l.list = nil
	return out
}

// A call that changes something leaves an audit line, also if it fails; others
// leave none. Calls that only read need no more than the role read, unless they
// are expensive.
func TestEveryChangeIsAudited(t *testing.T) {
	var log lines
	srv := httptest.NewServer(service.Handler(newServiceWith(t, log.audit), service.Access{Open: "tester"}))
	defer srv.Close()
	for _, r := range api.Routes() {
		if r.Request == nil {
			continue
		}
		if !r.Changes && r.Role != api.Read && !r.Stream {
			t.Errorf("%s needs the role %s and is said to change nothing", r.Name, r.Role)
		}
		if r.Changes && r.Role == api.Read {
			t.Errorf("%s changes something, and the role read is enough for it", r.Name)
		}
		send(t, srv.URL, r.Name, "{}")
		told := log.take("admin_change")
		switch {
		case r.Changes && len(told) != 1:
			t.Errorf("%s leaves %d audit lines: use changes or works in its table", r.Name, len(told))
		case !r.Changes && len(told) != 0:
			t.Errorf("%s is said to change nothing, and leaves an audit line", r.Name)
		case r.Changes && (told[0].attrs["who"] != "tester" || told[0].attrs["route"] != r.Name || told[0].attrs["outcome"] == "" || told[0].attrs["request"] == ""):
			t.Errorf("%s: the audit line does not say who, what and how it ended: %v", r.Name, told[0].attrs)
		}
	}
}

// A query parameter that a call does not take is refused by name, and nothing
// is done: a walk over one backend does not become one over all.
func TestParametersThatAreNotTakenAreRefused(t *testing.T) {
	var log lines
	srv := httptest.NewServer(service.Handler(newServiceWith(t, log.audit), service.Access{Open: "tester"}))
	defer srv.Close()
	for _, r := range api.Routes() {
		if r.Request == nil {
			continue
		}
		code, body := send(t, srv.URL, r.Name+"?backend=main&%22odd=1", "{}")
		if code != http.StatusBadRequest || !strings.Contains(body, `"bad_request"`) || !strings.Contains(body, "backend") || !strings.Contains(body, "odd") ||
			!strings.Contains(body, r.Name+" takes") {
			t.Errorf("%s: %d %s", r.Name, code, body)
		}
	}
	if told := log.take("admin_change"); len(told) != 0 {
		t.Errorf("something was done: %v", told)
	}
	if code, body := send(t, srv.URL, "apply?force=1", "no plan"); code != http.StatusBadRequest || strings.Contains(body, "takes") {
		t.Errorf("apply with force: %d %s", code, body)
	}
	if code, body := send(t, srv.URL, "reconcile?backend=%zz", "{}"); code != http.StatusBadRequest || !strings.Contains(body, "address") {
		t.Errorf("what is no query: %d %s", code, body)
	}
}

// The audit line of a change has what was before and after, and never a secret.
func TestAuditLines(t *testing.T) {
	var log lines
	srv := httptest.NewServer(service.Handler(newServiceWith(t, log.audit), service.Access{Token: "the-token"}))
	defer srv.Close()
	auth := []string{"Authorization", "Bearer the-token"}
	if code, body := send(t, srv.URL, "backends/hold", `{"id":"main","reason":"a test"}`, auth...); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	told := log.take("admin_change")
	if len(told) != 1 || !strings.Contains(told[0].attrs["before"], `"held":""`) || !strings.Contains(told[0].attrs["after"], `"held":"a test"`) ||
		told[0].attrs["who"] != "root" || told[0].attrs["outcome"] != "done" {
		t.Errorf("%v", told)
	}
	_, body := send(t, srv.URL, "keys/add", `{"buckets":["photos"]}`, auth...)
	told = log.take("admin_change")
	_, secret, found := strings.Cut(body, `"secret":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	if !found || len(secret) < 20 || len(told) != 1 || !strings.Contains(told[0].attrs["after"], "photos") {
		t.Fatalf("%s %v", body, told)
	}
	for k, v := range told[0].attrs {
		if strings.Contains(v, secret) {
			t.Errorf("the attribute %s holds the secret: %s", k, v)
		}
	}
	_, _ = send(t, srv.URL, "keys/remove", `{"id":"none"}`, auth...)
	if told = log.take("admin_change"); len(told) != 1 || told[0].attrs["outcome"] != "no_such_access_key" || told[0].attrs["error"] == "" {
		t.Errorf("a failure is told as %v", told)
	}
}

// A call without authentication is attributed to this process.
func TestUnauthenticatedCallsAreAttributedToTheProcess(t *testing.T) {
	var log lines
	s := newServiceWith(t, log.audit)
	if _, err := s.HoldBackend(context.Background(), api.BackendRequest{ID: "main"}); err != nil {
		t.Fatal(err)
	}
	if told := log.take("backend_held"); len(told) != 1 || told[0].attrs["who"] != "this process" {
		t.Errorf("%v", told)
	}
}
