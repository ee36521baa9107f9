package stepwise

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// kind says what an event is about.
type kind int

const (
	arrived  kind = iota // a statement waits at the gate
	answered             // the server has answered the statement that was let pass
	returned             // the actor has returned
)

// event is what happened to an actor.
type event struct {
	actor int
	kind  kind
	text  string // of the statement
	pid   uint32 // of the server's process
	pass  chan<- struct{}
}

// gate lies between a client and PostgreSQL. While it is shut every statement is an
// event, and waits.
type gate struct {
	actor  int
	to     string
	events chan<- event
	shut   atomic.Bool
	// passed counts the statements since it was last set, shut or not.
	passed atomic.Int64
	// deadlocks counts the transactions that the server undid to end a deadlock.
	deadlocks atomic.Int64
}

// listen answers the address of the gate, which is open at first.
func (g *gate) listen(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { g.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

func (g *gate) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer server.Close()
	w := &wire{g: g, client: client, server: server, texts: map[string]string{}, answers: make(chan struct{}, 1)}
	var answers sync.WaitGroup
	answers.Go(func() {
		w.down()
		close(w.answers)
		client.Close()
	})
	w.up()
	server.Close()
	answers.Wait()
}

// wire is one connection.
type wire struct {
	g              *gate
	client, server net.Conn
	texts          map[string]string // of prepared statements, by name
	pid            atomic.Uint32
	asked          atomic.Int32 // the message of a statement that was let pass and is not answered yet
	failed         atomic.Bool  // the server skips what it gets until the next 'S'
	answers        chan struct{}
}

// flush asks the server to answer what it got so far.
var flush = []byte{'H', 0, 0, 0, 4}

// up carries what the client sends, as far as the gate lets it. Statements that the client
// sends together pass one by one.
func (w *wire) up() {
	first, err := message(w.client, 0)
	if err != nil {
		return
	}
	if _, err := w.server.Write(first); err != nil {
		return
	}
	var some bytes.Buffer
	statement := ""
	for {
		m, err := message(w.client, 1)
		if err != nil {
			return
		}
		some.Write(m)
		if text := w.runs(m); text != "" {
			statement = text
		}
		if m[0] != 'E' && m[0] != 'S' && m[0] != 'Q' && m[0] != 'X' {
			continue
		}
		passed := statement != "" && !w.failed.Load() && w.stop(statement, m[0])
		statement = ""
		if passed && m[0] == 'E' {
			some.Write(flush)
		}
		if _, err := w.server.Write(some.Bytes()); err != nil {
			return
		}
		some.Reset()
		if passed {
			<-w.answers
		}
	}
}

// runs is the statement that a message runs, empty if it runs none.
func (w *wire) runs(m []byte) string {
	body := m[5:]
	switch m[0] {
	case 'Q':
		if text := word(&body); text != "-- ping" {
			return text
		}
	case 'P':
		name := word(&body)
		w.texts[name] = word(&body)
	case 'B':
		word(&body)
		return w.texts[word(&body)]
	}
	return ""
}

// stop waits until the statement may pass. It reports whether its answer is awaited.
func (w *wire) stop(text string, by byte) bool {
	w.g.passed.Add(1)
	if !w.g.shut.Load() {
		return false
	}
	pass := make(chan struct{})
	w.g.events <- event{actor: w.g.actor, kind: arrived, text: text, pid: w.pid.Load(), pass: pass}
	<-pass
	w.asked.Store(int32(by))
	return true
}

// down carries what the server sends, and tells when a statement is answered.
func (w *wire) down() {
	for {
		m, err := message(w.server, 1)
		if err != nil {
			return
		}
		switch m[0] {
		case 'K':
			w.pid.Store(binary.BigEndian.Uint32(m[5:9]))
		case 'E':
			if bytes.Contains(m, []byte("\x00C40P01\x00")) {
				w.g.deadlocks.Add(1)
			}
			w.failed.Store(true)
			w.answer('E')
		case 'C', 'I':
			w.answer('E')
		case 'Z':
			w.failed.Store(false)
			w.answer('Q')
		}
		if _, err := w.client.Write(m); err != nil {
			return
		}
	}
}

// answer tells that a statement is answered, if a message of this kind asked it.
func (w *wire) answer(by byte) {
	if w.asked.CompareAndSwap(int32(by), 0) {
		w.g.events <- event{actor: w.g.actor, kind: answered}
		w.answers <- struct{}{}
	}
}

// message reads one message, whose length stands behind so many bytes.
func message(r io.Reader, before int) ([]byte, error) {
	head := make([]byte, before+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	m := make([]byte, before+int(binary.BigEndian.Uint32(head[before:])))
	copy(m, head)
	_, err := io.ReadFull(r, m[len(head):])
	return m, err
}

// word takes a string off the front of a message's body.
func word(body *[]byte) string {
	text, rest, _ := bytes.Cut(*body, []byte{0})
	*body = rest
	return string(text)
}
