package sqlledger

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/test/servers"
)

// trips counts the round trips of a client to PostgreSQL, as it passes what they send.
type trips struct {
	n    atomic.Int64
	mu   sync.Mutex
	text []string // of statements, and a dash where the client waits
}

// through returns the URL of a database by way of the counter.
func (c *trips) through(t *testing.T, database string) string {
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	to := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { c.serve(client, to) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	u.Host = l.Addr().String()
	return u.String()
}

func (c *trips) serve(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	names := map[string]string{}
	for head := 4; ; head = 5 { // the first message has no kind
		m := make([]byte, head)
		if _, err := io.ReadFull(client, m); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(m[head-4:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if head == 5 {
			c.note(m[0], strings.Split(string(body), "\x00"), names)
		}
		if _, err := server.Write(append(m, body...)); err != nil {
			return
		}
	}
}

// note counts the message if the client waits for its answer.
func (c *trips) note(kind byte, words []string, names map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case 'P':
		names[words[0]] = words[1]
	case 'B':
		c.text = append(c.text, strings.Join(strings.Fields(names[words[1]]), " "))
	case 'Q':
		c.text = append(c.text, words[0], "-")
		c.n.Add(1)
	case 'S':
		c.text = append(c.text, "-")
		c.n.Add(1)
	}
}

// of returns how many round trips do takes.
func (c *trips) of(t *testing.T, name string, do func()) int64 {
	c.n.Store(0)
	c.text = nil
	do()
	t.Logf("%s:\n%s", name, strings.Join(c.text, "\n"))
	return c.n.Load()
}

// TestRoundTrips: to read, write or delete a small object takes so many round trips to
// PostgreSQL.
func TestRoundTrips(t *testing.T) {
	var c trips
	clock := newTestClock()
	db := openServerAt(t, c.through(t, servers.Postgres(t)), ledger.Options{Clock: clock})
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: context.Background(), clock: clock}
	send := func(key, body string) {
		blob := l.id()
		cm := commitOf(db, key, ledger.Uploaded{Blob: blob, Size: 100, Digest: body})
		_, err := l.Begin(l.ctx, ledger.Intent{ID: blob, Backend: "disk", Size: 100, Unknown: true, Promotion: &ledger.Promotion{Commit: cm}})
		l.ok(err)
		_, err = l.Commit(l.ctx, cm)
		l.ok(err)
	}
	refer := func(key, body string) {
		cm := commitOf(db, key, ledger.Uploaded{Size: 100, Digest: body})
		cm.Blobs = nil
		_, err := l.Commit(l.ctx, cm)
		l.ok(err)
	}
	inline := func(key, body string) {
		_, err := l.Commit(l.ctx, l.inlineCommit(key, body))
		l.ok(err)
	}
	read := func(key string) {
		_, err := l.Resolve(l.ctx, "b", key)
		l.ok(err)
	}
	for _, x := range []struct {
		name string
		want int64
		do   func(n string) // with a number of its own
	}{
		{"put on a backend", 6, func(n string) { send("new"+n, "new"+n) }},
		{"put over another", 8, func(n string) { send("old", "old"+n) }},
		{"put of known bytes", 5, func(n string) { refer("known"+n, "new0") }},
		{"put into the ledger", 3, func(n string) { inline("inline"+n, "inline"+n) }},
		{"put of known bytes in the ledger", 5, func(n string) { inline("same"+n, "inline0") }},
		{"put over another in the ledger", 4, func(n string) { inline("over", "over"+n) }},
		{"get", 1, func(n string) { read("new" + n) }},
		{"get out of the ledger", 1, func(n string) { read("inline" + n) }},
		{"get of nothing", 5, func(n string) {
			_, err := l.Resolve(l.ctx, "b", "none")
			l.refused(err, lethe.ErrNoSuchKey)
		}},
		{"delete", 5, func(n string) { l.remove("new" + n) }},
		{"delete of one of two references", 4, func(n string) { l.remove("same" + n) }},
		{"delete from the ledger", 4, func(n string) { l.remove("inline" + n) }},
		{"delete of nothing", 4, func(n string) { l.remove("none") }},
		{"set notifications", 4, func(string) { l.ok(l.SetNotifications(l.ctx, everything("b"))) }},
		{"put on a backend, told", 6, func(n string) { send("told"+n, "told"+n) }}, // the event goes with COMMIT
		{"delete, told", 5, func(n string) { l.remove("told" + n) }},
	} {
		x.do("0")
		x.do("1") // statements are prepared
		if n := c.of(t, x.name, func() { x.do("2") }); n != x.want {
			t.Errorf("%s: %d round trips, want %d", x.name, n, x.want)
		}
	}
}

// everything has all events of a bucket told.
func everything(bucket string) ledger.NotificationChange {
	return ledger.NotificationChange{Bucket: bucket, Rules: notification.Rules{
		{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}},
	}}
}

// TestEventsAreOneStatement: events of a transaction are one statement, however many; a bucket
// without rules has none.
func TestEventsAreOneStatement(t *testing.T) {
	var c trips
	clock := newTestClock()
	db := openServerAt(t, c.through(t, servers.Postgres(t)), ledger.Options{Clock: clock})
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: context.Background(), clock: clock}
	for i, want := range []int{0, 1} {
		d := ledger.Deletion{Op: l.id(), Bucket: "b"}
		for _, key := range []string{"a", "b", "c"} {
			_, err := l.Commit(l.ctx, l.inlineCommit(key, key))
			l.ok(err)
			d.Items = append(d.Items, ledger.DeleteItem{Key: key})
		}
		c.of(t, "delete", func() {
			_, err := l.Delete(l.ctx, d)
			l.ok(err)
		})
		if n := strings.Count(strings.Join(c.text, "\n"), "INSERT INTO events"); n != want {
			t.Errorf("%d rules: %d statements, want %d", i, n, want)
		}
		l.ok(l.SetNotifications(l.ctx, everything("b")))
	}
}

// TestRecordsComeBeforeCommit: the record of an operation is there when its COMMIT is sent.
// Else Outcome could not wait for it: it would report that nothing happened, and then the
// server would read both.
func TestRecordsComeBeforeCommit(t *testing.T) {
	var c trips
	clock := newTestClock()
	db := openServerAt(t, c.through(t, servers.Postgres(t)), ledger.Options{Clock: clock})
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: context.Background(), clock: clock}
	_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{Undo: time.Hour}, nil)
	l.ok(err)
	check := func(name string, op func() error) {
		c.of(t, name, func() { l.ok(op()) })
		if sent := strings.Join(c.text, " "); !strings.Contains(sent, "INTO ops") {
			t.Errorf("%s: no record: %s", name, sent)
		}
		for together := range strings.SplitSeq(strings.Join(c.text, "\n"), "\n-") {
			if strings.Contains(together, "INTO ops") && strings.Contains(together, "COMMIT") {
				t.Errorf("%s: the record goes with COMMIT:%s", name, together)
			}
		}
	}
	check("commit", func() error {
		_, err := l.Commit(l.ctx, l.inlineCommit("k", "body"))
		return err
	})
	check("update", func() error {
		_, err := l.Update(l.ctx, ledger.Update{Op: l.id(), Bucket: "b", Key: "k", Tags: &map[string]string{"a": "b"}})
		return err
	})
	check("delete", func() error {
		_, err := l.Delete(l.ctx, ledger.Deletion{Op: l.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}})
		return err
	})
	check("restore", func() error {
		trash, err := l.Trash(l.ctx, ledger.TrashQuery{Bucket: "b", Limit: 1})
		l.ok(err)
		c.text = nil
		_, err = l.Restore(l.ctx, l.id(), trash[0].ID, false)
		return err
	})
	u := l.upload("k", 0)
	var part ledger.Part
	check("part", func() (err error) {
		part, err = l.CommitPart(l.ctx, ledger.PartCommit{Op: l.id(), Part: ledger.Part{UploadID: u.ID, Number: 1, ETag: "e"}})
		return err
	})
	check("complete", func() error {
		_, err := l.Complete(l.ctx, l.completion(u, part))
		return err
	})
	u = l.upload("k", 0)
	check("abort", func() error { return l.AbortUpload(l.ctx, l.id(), "b", "k", u.ID) })
}

// TestGuardFailsWithCommit: a guard that goes with COMMIT undoes the transaction, and its error
// is known. One that goes with a question fails that.
func TestGuardFailsWithCommit(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	refused := errors.New("refused")
	for name, ask := range map[string]bool{"with COMMIT": false, "with a question": true} {
		err := db.write(t.Context(), "guard", func(x *tx) error {
			if err := x.record(lethe.ID(name), "put", ""); err != nil {
				return err
			}
			if err := x.Must(1, refused, forgetPromotion, "none"); err != nil {
				return err
			}
			if ask {
				if _, err := x.bucket("b"); !errors.Is(err, refused) {
					t.Errorf("%s: the question was answered: %v", name, err)
				}
			}
			return nil
		})
		if !errors.Is(err, refused) || errors.Is(err, lethe.ErrUnknownOutcome) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, found, err := db.Outcome(t.Context(), lethe.ID(name)); found || err != nil {
			t.Errorf("%s: the transaction happened: %v", name, err)
		}
	}
}

// TestGuardIsPreparedOnce: a guard has one text for every number of rows, so that connections
// do not fill up with prepared statements.
func TestGuardIsPreparedOnce(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	var contents []lethe.ID
	for _, name := range []string{"k", "l", "m"} {
		contents = append(contents, mustPut(t, db, name, hexSum(name)).Object.ContentID)
	}
	prepared := 0
	err := db.write(t.Context(), "guards", func(x *tx) error {
		for n := range contents {
			if err := x.Must(int64(n), lethe.ErrFenced, lockedContents, sqldb.JSON(contents[:n]), ""); err != nil {
				return err
			}
		}
		return x.Row(`SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'WITH guarded%c.closed = 0%'`).Scan(&prepared)
	})
	if err != nil || prepared != 1 {
		t.Errorf("%d prepared statements: %v", prepared, err)
	}
}

// TestQueueBeyondTheLimit: the limit of a transaction is not the caller's deadline. It was
// not done, unless COMMIT was sent in time.
func TestQueueBeyondTheLimit(t *testing.T) {
	db := openServer(t, ledger.Options{})
	for name, c := range map[string]struct {
		queued  string
		ask     bool
		instead error
	}{
		"asked after it":     {"SELECT 1", true, lethe.ErrUnavailable},
		"committed after it": {"SELECT 1", false, lethe.ErrUnavailable},
		"committed in time":  {"SELECT pg_sleep(1)", false, lethe.ErrUnknownOutcome},
	} {
		err := db.engine.Server.Runners[engine.Request].Write(t.Context(), sqldb.Transaction{
			Begin: "BEGIN", Longest: 100 * time.Millisecond,
			Do: func(ctx context.Context, s *sqldb.Session, _ []string) error {
				_, err := s.Queue(c.queued, nil)
				if c.instead == lethe.ErrUnavailable {
					<-ctx.Done()
				}
				if err == nil && c.ask {
					_, err = s.Execute(ctx, "SELECT 1", nil)
				}
				return err
			},
		})
		if !errors.Is(err, c.instead) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %v", name, err, c.instead)
		}
	}
}

// TestASilentServerIsTriedOnce: a transaction whose beginning gets no answer takes no longer
// than its limit.
func TestASilentServerIsTriedOnce(t *testing.T) {
	db := openServer(t, ledger.Options{})
	tries := 0
	err := db.engine.Server.Runners[engine.Request].Write(t.Context(), sqldb.Transaction{
		Begin: "BEGIN", Queue: true, Longest: 100 * time.Millisecond,
		Do: func(ctx context.Context, s *sqldb.Session, _ []string) error {
			tries++
			_, err := s.Execute(ctx, "SELECT pg_sleep(1)", nil)
			return err
		},
	})
	if !errors.Is(err, lethe.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestNextSessionHasNoQueue: what a look at the ledger queued and did not ask is not left to
// the next user of its connection, even after a panic, which the web server recovers from.
func TestNextSessionHasNoQueue(t *testing.T) {
	db := openServerAt(t, servers.Postgres(t), ledger.Options{}, Postgres(PostgresOptions{Requests: 1, Routines: 1}))
	setUp(t, db)
	for name, look := range map[string]func(*tx) error{
		"nothing asked": func(*tx) error { return nil },
		"a panic":       func(*tx) error { panic("a fault") },
	} {
		func() {
			defer func() { _ = recover() }()
			if err := db.readPoint(t.Context(), pointRead{}, look); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if _, err := put(db, "k", hexSum(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBrokenConnectionIsNotKept: who waits for a connection does not get one that broke.
func TestBrokenConnectionIsNotKept(t *testing.T) {
	pool := openServer(t, ledger.Options{}).engine.Server.Runners[engine.Request].Pool
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())"); err == nil {
		t.Error("the connection did not break")
	}
	conn.Close()
	if s := pool.Stats(); s.OpenConnections != 0 {
		t.Errorf("it is kept: %+v", s)
	}
}
