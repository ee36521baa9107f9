package servers

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echo starts a server that answers what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // ends the loop
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn) // ends with the connection
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// talk sends text through a new connection and reads as much back.
func talk(addr, text string, within time.Duration) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	limit := time.AfterFunc(within, func() { _ = conn.Close() })
	defer limit.Stop()
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	got := make([]byte, len(text))
	n, err := io.ReadFull(conn, got)
	return string(got[:n]), err
}

func TestProxyFaults(t *testing.T) {
	const text = "twelve bytes"
	p := Proxy(t, echo(t))
	for name, fault := range map[string]struct {
		begin func()
		want  string
		fails bool
	}{
		"none":         {func() {}, text, false},
		"slow":         {func() { p.Latency(10*time.Millisecond, 0) }, text, false},
		"late":         {func() { p.Delay(10 * time.Millisecond) }, text, false},
		"silent":       {func() { p.Silence(0) }, "", true},
		"reset":        {func() { p.Reset(0) }, "", true},
		"cut answers":  {func() { p.CutAnswers(6) }, "twelve", true},
		"cut requests": {func() { p.CutRequests(6) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			fault.begin()
			got, err := talk(p.Addr, text, time.Second)
			if !strings.HasPrefix(got, fault.want) || (err != nil) != fault.fails {
				t.Errorf("the answer is %q (%v), want %q", got, err, fault.want)
			}
			p.Heal()
			if got, err := talk(p.Addr, text, 10*time.Second); got != text {
				t.Errorf("after healing the answer is %q (%v)", got, err)
			}
		})
	}
	p.Down()
	if _, err := talk(p.Addr, text, time.Second); err == nil {
		t.Error("a proxy that is down accepts connections")
	}
	p.Up()
	if got, err := talk(p.Addr, text, 10*time.Second); got != text {
		t.Errorf("after coming up the answer is %q (%v)", got, err)
	}
	if got, want := p.Via("http://127.0.0.1:1/bucket?x=y"), "http://"+p.Addr+"/bucket?x=y"; got != want {
		t.Errorf("the URL through the proxy is %s, want %s", got, want)
	}
}

func TestWhatADeadClientSentArrivesLate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := Proxy(t, l.Addr().String())
	p.Delay(100 * time.Millisecond)
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "last words"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if got, err := io.ReadAll(server); string(got) != "last words" {
		t.Errorf("the server got %q (%v)", got, err)
	}
}
