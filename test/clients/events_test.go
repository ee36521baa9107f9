package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// request is what a target got.
type request struct{ signature, body string }

// receive starts a target of events, which ends with the test.
func (s *server) receive() (url string) {
	s.told = make(chan request, 100)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "unread", http.StatusInternalServerError)
			return
		}
		s.told <- request{r.Header.Get("Lethe-Signature"), string(body)}
	}))
	s.Cleanup(target.Close)
	return target.URL
}

// awsTells types the commands of docs/events.md: what they set comes back, and what comes of it
// is signed as the page says.
func awsTells(c *session) {
	text, err := os.ReadFile("../../docs/events.md")
	c.must(err)
	find := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			c.Fatalf("docs/events.md has no %s", pattern)
		}
		return string(m[1])
	}
	rules := find(`(?s)put-bucket-notification-configuration --bucket \S+ --notification-configuration \\\s+'(.*?)'`)
	c.api(nil, "put-bucket-notification-configuration", "--notification-configuration", rules)
	var want, have map[string][]map[string]any
	c.must(json.Unmarshal([]byte(rules), &want))
	c.api(&have, "get-bucket-notification-configuration")
	for _, q := range have["QueueConfigurations"] {
		delete(q, "Id")
	}
	if !reflect.DeepEqual(have, want) {
		c.Errorf("set %v, got %v", want, have)
	}
	c.do(c.put(c.file("up", []byte("told")), "told"))
	select {
	case r := <-c.told:
		c.signed(r, find(`(?m)^    (printf .*)$`))
		if !strings.Contains(r.body, `"eventName":"ObjectCreated:Put"`) || !strings.Contains(r.body, `"key":"told"`) {
			c.Errorf("told %s", r.body)
		}
	case <-time.After(30 * time.Second):
		c.Error("no event arrived")
	}
	c.do(c.remove("told"))
	c.api(nil, "put-bucket-notification-configuration", "--notification-configuration", "{}")
}

// signed computes the signature by a command.
func (c *session) signed(r request, printf string) {
	c.Helper()
	seconds, sum, _ := strings.Cut(strings.TrimPrefix(r.signature, "t="), ",v1=")
	line := strings.ReplaceAll(printf, "/etc/lethe/app.secret", c.path("app.secret"))
	out, err := command{folder: c.home, env: environment(c.home, "t="+seconds, "body="+r.body), args: []string{"sh", "-c", line}}.run()
	c.must(err)
	if fields := strings.Fields(out); len(fields) == 0 || fields[len(fields)-1] != sum {
		c.Errorf("the page's command says %q of the signature %q", out, r.signature)
	}
}
