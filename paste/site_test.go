package paste_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/paste"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// site is pastes over HTTP, on a store in memory.
type site struct {
	t     testing.TB
	clock *clocktest.Clock
	disk  *memblob.Store
	store *object.Store
	paste.Options
	*httptest.Server
	client *http.Client

	mu     sync.Mutex
	failed []string
}

// newSite serves pastes; change, if not nil, amends the options.
func newSite(t testing.TB, change func(*paste.Options)) *site {
	s := &site{t: t, clock: clocktest.New(), disk: memblob.New(memblob.Options{})}
	db := memledger.New(ledger.Options{Clock: s.clock})
	ctx := context.Background()
	_, err := db.AddBackend(ctx, ledger.Backend{ID: "disk"})
	s.must(err)
	who, err := db.Identity(ctx)
	s.must(err)
	s.store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(db), Backends: map[string]blob.Store{"disk": s.disk}, StoreID: who.ID, Clock: s.clock,
	})
	s.must(err)
	s.Options = paste.Options{
		Store: s.store, Clock: s.clock, MaxSize: 1 << 20, DefaultTTL: 24 * time.Hour, MaxTTL: 30 * 24 * time.Hour,
		Events: paste.Events{Failed: func(what string, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = append(s.failed, what+": "+err.Error())
		}},
	}
	if change != nil {
		change(&s.Options)
	}
	h, err := paste.New(ctx, s.Options)
	s.must(err)
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

// ask sends a request; headers come in pairs of name and value.
func (s *site) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	at := path
	if strings.HasPrefix(path, "/") {
		at = s.URL + path
	}
	r, err := http.NewRequest(method, at, strings.NewReader(body))
	s.must(err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(r)
	s.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	s.must(err)
	return answer{res, string(data)}
}

// wants fails unless the response has the status.
func (s *site) wants(a answer, status int) answer {
	s.t.Helper()
	if a.StatusCode != status {
		s.t.Fatalf("%s %s: status %d (%.200q), want %d", a.Request.Method, a.Request.URL, a.StatusCode, a.body, status)
	}
	return a
}

// says fails unless the header has the value.
func (s *site) says(a answer, header, value string) {
	s.t.Helper()
	if got := a.Header.Get(header); got != value {
		s.t.Errorf("%s %s: %s is %q, want %q", a.Request.Method, a.Request.URL, header, got, value)
	}
}

// made is the JSON response to the maker of a paste.
type made struct {
	Code        string  `json:"code"`
	URL         string  `json:"url"`
	RawURL      string  `json:"raw_url"`
	ExpiresAt   *string `json:"expires_at"`
	DeleteToken string  `json:"delete_token"`
	Size        int64   `json:"size"`
	Idle        string  `json:"idle"`
}

// paste makes one and reads the response in JSON.
func (s *site) paste(body string, headers ...string) made {
	s.t.Helper()
	a := s.ask("POST", "/", body, append([]string{"Accept", "application/json"}, headers...)...)
	s.wants(a, http.StatusCreated)
	var m made
	s.must(json.Unmarshal([]byte(a.body), &m))
	return m
}

// holds fails unless the paste is exactly the text.
func (s *site) holds(code, text string) {
	s.t.Helper()
	a := s.wants(s.ask("GET", "/"+code+"/raw", ""), http.StatusOK)
	if a.body != text {
		s.t.Fatalf("paste %s is %.80q (%d bytes), want %.80q (%d bytes)", code, a.body, len(a.body), text, len(text))
	}
}

// browse makes the client keep cookies and follow redirects, as browsers do.
func (s *site) browse() {
	jar, err := cookiejar.New(nil)
	s.must(err)
	s.client = &http.Client{Jar: jar}
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
