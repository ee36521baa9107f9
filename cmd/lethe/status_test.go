package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/test/servers"
)

// agree fails unless status, its exit code, /readyz and the metric say the same of a kind of
// finding: that there is one of a severity, or none. It returns the finding.
func (w *world) agree(kind, severity string, ready int) (found api.StatusFinding) {
	w.t.Helper()
	w.fresh()
	code, out, errs := w.lethe("status", "--json")
	var s api.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		w.t.Fatalf("%v: %s%s", err, out, errs)
	}
	if code != severityCodes[s.Severity] {
		w.t.Errorf("exit code %d of what is %s", code, s.Severity)
	}
	at := slices.IndexFunc(s.Findings, func(f api.StatusFinding) bool { return f.Kind == kind })
	if at >= 0 {
		found = s.Findings[at]
	}
	if found.Severity != severity {
		w.t.Fatalf("%s: found %+v, wanted %q", kind, s.Findings, severity)
	}
	text := w.ok("status")
	if !strings.HasPrefix(text, s.Sentence+"\n") || !strings.Contains(text, "--data-dir "+w.dir) && len(s.Findings) > 0 {
		w.t.Errorf("the verdict is %q, and status says\n%s", s.Sentence, text)
	}
	got, says := get(w.t, strings.TrimSuffix(w.metrics, "/metrics")+"/readyz")
	if got != ready || severity != "" && ownKinds[kind] && len(found.Instances) == 0 && !strings.Contains(says, found.What) {
		w.t.Errorf("/readyz says %d %s", got, says)
	}
	for _, k := range api.FindingKinds {
		for _, sev := range k.Severities {
			n := 0
			for _, f := range s.Findings {
				if f.Kind == k.Kind && f.Severity == sev {
					n++
				}
			}
			line := fmt.Sprintf("lethe_findings{kind=%q,severity=%q} %d\n", k.Kind, sev, n)
			if _, metrics := get(w.t, w.metrics); !strings.Contains(metrics, line) {
				w.t.Errorf("no metric %s", line)
			}
		}
	}
	return found
}

// ownKinds are the kinds that /readyz lists.
var ownKinds = map[string]bool{
	api.KindBackendDown: true, api.KindBackendMisplaced: true, api.KindDeletesStopped: true, api.KindRedisDown: true,
	api.KindCacheWrong: true, api.KindLedgerDown: true,
}

// heal fails unless nothing is wrong any more.
func (w *world) heal() {
	w.t.Helper()
	w.fresh()
	w.leads(0, "healthy\n")
}

// leads waits until status begins with a sentence and exits with a code. A busy machine may
// answer a probe of a backend too late.
func (w *world) leads(code int, sentence string) {
	w.t.Helper()
	late := time.After(time.Minute)
	for {
		got, out, errs := w.lethe("status")
		if got == code && strings.HasPrefix(out, sentence) {
			return
		}
		select {
		case <-late:
			w.t.Fatalf("exit code %d: %s%s", got, out, errs)
		default:
		}
	}
}

func TestStatusOfAVanishedFolder(t *testing.T) {
	w := newWorld(t).start()
	w.heal()
	mount := w.unmount()
	f := w.agree(api.KindBackendMisplaced, api.SeverityCritical, http.StatusServiceUnavailable)
	if f.Subject != "main" || f.Next != "lethe backend list" {
		t.Errorf("found %+v", f)
	}
	mount()
	w.statusUntil(func(s api.Status) bool { return s.Severity == api.SeverityOK })
	w.heal()
	path := filepath.Join(w.dir, "blobs")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	w.agree(api.KindBackendMisplaced, api.SeverityCritical, http.StatusServiceUnavailable)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}

// behindProxy is a backend in a bucket behind a proxy, beside one in a folder.
func behindProxy(t *testing.T) (setting string, way *servers.Faults) {
	s := servers.GoFakeS3(t)
	way = servers.Proxy(t, strings.TrimPrefix(s.Endpoint, "http://"))
	return fmt.Sprintf("backends=[{name: main, kind: dir, path: blobs}, {name: cloud, kind: s3, s3: {endpoint: http://%s, bucket: %s, access_key: %s, secret_key: %s}}]",
		way.Addr, s.Bucket(t), s.Access, s.Secret), way
}

// One call finds a dead backend: nothing else has used it.
func TestStatusOfADeadBackend(t *testing.T) {
	setting, way := behindProxy(t)
	w := newWorld(t, setting).start()
	w.heal()
	way.Down()
	f := w.agree(api.KindBackendDown, api.SeverityCritical, http.StatusOK)
	if f.Subject != "cloud" || !strings.Contains(f.What, "connection refused") {
		t.Errorf("found %+v", f)
	}
	way.Up()
	w.statusUntil(func(s api.Status) bool { return s.Severity == api.SeverityOK }) // an open breaker pauses first
	w.heal()
}

func TestStatusOfRedis(t *testing.T) {
	server := servers.NewRedis(t)
	w := newWorld(t, "redis.url=redis://"+server.Addr, "cache.size=none").start()
	w.heal()
	w.bucket("first")
	w.put("first", "a", "bytes", "1h")
	read := func() {
		t.Helper()
		if got, err := w.get("first", "a"); err != nil || got != "bytes" {
			t.Errorf("read %q, %v", got, err)
		}
	}
	read()
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	keys, err := client.Keys(t.Context(), "lethe:c:*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	if err := client.Set(t.Context(), keys[0], "wrong", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	read()
	if f := w.agree(api.KindCacheWrong, api.SeverityWarning, http.StatusOK); !strings.Contains(f.What, "1 wrong value") {
		t.Errorf("found %+v", f)
	}
	if _, text := get(t, w.metrics); !strings.Contains(text, `lethe_read_troubles_total{kind="cached"} 1`) {
		t.Error("no metric counts the wrong value")
	}
	w.clock.Advance(time.Hour)
	w.remove("first", "a")
	server.Kill()
	w.agree(api.KindRedisDown, api.SeverityWarning, http.StatusOK)
	server.Restart()
	w.agree(api.KindRedisDown, "", http.StatusOK)
}

func TestStatusOfStoppedDeletes(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=3").start()
	w.ok("backend", "hold", "main", "--reason", "a trial")
	w.agree(api.KindDeletesStopped, api.SeverityCritical, http.StatusOK)
	w.ok("backend", "accept", "main")
	w.agree(api.KindDeletesStopped, "", http.StatusOK)
	w.bucket("first")
	for i := range 5 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("bytes ", i), "1h")
	}
	w.clock.Advance(2 * time.Hour)
	w.agree(api.KindBehind, api.SeverityWarning, http.StatusOK)
	w.ok("reclaim", "--once", "--only", "expire")
	if f := w.agree(api.KindLimit, api.SeverityWarning, http.StatusOK); f.Next != "lethe limits allow ttl first" {
		t.Errorf("found %+v", f)
	}
	w.agree(api.KindHolds, api.SeverityNotice, http.StatusOK) // what is set aside
	w.ok("limits", "allow", "ttl", "first")
	w.agree(api.KindLimit, "", http.StatusOK)
}

// Deletes that a backend refuses are a notice at first, and then a warning.
func TestStatusOfRefusedDeletes(t *testing.T) {
	w := newWorld(t).start()
	w.one("")
	stuck(t, w.blobFile())
	w.remove("first", "a")
	for try, severity := range []string{api.SeverityNotice, api.SeverityWarning} {
		w.clock.Advance(time.Hour)
		w.ok("reclaim", "--once", "--only", "clean")
		f := w.agree(api.KindDeletesFail, severity, http.StatusOK)
		if !strings.Contains(f.What, words.Plural(int64(try+1), "attempt", "attempts")) {
			t.Errorf("found %+v", f)
		}
	}
	w.unstick()
	w.clock.Advance(24 * time.Hour)
	w.ok("reclaim", "--once", "--only", "clean")
	w.agree(api.KindDeletesFail, "", http.StatusOK)
	w.heal()
}

// A blob whose file is gone is lost once a check has found that.
func TestStatusOfLostBytes(t *testing.T) {
	w := newWorld(t).start()
	w.one("")
	if err := os.Remove(w.blobFile()); err != nil {
		t.Fatal(err)
	}
	w.lethe("check")
	w.agree(api.KindLost, api.SeverityCritical, http.StatusOK)
}

// What only one instance knows, every instance tells. After the last one that reclaims has
// stopped, the others say that nobody does.
func TestStatusOverInstances(t *testing.T) {
	settings := shared(t, servers.Postgres(t), "cloud")
	w := newWorld(t, append(settings, "roles=serve")...).start()
	w.agree(api.KindNobodyReclaims, api.SeverityWarning, http.StatusOK)
	from := settings[1][strings.Index(settings[1], "endpoint: ")+len("endpoint: "):]
	from, _, _ = strings.Cut(from, ",")
	way := servers.Proxy(t, strings.TrimPrefix(from, "http://"))
	way.Down()
	v := w.beside("roles=reclaim", strings.Replace(settings[1], from, "http://"+way.Addr, 1)).start()
	w.statusUntil(func(s api.Status) bool { return s.Severity == api.SeverityCritical })
	f := w.agree(api.KindBackendDown, api.SeverityCritical, http.StatusOK)
	if len(f.Instances) != 1 || !strings.Contains(f.What, "(on "+f.Instances[0]) {
		t.Errorf("found %+v", f)
	}
	s := asked[api.Status](w, "status")
	if !slices.ContainsFunc(s.Findings, func(f api.StatusFinding) bool {
		return f.Kind == api.KindSettingsDiffer && f.Subject == "backends" && strings.Contains(f.What, " against ")
	}) {
		t.Errorf("the instances have other endpoints, and %+v", s.Findings)
	}
	v.stop()
	w.statusUntil(func(s api.Status) bool { return s.Severity == api.SeverityWarning })
	if f := w.agree(api.KindNobodyReclaims, api.SeverityWarning, http.StatusOK); f.Next != "lethe serve --roles reclaim" {
		t.Errorf("found %+v", f)
	}
}

// statusUntil asks for the status until it is as wanted.
func (w *world) statusUntil(as func(api.Status) bool) {
	w.t.Helper()
	late := time.After(time.Minute)
	for {
		s := asked[api.Status](w, "status")
		if as(s) {
			return
		}
		select {
		case <-late:
			w.t.Fatalf("status says %+v", s.Health)
		default:
		}
	}
}

func TestExitCodesOfStatus(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"status", "--no-such-flag"}, {"status", "1s"}, {"status", "-w", "1s", "2s"}, {"status", "-w", "x"}, {"status"}} {
		if code, out, errs := w.lethe(args...); code != exitUnknown || out != "" || errs == "" {
			t.Errorf("%v: exit code %d, %s%s", args, code, out, errs)
		}
	}
	w.start()
	w.heal()
	w.stop()
	w.leads(exitWarning, "no server runs on this store")
}

// While changed rules are still to be applied, status says that it does not count what they will end.
func TestStatusOfChangedRules(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "bytes", "")
	const note = "changed rules are still to be applied to 1 object"
	if out := w.ok("status"); strings.Contains(out, note) {
		t.Errorf("without rules: %s", out)
	}
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"Rules":[{"ID":"week","Filter":{"Prefix":"k"},"Status":"Enabled","Expiration":{"Days":7}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ok("lifecycle", "set", "first", rules)
	contains(t, "status", w.ok("status"), note, "lethe forecast")
	w.ok("reclaim", "--once", "--only", "lifecycle")
	if out := w.ok("status"); strings.Contains(out, note) {
		t.Errorf("once they are applied: %s", out)
	}
}

// -w works with a value behind a space, as one word, and without a value.
func TestStatusIsRepeated(t *testing.T) {
	w := newWorld(t).start()
	for _, flag := range [][]string{{"-w", "1ms"}, {"-w=1ms"}, {"--watch", "1ms"}, {"--watch=1ms"}} {
		ctx, stop := context.WithCancel(t.Context())
		out := newTail()
		go func() {
			_, _ = out.await("healthy")
			stop()
		}()
		var errs bytes.Buffer
		if code := run(ctx, w.args(append([]string{"status"}, flag...)...), streams{strings.NewReader(""), out, &errs}); code != 0 || errs.Len() > 0 {
			t.Errorf("%v: exit code %d: %s", flag, code, errs.String())
		}
		stop()
		if !strings.Contains(out.String(), "healthy") {
			t.Errorf("%v shows %s", flag, out.String())
		}
	}
}

// Colours are for terminals whose user does not refuse them.
func TestStatusHasColoursOnATerminal(t *testing.T) {
	w := newWorld(t).start()
	show := func() string {
		t.Helper()
		s := newScreen(t)
		code := run(t.Context(), w.args("status"), streams{strings.NewReader(""), s.file, s.file})
		if err := s.file.Close(); err != nil || code != 0 {
			t.Errorf("exit code %d, %v", code, err)
		}
		<-s.over
		return s.text.String()
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if text := show(); !strings.HasPrefix(text, "\x1b[32mhealthy\x1b[0m") {
		t.Errorf("on a terminal: %q", text)
	}
	t.Setenv("NO_COLOR", "1")
	if text := show(); !strings.HasPrefix(text, "healthy") {
		t.Errorf("with NO_COLOR: %q", text)
	}
	if text := w.ok("status"); strings.Contains(text, "\x1b") {
		t.Errorf("into a pipe: %q", text)
	}
}

// A backend that hangs delays status by no more than the time of a probe.
func TestStatusOfAHungBackend(t *testing.T) {
	setting, way := behindProxy(t)
	w := newWorld(t, setting).start()
	way.Silence(0)
	began := lethe.Monotonic{}.Now()
	s := asked[api.Status](w, "status")
	if took := (lethe.Monotonic{}).Now().Sub(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if len(s.Findings) != 1 || !strings.Contains(s.Findings[0].What, "backend cloud does not answer: no answer within 2s") {
		t.Errorf("found %+v", s.Findings)
	}
}
