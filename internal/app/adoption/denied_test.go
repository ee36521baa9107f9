package adoption

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// A missing permission of the bucket's key is a problem of its collection, and
// names what to allow. Nothing is lost: the objects are deleted once it is
// allowed.
func TestDeniedInTheBucket(t *testing.T) {
	gateway := servers.VersityGW(t)
	var denies atomic.Value // the method of requests, and a part of their address
	denies.Store([2]string{"", ""})
	to, err := url.Parse(gateway.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d := denies.Load().([2]string); r.Method == d[0] && strings.Contains(r.URL.String(), d[1]) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := place{gateway.At(strings.TrimPrefix(server.URL, "http://")), servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	zero, second := adopt.Duration(0), adopt.Duration(time.Second)
	a := p.adopt(t, Options{}, func(c *adopt.Collection) {
		c.Grace.Unreferenced, c.Grace.LongestWrite = &zero, &second
	})
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 10, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	objects := "on arn:aws:s3:::" + p.bucket + "/content/*"
	for _, c := range []struct{ method, mark, want string }{
		{"HEAD", "", "s3:GetObject " + objects}, {"POST", "delete", "s3:DeleteObject " + objects},
		{"GET", "list-type", "s3:ListBucket on arn:aws:s3:::" + p.bucket}, {"PUT", "", "s3:PutObject " + objects},
	} {
		denies.Store([2]string{c.method, c.mark})
		found, err := a.Check(t.Context())
		if err != nil || !adopt.Problems(found["pastes"]) || !strings.Contains(fmt.Sprint(found["pastes"]), c.want) {
			t.Errorf("%s denied: a check finds %v, %v, want %q", c.method, found, err, c.want)
		}
	}
	denies.Store([2]string{"", ""})
	if found, err := a.Check(t.Context()); err != nil || adopt.Problems(found["pastes"]) {
		t.Fatalf("with all allowed: %v, %v", found, err)
	}
	if counts, err := a.Loop.Once(t.Context(), nil); err != nil || counts["expire pastes"]["rows"] != 10 {
		t.Errorf("a run did %v, %v", counts, err)
	}
}
