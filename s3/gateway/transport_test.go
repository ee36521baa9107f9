package gateway_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// toServer is an HTTP client that resolves every name to the server.
func toServer() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.addr)
		},
	}}
}

// another runs one more server over the same store until the test ends or calls
// stop, which waits for its end.
func another(t *testing.T, change func(*gateway.Options)) (addr string, stop func()) {
	t.Helper()
	ready := make(chan string, 1)
	o := gateway.Options{
		Store: storeOf(w.store, w.db), Keys: w.db, Root: root, Listen: []string{"127.0.0.1:0"}, Clock: w.clock, MinPart: minPart,
		Drain: 5 * time.Second, Ready: func(a []net.Addr) { ready <- a[0].String() },
	}
	change(&o)
	server, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return <-ready, stop
}

// at returns root's client of a server.
func at(url string, h *http.Client) *awss3.Client {
	return client(root, func(o *awss3.Options) {
		o.BaseEndpoint = &url
		if h != nil {
			o.HTTPClient = h
		}
	})
}

// dial opens a connection on which a test writes HTTP by hand.
func (s *site) dial(addr string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", addr)
	s.must(err)
	s.t.Cleanup(func() { c.Close() })
	return c
}

// begin writes the header of a put, and part of its body.
func (s *site) begin(c net.Conn, key string, body []byte, length int) {
	s.t.Helper()
	r := signed(s.raw(http.MethodPut, "/"+key, nil), root, "UNSIGNED-PAYLOAD")
	var head strings.Builder
	fmt.Fprintf(&head, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.URL.Path, r.URL.Host, length)
	s.must(r.Header.Write(&head))
	_, err := io.WriteString(c, head.String()+"\r\n"+string(body))
	s.must(err)
}

// beginAccepted begins a put and waits until the server requests its body: from
// then on the request is in progress.
func (s *site) beginAccepted(c net.Conn, answers *bufio.Reader, key string, length int) {
	s.t.Helper()
	r := signed(s.raw(http.MethodPut, "/"+key, nil), root, "UNSIGNED-PAYLOAD")
	var head strings.Builder
	fmt.Fprintf(&head, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n", r.URL.Path, r.URL.Host, length)
	s.must(r.Header.Write(&head))
	_, err := io.WriteString(c, head.String()+"\r\n")
	s.must(err)
	line, err := answers.ReadString('\n')
	s.must(err)
	if !strings.Contains(line, " 100 ") {
		s.t.Fatalf("the server answered %q before it had the body", line)
	}
	_, err = answers.ReadString('\n')
	s.must(err)
}

func TestCutConnectionsLeaveNothing(t *testing.T) {
	s := newSite(t)
	before := int(live(s))
	for i, sent := range []int{0, 1, 1000, 200_000} {
		c := s.dial(w.addr)
		s.begin(c, fmt.Sprintf("k%d", i), pattern(sent), 300_000)
		if i%2 == 0 {
			s.must(c.(*net.TCPConn).SetLinger(0))
		}
		s.must(c.Close())
	}
	// The others ended before the server handled the request.
	w.eventOf(t, func(e s3.RequestEvent) bool {
		return e.Bucket == s.bucket && e.Key == "k3" && e.Status == 400 && e.Code == "IncompleteBody"
	})
	for i := range 4 {
		s.missing(fmt.Sprintf("k%d", i))
	}
	s.leftNothing(before)
}

// live counts the blobs in the state live.
func live(s *site) (n int64) {
	totals, err := w.db.Totals(s.ctx)
	s.must(err)
	for _, total := range totals {
		if total.State == lethe.Live {
			n += total.Blobs
		}
	}
	return n
}

func TestStalledConnectionsAreEnded(t *testing.T) {
	s := newSite(t)
	before := int(live(s))
	addr, _ := another(t, func(o *gateway.Options) { o.HeaderTimeout, o.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond })
	body := s.dial(addr)
	s.on(addr).begin(body, "stalled", pattern(100), 1000)
	ended(t, body, "a body that stops")
	head := s.dial(addr)
	_, err := io.WriteString(head, "GET / HTTP/1.1\r\nHost: x\r\n")
	s.must(err)
	ended(t, head, "a header that stops")
	drip := s.dial(addr)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(drip, "x"); err != nil {
				return
			}
		}
	}()
	ended(t, drip, "a header that drips")
	s.missing("stalled")
	s.leftNothing(before)
}

// ended waits until the server has closed the connection.
func ended(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if err := c.SetReadDeadline(lethe.SystemClock{}.Now().Add(8 * time.Second).Time()); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s is never ended", what)
	}
}

func TestDrainLetsRequestsEnd(t *testing.T) {
	s := newSite(t)
	addr, stop := another(t, func(*gateway.Options) {})
	c := s.dial(addr)
	body := pattern(100_000)
	answers := bufio.NewReader(c)
	s.on(addr).beginAccepted(c, answers, "k", len(body))
	_, err := c.Write(body[:50_000])
	s.must(err)
	idle := s.dial(addr)
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	eventually(t, "the server to stop accepting", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case <-stopped:
		t.Fatal("the server stopped with a request under way")
	default:
	}
	_, err = c.Write(body[50_000:])
	s.must(err)
	resp, err := http.ReadResponse(answers, nil)
	s.must(err)
	if resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	s.must(resp.Body.Close())
	<-stopped
	s.must(idle.Close())
	if got, _ := s.get("k"); got != string(body) {
		t.Error("the body came back changed")
	}
}

func TestDrainCutsOffWhatDoesNotEnd(t *testing.T) {
	s := newSite(t)
	addr, stop := another(t, func(o *gateway.Options) { o.Drain = 100 * time.Millisecond })
	c := s.dial(addr)
	s.on(addr).begin(c, "k", pattern(50_000), 100_000)
	s.put("other", "x", nil)
	stop()
	ended(t, c, "a request under way at the end")
	s.missing("k")
}

func TestRates(t *testing.T) {
	s := newSite(t)
	addr, _ := another(t, func(o *gateway.Options) { o.KeyRate = ratelimit.Rate{PerSecond: 0.001, Burst: 2} })
	c := at("http://"+addr, nil)
	for range 2 {
		_, err := c.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &s.bucket})
		s.must(err)
	}
	_, err := c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket})
	s.fails(err, 503, "SlowDown")
	other := s.restricted("rw", false, s.bucket)
	_, err = other.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket}, func(o *awss3.Options) { o.BaseEndpoint = aws.String("http://" + addr) })
	s.must(err)
	addr, _ = another(t, func(o *gateway.Options) {
		o.AddressRate = ratelimit.Rate{PerSecond: 0.001, Burst: 1}
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	from := func(forwarded string) int {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+addr+"/"+s.bucket, nil)
		s.must(err)
		for line := range strings.Lines(forwarded) {
			r.Header.Add("X-Forwarded-For", strings.TrimSpace(line))
		}
		status, _, _ := s.send(r)
		return status
	}
	// Only the address that the proxy itself has seen counts.
	for _, c := range []struct {
		forwarded string
		want      int
	}{{"9.9.9.9, 10.0.0.1", 403}, {"8.8.8.8, 10.0.0.1", 503}, {"10.0.0.2, 127.0.0.9", 403}, {"10.0.0.2", 503}, {"", 403}, {"", 503},
		// Some proxies add a separate line.
		{"7.7.7.7\n10.0.0.3", 403}, {"6.6.6.6\n10.0.0.3", 503}, {"5.5.5.5\n10.0.0.3, 127.0.0.9\n127.0.0.1", 503}} {
		if got := from(c.forwarded); got != c.want {
			t.Errorf("X-Forwarded-For %q: %d, want %d", c.forwarded, got, c.want)
		}
	}
}

// certify writes a certificate for 127.0.0.1 and returns its pool.
func certify(t *testing.T, cert, key string, serial int64) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := lethe.SystemClock{}.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour).Time(), NotAfter: now.Add(time.Hour).Time(), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{cert: public, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool
}

func TestTLSReloads(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := gateway.LoadCertificates(cert, key, s3.Events{}); err == nil {
		t.Error("files that are not there were loaded")
	}
	pool := certify(t, cert, key, 1)
	loaded, err := gateway.LoadCertificates(cert, key, s3.Events{})
	s.must(err)
	addr, _ := another(t, func(o *gateway.Options) { o.GetCertificate = loaded.GetCertificate })
	try := func(pool *x509.CertPool) error {
		h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
		_, err := at("https://"+addr, h).PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x")})
		return err
	}
	s.must(try(pool))
	if err := os.WriteFile(cert, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(try(pool))
	next := certify(t, cert, key, 2)
	eventually(t, "the new certificate", func() bool { return try(next) == nil })
	if try(pool) == nil {
		t.Error("the old certificate is still served")
	}
}

func TestListenErrorsNameTheAddress(t *testing.T) {
	server, err := gateway.New(gateway.Options{Store: storeOf(w.store, w.db), Root: root, Listen: []string{"127.0.0.1:0", w.addr}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(context.Background()); err == nil || !strings.Contains(err.Error(), w.addr) {
		t.Errorf("error: %v", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	if text := fmt.Sprintf("%v %+v %#v", root, root, gateway.Options{Root: root}); strings.Contains(text, root.Secret) {
		t.Error(text)
	}
}
