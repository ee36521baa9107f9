package jetstream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim/jetstream"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// fakeNATS is a server of which every publication is confirmed, unless refuses is set: then
// it ends connections, and refuses those that come.
func fakeNATS(t *testing.T, refuses *atomic.Bool) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveNATS(conn, refuses)
		}
	}()
	return "nats://" + l.Addr().String()
}

func serveNATS(conn net.Conn, refuses *atomic.Bool) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}`+"\r\n")
	sid := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line + " - -") // a body has no words
		switch {
		case words[0] == "HPUB" && words[1] == "forbidden":
			_, _ = io.WriteString(conn, "-ERR 'Permissions Violation for Publish to \"forbidden\"'\r\n")
		case refuses.Load():
			_, _ = io.WriteString(conn, "-ERR 'Authorization Violation'\r\n")
			return
		case words[0] == "PING":
			_, _ = io.WriteString(conn, "PONG\r\n")
		case words[0] == "SUB":
			sid = words[len(words)-3]
		case words[0] == "HPUB": // subject reply header total
			var n int
			for _, c := range words[4] {
				n = n*10 + int(c-'0')
			}
			if _, err := io.CopyN(io.Discard, r, int64(n)+2); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "MSG "+words[2]+" "+sid+" 27\r\n"+`{"stream":"EVENTS","seq":1}`+"\r\n")
		}
	}
}

// Credentials that are refused for a while, such as while they are changed, do not end
// delivery: the client gives a connection up after it was refused twice.
func TestRefusedCredentialsAreTriedAgain(t *testing.T) {
	var refuses atomic.Bool
	s := open(t, jetstream.Target{URL: fakeNATS(t, &refuses), Private: true, Timeout: 2 * time.Second})
	send := func() error { return s.Send(context.Background(), event(1, "a")) }
	if err := send(); err != nil {
		t.Fatal(err)
	}
	refuses.Store(true)
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for err := send(); err == nil || !strings.Contains(err.Error(), "Authorization Violation"); err = send() { // of a connect
		if lethe.Sleep(within, 50*time.Millisecond) != nil {
			t.Fatalf("it is still not refused: %v", err)
		}
	}
	refuses.Store(false)
	if err := send(); err != nil {
		t.Errorf("it is not tried again: %v", err)
	}
	_ = s.Close()
	if err := send(); !errors.Is(err, routine.ErrUnreached) {
		t.Errorf("after the end: %v", err)
	}
}

// A subject that the user may not publish to is said to be one.
func TestForbiddenSubject(t *testing.T) {
	s := open(t, jetstream.Target{URL: fakeNATS(t, new(atomic.Bool)), Subject: "forbidden", Private: true, Timeout: 500 * time.Millisecond})
	if err := s.Send(context.Background(), event(1, "a")); !errors.Is(err, routine.ErrUnreached) || !strings.Contains(strings.ToLower(err.Error()), `permissions violation for publish to "forbidden"`) {
		t.Errorf("%v", err)
	}
}
