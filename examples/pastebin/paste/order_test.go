package paste

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// between puts a proxy before the S3 service that calls fn for each request of the
// method for an object, before passing it on if fn says so.
func between(t *testing.T, method string, fn func() bool) func(*Config) {
	return func(c *Config) {
		upstream, err := url.Parse(c.S3.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Host = r.In.Host // it is signed
		}}
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			object := len(r.URL.Path) > len("/"+c.S3.Bucket+"/")
			if object && r.Method == method && !fn() {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			pass.ServeHTTP(w, r)
		}))
		t.Cleanup(proxy.Close)
		c.S3.Endpoint = proxy.URL
	}
}

// TestUploadsComeFirst: bytes that were not stored have no row, and while they are
// being stored they have none yet.
func TestUploadsComeFirst(t *testing.T) {
	var e *site
	accept, rows := true, -1
	e = newSite(t, between(t, http.MethodPut, func() bool {
		rows = ask[int](t, e.db, `SELECT count(*) FROM content`) + ask[int](t, e.db, `SELECT count(*) FROM pastes`)
		return accept
	}))
	p := e.create("first", time.Hour)
	if rows != 0 {
		t.Errorf("%d rows during the upload, want 0", rows)
	}
	accept = false
	if _, err := e.Create(t.Context(), []byte("second"), time.Hour); err == nil {
		t.Error("a paste was created without its bytes")
	}
	if _, err := e.Replace(t.Context(), p.Code, []byte("second")); err == nil {
		t.Error("a paste got a content without its bytes")
	}
	e.reads(p.Code, "first")
	if n := e.count("second"); n != -1 {
		t.Errorf("ref_count %d of bytes that were not stored, want no row", n)
	}
}

// TestRefusedWritesAreRepeated with their upload: whatever the transaction was
// refused for may have removed the bytes.
func TestRefusedWritesAreRepeated(t *testing.T) {
	var uploads atomic.Int32
	e := newSite(t, between(t, http.MethodPut, func() bool { uploads.Add(1); return true }))
	e.exec(`CREATE SEQUENCE tries`)
	e.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('tries') % 3 <> 0 THEN RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'; END IF;
	RETURN NEW;
END $$`)
	e.exec(`CREATE TRIGGER refuse BEFORE INSERT ON content FOR EACH ROW EXECUTE FUNCTION refuse()`)
	p := e.create("one", time.Hour)
	if n := uploads.Load(); n != 3 {
		t.Errorf("%d uploads for three tries to create, want 3", n)
	}
	if _, err := e.Replace(t.Context(), p.Code, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if n := uploads.Load(); n != 6 {
		t.Errorf("%d uploads after three tries to replace, want 6", n)
	}
	if one, two := e.count("one"), e.count("two"); one != 0 || two != 1 {
		t.Errorf("ref_counts %d and %d, want 0 and 1", one, two)
	}
	e.exec(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'never' USING ERRCODE = 'serialization_failure'; END $$`)
	if _, err := e.Create(t.Context(), []byte("three"), time.Hour); err == nil {
		t.Error("a paste was created against every refusal")
	}
	if n := uploads.Load(); n != 6+attempts {
		t.Errorf("%d uploads in all, want %d", n, 6+attempts)
	}
}

// TestReadMeetsAChange: the bytes go between the look at the row and that at the
// bucket, since the paste got another content or was deleted.
func TestReadMeetsAChange(t *testing.T) {
	var e *site
	change := func() {}
	e = newSite(t, between(t, http.MethodGet, func() bool { change(); change = func() {}; return true }))
	p := e.create("before", time.Hour)
	change = func() {
		if _, err := e.Replace(t.Context(), p.Code, []byte("after")); err != nil {
			t.Error(err)
		}
		e.loseObject("before")
	}
	e.reads(p.Code, "after")
	e.client.FlushAll(t.Context())
	change = func() {
		if err := e.Delete(t.Context(), p.Code); err != nil {
			t.Error(err)
		}
		e.loseObject("after")
	}
	e.reads(p.Code, "")
}
