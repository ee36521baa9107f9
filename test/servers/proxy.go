package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Faults is a TCP proxy before a server that delays, cuts and refuses
// connections as told. Faults add up until Heal.
type Faults struct {
	Addr string // host:port to connect to

	t     testing.TB
	proxy *toxiproxy.Proxy
}

// Proxy starts a proxy before the upstream, a host:port. It ends with the test.
func Proxy(t testing.TB, upstream string) *Faults {
	t.Helper()
	addr, err := address()
	if err != nil {
		t.Fatal(err)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), addr, upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &Faults{Addr: addr, t: t, proxy: p}
}

// Via answers the URL with the proxy's address in place of its own.
func (f *Faults) Via(raw string) string {
	f.t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		f.t.Fatal(err)
	}
	return through(u, f.Addr)
}

// Down refuses connections and cuts those that are open.
func (f *Faults) Down() { f.proxy.Stop() }

// Up accepts connections again.
func (f *Faults) Up() {
	f.t.Helper()
	if err := f.proxy.Start(); err != nil {
		f.t.Fatal(err)
	}
}

// Latency delays everything that the server answers, by delay plus or minus
// jitter.
func (f *Faults) Latency(delay, jitter time.Duration) {
	f.add("latency", "downstream", map[string]int64{"latency": delay.Milliseconds(), "jitter": jitter.Milliseconds()})
}

// Delay delays everything that the server is sent; what was sent before a client
// died still arrives.
func (f *Faults) Delay(delay time.Duration) {
	f.add("latency", "upstream", map[string]int64{"latency": delay.Milliseconds()})
}

// Reset ends connections, open and new, with a TCP reset after the time.
func (f *Faults) Reset(after time.Duration) {
	f.add("reset_peer", "downstream", map[string]int64{"timeout": after.Milliseconds()})
}

// Silence lets requests through and drops the answers: the server does the work
// and the client does not learn of it. Connections end after the time, never
// with 0.
func (f *Faults) Silence(after time.Duration) {
	f.add("timeout", "downstream", map[string]int64{"timeout": after.Milliseconds()})
}

// CutAnswers ends each connection when that many bytes of answers went through.
func (f *Faults) CutAnswers(n int64) {
	f.add("limit_data", "downstream", map[string]int64{"bytes": n})
}

// CutRequests ends each connection when that many bytes of requests went
// through.
func (f *Faults) CutRequests(n int64) {
	f.add("limit_data", "upstream", map[string]int64{"bytes": n})
}

// Heal ends all faults but Down. Connections that a fault has touched may still
// break.
func (f *Faults) Heal() { f.proxy.Toxics.ResetToxics(context.Background()) }

// add puts a fault in place; one of the same kind is replaced.
func (f *Faults) add(kind, stream string, attributes map[string]int64) {
	f.t.Helper()
	name := kind + "_" + stream
	if f.proxy.Toxics.GetToxic(name) != nil {
		if err := f.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
			f.t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "name": name, "attributes": attributes})
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
		f.t.Fatal(err)
	}
}
