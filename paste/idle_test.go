package paste_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ends is what Sunset says of an end.
func ends(at lethe.Time) string { return at.Time().Format(http.TimeFormat) }

// TestPasteKeptWhileItIsRead: whatever hands the text out is a read, and what only describes it
// is none.
func TestPasteKeptWhileItIsRead(t *testing.T) {
	const idle = 10 * time.Hour
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		moves        bool
	}{
		"text": {"GET", "", nil, true}, "raw": {"GET", "/raw", nil, true}, "page": {"GET", "", []string{"Accept", browser}, true},
		"range": {"GET", "/raw", []string{"Range", "bytes=0-1"}, true}, "what the client has": {"GET", "/raw", []string{"If-None-Match", "*"}, true},
		"head": {"HEAD", "", nil, false}, "condition that fails": {"GET", "/raw", []string{"If-Match", `"other"`}, false},
	} {
		s := newSite(t, nil)
		m := s.paste("hello", "X-Idle", "10h", "X-Ttl", "30d")
		end := s.clock.Now().Add(idle + idle/10 + ledger.IdleMargin)
		if m.ExpiresAt == nil || *m.ExpiresAt != end.Time().Format(time.RFC3339) || m.Idle != "10h" {
			t.Errorf("%s: it ends %v, idle for %q", name, m.ExpiresAt, m.Idle)
		}
		s.clock.Advance(idle / 2)
		s.ask(c.method, "/"+m.Code+c.path, "", c.headers...)
		s.must(s.store.NoteReads(context.Background()))
		if c.moves {
			end = end.Add(idle / 2)
		}
		s.says(s.wants(s.ask("HEAD", "/"+m.Code, ""), http.StatusOK), "Sunset", ends(end))
		s.clock.Advance(end.Sub(s.clock.Now()))
		s.wants(s.ask("GET", "/"+m.Code, ""), http.StatusNotFound)
	}
}

// TestIdlePaste: of both ends the earlier one counts, in every form of request, within what the
// bucket of pastes allows.
func TestIdlePaste(t *testing.T) {
	s := newSite(t, nil)
	now := s.clock.Now()
	for name, m := range map[string]made{
		"header": s.paste("a", "X-Idle", "1h"), "JSON": s.paste(`{"content":"a","idle":"1h"}`, "Content-Type", "application/json"),
		"form": s.paste("content=a&idle=1h", "Content-Type", urlencoded),
	} {
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		s.says(a, "Sunset", ends(now.Add(time.Hour+6*time.Minute+time.Minute)))
		if !strings.Contains(a.body, "unless it is read before (kept 1h after a read)") {
			t.Errorf("%s: the page does not say it", name)
		}
	}
	m := s.paste("both", "X-Idle", "1h", "X-Ttl", "30m")
	a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
	s.says(a, "Sunset", ends(now.Add(30*time.Minute)))
	if strings.Contains(a.body, "unless it is read") {
		t.Error("a read does not move the earlier end")
	}
	_, err := s.store.ConfigureBucket(context.Background(), "pastes", ledger.BucketSettings{DefaultIdle: time.Hour, MaxIdle: 2 * time.Hour}, nil)
	s.must(err)
	if m := s.paste("default"); m.Idle != "1h" {
		t.Errorf("the default of the bucket: idle for %q", m.Idle)
	}
	for value, want := range map[string]string{
		"59s": "shorter than a minute", "0": "is zero", "-1h": "is negative", "soon": "use a number with a unit",
		"3h": "error: invalid time to live: bucket pastes keeps objects no longer than 2h after their last read\n",
	} {
		if a := s.wants(s.ask("POST", "/", "x", "X-Idle", value), http.StatusBadRequest); !strings.Contains(a.body, want) {
			t.Errorf("%s: %q", value, a.body)
		}
	}
}
