package paste_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/paste"
)

func TestRateIsLimitedPerClient(t *testing.T) {
	var limited []string
	s := newSite(t, nil)
	s = newSite(t, func(o *paste.Options) {
		o.Limiter = ratelimit.New(ratelimit.Rate{PerSecond: 1, Burst: 2}, s.clock)
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}
		o.Events.Limited = func(address string) { limited = append(limited, address) }
	})
	from := func(chain string) int { return s.ask("GET", "/", "", "X-Forwarded-For", chain).StatusCode }
	for _, c := range []struct {
		chain  string
		status int
	}{
		{"192.0.2.1", 200}, {"192.0.2.1, 10.1.1.1", 200}, {"192.0.2.1", 429},
		{"192.0.2.9, 192.0.2.1", 429}, // entries further left are made up
		{"192.0.2.2", 200},
		{"2001:db8::1", 200}, {"2001:db8::2", 200}, {"2001:db8::3", 429}, {"2001:db8:0:1::1", 200},
		{"nonsense", 200}, {"", 200}, {"more nonsense", 429}, // all of them the proxy itself
	} {
		if got := from(c.chain); got != c.status {
			t.Errorf("X-Forwarded-For %q: status %d, want %d", c.chain, got, c.status)
		}
	}
	a := s.ask("GET", "/", "", "X-Forwarded-For", "192.0.2.1")
	s.says(a, "Retry-After", "1")
	if len(limited) == 0 || limited[0] != "192.0.2.1" {
		t.Errorf("the event named %q", limited)
	}
}

func TestUntrustedForwardedForIsIgnored(t *testing.T) {
	var mu sync.Mutex
	var seen []paste.RequestEvent
	s := newSite(t, func(o *paste.Options) {
		o.Events.Request = func(e paste.RequestEvent) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, e)
		}
	})
	a := s.wants(s.ask("POST", "/", "hello", "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https"), http.StatusCreated)
	if !strings.HasPrefix(a.body, "http://") {
		t.Errorf("the link is %q: a stranger chose its scheme", a.body)
	}
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen[0].Address != "127.0.0.1" || seen[0].Status != 201 || seen[0].BytesOut != int64(len(a.body)) || seen[0].Path != "/" {
		t.Errorf("the request was told as %+v", seen)
	}
}

func TestLinksFollowAProxy(t *testing.T) {
	s := newSite(t, func(o *paste.Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	a := s.ask("POST", "/", "hello", "X-Forwarded-Proto", "https")
	if want := strings.Replace(s.URL, "http:", "https:", 1) + "/"; !strings.HasPrefix(a.body, want) {
		t.Errorf("the link is %q, want %s", a.body, want)
	}
}

func TestHostIsEscaped(t *testing.T) {
	s := newSite(t, nil)
	r, err := http.NewRequest("GET", s.URL+"/", nil)
	s.must(err)
	r.Host = `a"><script>`
	res, err := s.client.Do(r)
	s.must(err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d for a host with markup", res.StatusCode)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := newSite(t, nil)
	var all sync.WaitGroup
	codes := make(chan string, 64)
	for i := range cap(codes) {
		all.Go(func() {
			a := s.ask("POST", "/?alias="+[]string{"", "wanted"}[i%2], "hello", "X-Ttl", "1h")
			if a.StatusCode == http.StatusCreated {
				codes <- a.body
			}
		})
	}
	all.Wait()
	close(codes)
	seen := map[string]bool{}
	for c := range codes {
		if seen[c] {
			t.Errorf("%q was given out twice", c)
		}
		seen[c] = true
	}
	if len(seen) != cap(codes)/2+1 {
		t.Errorf("%d pastes were made, want one per random code and one with the alias: %d", len(seen), cap(codes)/2+1)
	}
	s.clock.Advance(time.Hour)
	s.wants(s.ask("GET", "/wanted", ""), http.StatusNotFound)
}

// A client that guesses codes has to wait after some absent ones, within the first
// 64 bits of IPv6; requests for existing pastes do not count.
func TestGuessesAreLimited(t *testing.T) {
	s := newSite(t, nil)
	s = newSite(t, func(o *paste.Options) {
		o.Misses = ratelimit.New(ratelimit.Rate{PerSecond: 1, Burst: 3}, s.clock)
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	code := strings.TrimSpace(s.ask("POST", "/", "a paste").body)
	code = code[strings.LastIndex(code, "/"):]
	from := func(path, client string) int { return s.ask("GET", path, "", "X-Forwarded-For", client).StatusCode }
	for range 10 {
		if got := from(code+"/raw", "2001:db8::1"); got != http.StatusOK {
			t.Fatalf("a paste that is there: %d", got)
		}
	}
	for i, want := range []int{404, 404, 404, 429} {
		if got := from("/AAAAAA"+string(rune('a'+i)), "2001:db8::"+string(rune('1'+i))); got != want {
			t.Errorf("guess %d: %d, want %d", i, got, want)
		}
	}
	if got := from(code+"/raw", "2001:db8::9"); got != http.StatusTooManyRequests {
		t.Errorf("a guess that hits, of the same household: %d", got)
	}
	if got := from(code+"/raw", "192.0.2.1"); got != http.StatusOK {
		t.Errorf("another client: %d", got)
	}
}
