// Package jetstream sends events to a subject of NATS that a stream of JetStream keeps: an event
// counts as delivered once the stream has confirmed it.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/webhook"
)

// Target is where events go.
type Target struct {
	URL         string // a user may be a part of it
	Subject     string
	Credentials string        // the path of a .creds file; empty: none
	Private     bool          // its address may be private or loopback
	Timeout     time.Duration // of a connect, and of an event with its confirmation
}

// Sender sends events to one target. It is safe for concurrent use.
type Sender struct {
	to     Target
	region string
	tries  atomic.Int64 // connects that ended

	mu     sync.Mutex
	closed bool
	conn   *nats.Conn // nil: none yet
	js     nats.JetStreamContext
	err    error // of the last connect
}

// New returns a sender, which connects when the first event is sent; region is named in the
// events. It fails if the file of credentials holds none. The file is read again at each connect.
func New(to Target, region string) (*Sender, error) {
	if to.Credentials == "" {
		return &Sender{to: to, region: region}, nil
	}
	text, err := os.ReadFile(to.Credentials)
	if err != nil {
		return nil, err
	}
	if _, err := nkeys.ParseDecoratedUserNKey(text); err != nil {
		return nil, fmt.Errorf("%s is no file of credentials of a NATS user: %w", to.Credentials, err)
	}
	return &Sender{to: to, region: region}, nil
}

// Close ends the connection.
func (s *Sender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		s.conn.Close()
	}
	return nil
}

// Send sends an event, and returns nil if the stream confirmed it. Its id lets the stream drop
// repetitions. routine.ErrUnreached if there was no confirmation.
func (s *Sender) Send(ctx context.Context, e ledger.Event) error {
	body, err := e.Message(e.At, e.No, s.region)
	if err != nil {
		return err
	}
	js, err := s.connected()
	if err != nil {
		return unreached(err)
	}
	m := nats.NewMsg(s.to.Subject)
	m.Data = body
	m.Header.Set("Content-Type", "application/json")
	m.Header.Set(webhook.HeaderID, e.ID(e.No))
	m.Header.Set(webhook.HeaderSequencer, e.Sequencer())
	ctx, cancel := context.WithTimeout(ctx, s.to.Timeout)
	defer cancel()
	_, err = js.PublishMsg(m, nats.MsgId(e.ID(e.No)), nats.Context(ctx))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return errors.New("the event is larger than the server takes")
	case errors.Is(err, nats.ErrNoStreamResponse):
		return unreached(errors.New("no stream keeps the subject " + s.to.Subject))
	case errors.Is(err, context.DeadlineExceeded):
		return unreached(s.because(fmt.Errorf("there was no confirmation within %s", s.to.Timeout)))
	}
	return unreached(s.because(err))
}

// because adds the last error of the connection, such as a subject that the user may not
// publish to, to one that does not tell the cause.
func (s *Sender) because(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return err
	}
	if last := s.conn.LastError(); last != nil && !errors.Is(err, last) {
		return fmt.Errorf("%w (the connection's last error: %w)", err, last)
	}
	return err
}

func unreached(err error) error {
	text := err.Error()
	return fmt.Errorf("%w: %s", routine.ErrUnreached, text[:min(len(text), webhook.MaxError)])
}

// connected returns a connection, a new one if the client gave the last one up: as after two
// refusals of its credentials. Of those who wait for one that fails, none tries again.
func (s *Sender) connected() (nats.JetStreamContext, error) {
	before := s.tries.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nats.ErrConnectionClosed
	}
	if s.conn != nil && s.conn.IsClosed() {
		s.conn, s.js = nil, nil
	}
	if s.js != nil || s.tries.Load() != before {
		return s.js, s.err
	}
	defer s.tries.Add(1)
	options := []nats.Option{
		nats.Name("lethe"), nats.Timeout(s.to.Timeout), nats.SetCustomDialer(webhook.Dialer(s.to.Timeout, s.to.Private)),
		nats.IgnoreDiscoveredServers(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else it is printed
	}
	if s.to.Credentials != "" {
		options = append(options, nats.UserCredentials(s.to.Credentials))
	}
	var js nats.JetStreamContext
	conn, err := nats.Connect(s.to.URL, options...)
	if err == nil {
		js, err = conn.JetStream()
	}
	if s.err = err; err == nil {
		s.conn, s.js = conn, js
	}
	return s.js, s.err
}
