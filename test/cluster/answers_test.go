package cluster_test

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// answers passes requests on to the S3 server, or answers 503 itself.
type answers struct {
	pass   *httputil.ReverseProxy
	refuse atomic.Int64 // how many of 100 requests
	forget atomic.Int64 // of how many of 100 the answer is 503 although the work was done
}

func newAnswers(upstream string) *answers {
	to, err := url.Parse(upstream)
	if err != nil {
		panic(err) // the server's own address
	}
	a := &answers{pass: &httputil.ReverseProxy{
		// The Host stays, since requests are signed with it.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:  log.New(io.Discard, "", 0),
	}}
	a.pass.ModifyResponse = func(r *http.Response) error {
		if rand.Int64N(100) < a.forget.Load() {
			return http.ErrAbortHandler
		}
		return nil
	}
	a.pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		slowDown(w)
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rand.Int64N(100) < a.refuse.Load() {
		slowDown(w)
		return
	}
	a.pass.ServeHTTP(w, r)
}

func slowDown(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	// The client may be gone.
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
}

// heal ends both.
func (a *answers) heal() {
	a.refuse.Store(0)
	a.forget.Store(0)
}
