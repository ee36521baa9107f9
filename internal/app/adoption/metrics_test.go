package adoption

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/lethe-storage/lethe"
)

// The metrics' address is open to anyone who reaches it: one client cannot take all connections.
func TestMetricsBoundConnections(t *testing.T) {
	at := make(addresses, 1)
	a := &Adoption{o: Options{Log: slog.New(at)}}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, "127.0.0.1:0") }()
	address := <-at
	var last net.Conn
	for range perAddress + 1 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		last = conn
	}
	if err := last.SetReadDeadline(lethe.SystemClock{}.Now().Add(5 * time.Second).Time()); err != nil {
		t.Fatal(err)
	}
	if _, err := last.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection %d of one address stays open: %v", perAddress+1, err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// addresses is a log of which only the addresses are kept.
type addresses chan string

func (addresses) Enabled(context.Context, slog.Level) bool { return true }
func (a addresses) WithAttrs([]slog.Attr) slog.Handler     { return a }
func (a addresses) WithGroup(string) slog.Handler          { return a }
func (a addresses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(at slog.Attr) bool {
		if at.Key == "address" {
			a <- at.Value.String()
		}
		return true
	})
	return nil
}

// Each scrape queries the application's database, with connections that the work needs as well.
func TestMetricsBoundScrapes(t *testing.T) {
	begun, over := make(chan bool), make(chan bool)
	server := httptest.NewServer(scraped(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		begun <- true
		<-over
		return nil, nil
	})))
	defer server.Close()
	scrape := func() (status int) {
		res, err := http.Get(server.URL + "/metrics")
		if err != nil {
			t.Error(err)
			return 0
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	statuses := make(chan int)
	for range scrapes {
		go func() { statuses <- scrape() }()
		<-begun
	}
	further := make(chan int)
	go func() { further <- scrape() }()
	select {
	case got := <-further:
		if got != http.StatusServiceUnavailable {
			t.Errorf("one more: %d", got)
		}
	case <-begun:
		t.Errorf("%d scrapes query at a time", scrapes+1)
	}
	close(over)
	for range scrapes {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("a scrape: %d", got)
		}
	}
}
