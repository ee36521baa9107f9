package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
)

// IntentCost measures what the intent before the bytes costs a put: puts as they
// are, and puts whose intents were begun before the clock runs, which is as much as
// a store without intents would do in their time. Files and ledger are durable.
type IntentCost struct {
	Puts    int
	Size    int
	Clients int
	Runs    int
	Dir     string
	// Database makes an empty one on PostgreSQL and answers its URL; nil: SQLite in Dir.
	Database func(ctx context.Context, run int) (url string, err error)
}

// IntentWork is what one run of puts took.
type IntentWork struct {
	Puts         float64 // per second
	Transactions float64 // that write, per put
	Written      float64 // bytes by this process, per put
	CPU          float64 // us of this process, per put
	Database     Sample  // of PostgreSQL, for all puts
}

// Run measures, interleaved.
func (c IntentCost) Run(ctx context.Context) (with, before []IntentWork, err error) {
	for n := range c.Runs {
		for _, early := range []bool{false, true} {
			w, err := c.one(ctx, 2*n, early)
			if err != nil {
				return with, before, err
			}
			if early {
				before = append(before, w)
			} else {
				with = append(with, w)
			}
		}
	}
	return with, before, nil
}

func (c IntentCost) one(ctx context.Context, run int, early bool) (w IntentWork, err error) {
	dir, err := os.MkdirTemp(c.Dir, "lethe-bench-")
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Mkdir(blobPath(dir), 0o700); err != nil {
		return w, err
	}
	if c.Database == nil {
		return c.on(ctx, dir, "", early)
	}
	if early {
		run++
	}
	url, err := c.Database(ctx, run)
	if err != nil {
		return w, err
	}
	return c.on(ctx, dir, url, early)
}

func (c IntentCost) on(ctx context.Context, dir, url string, early bool) (w IntentWork, err error) {
	s, err := c.open(ctx, dir, url)
	if err != nil {
		return w, err
	}
	spent, err := watched(ctx, url, func() error {
		w, err = c.puts(ctx, s, early)
		return errors.Join(err, s.close())
	})
	w.Database = spent
	return w, err
}

func (c IntentCost) puts(ctx context.Context, s *store, early bool) (w IntentWork, err error) {
	e := &earlyIntents{DB: s.db, early: early}
	files := renamed{s.calls, e, s.id}
	objects, err := object.New(object.Options{Ledger: object.Ledger{
		Buckets: e, Documents: e, Rules: e, Holds: e,
		Objects: e, Reads: e, Intents: e, Copies: e, Uploads: e, Trash: e,
	}, Backends: map[string]blob.Store{backendID: files}, StoreID: s.id})
	if err != nil {
		return w, err
	}
	if _, err = objects.CreateBucket(ctx, ledger.Bucket{Name: "bench", Owner: "bench"}); err != nil {
		return w, err
	}
	if err := e.begin(ctx, c.Puts, int64(c.Size)); err != nil {
		return w, err
	}
	return c.measure(ctx, objects, s)
}

func (c IntentCost) open(ctx context.Context, dir, url string) (*store, error) {
	s, err := openStore(ctx, dir, 1)
	if err == nil && url != "" {
		if err = s.db.Close(); err == nil {
			s.db, err = sqlledger.OpenPostgres(ctx, url, ledger.Options{ReadGrace: 1})
		}
	}
	if err != nil {
		return s, err
	}
	id, err := s.db.Identity(ctx)
	if err == nil {
		s.id = id.ID
		_, err = s.db.AddBackend(ctx, ledger.Backend{ID: backendID})
	}
	return s, err
}

// measure puts objects whose contents all differ.
func (c IntentCost) measure(ctx context.Context, objects *object.Store, s *store) (w IntentWork, err error) {
	var writes atomic.Int64
	s.db.OnTransactions(func(ctx context.Context, _ string) (context.Context, func(sqlledger.Transaction)) {
		return ctx, func(t sqlledger.Transaction) {
			if t.Write {
				writes.Add(1)
			}
		}
	})
	load := Load{Clients: c.Clients, Objects: c.Puts}
	from := used()
	took, err := load.each(ctx, func(ctx context.Context, i int64) error {
		body := make([]byte, c.Size)
		binary.LittleEndian.PutUint64(body, uint64(i))
		_, err := objects.Put(ctx, object.PutRequest{Bucket: "bench", Key: fmt.Sprintf(keyPattern, i), Size: int64(c.Size), Body: bytes.NewReader(body)})
		return err
	})
	spent, n := used().minus(from), float64(c.Puts)
	return IntentWork{
		Puts: took.Rate(), Transactions: float64(writes.Load()) / n,
		Written: float64(spent.written) / n, CPU: float64(spent.cpu.Microseconds()) / n,
	}, err
}

// earlyIntents hands out intents that were begun before, if it has any.
type earlyIntents struct {
	*sqlledger.DB
	early bool
	spare chan lethe.ID
	names sync.Map // of the intents in their place
}

// begin begins n intents.
func (e *earlyIntents) begin(ctx context.Context, n int, size int64) error {
	if !e.early {
		return nil
	}
	e.spare = make(chan lethe.ID, n)
	begun := Load{Clients: 16, Objects: n}
	_, err := begun.each(ctx, func(ctx context.Context, _ int64) error {
		id := lethe.RandomID(lethe.SystemClock{}.Now())
		_, err := e.DB.Begin(ctx, ledger.Intent{ID: id, Backend: backendID, Size: size})
		e.spare <- id
		return err
	})
	return err
}

// Begin takes an intent that was begun.
func (e *earlyIntents) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	if !e.early {
		return e.DB.Begin(ctx, in)
	}
	id := <-e.spare
	e.names.Store(in.ID, id)
	return ledger.Blob{ID: in.ID, Backend: in.Backend, State: lethe.Pending, Size: in.Size}, nil
}

// Commit commits under the name of the intent that was begun.
func (e *earlyIntents) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	for i, b := range c.Blobs {
		if id, ok := e.names.LoadAndDelete(b.Blob); ok {
			c.Blobs[i].Blob = id.(lethe.ID)
		}
	}
	return e.DB.Commit(ctx, c)
}

// renamed puts bytes under the names of the intents that were begun.
type renamed struct {
	blob.Store
	intents *earlyIntents
	id      lethe.ID // of the store
}

// Put implements blob.Store.
func (r renamed) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	if id, ok := lethe.ParseBlobKey(r.id, key); ok {
		if begun, ok := r.intents.names.Load(id); ok {
			key = lethe.BlobKey(r.id, begun.(lethe.ID))
		}
	}
	return r.Store.Put(ctx, key, body, size)
}

// Table reports the runs.
func (c IntentCost) Table(with, before []IntentWork) *Table {
	t := &Table{Title: fmt.Sprintf("Puts of %d bytes by %d clients, %d of them, median of %d runs (smallest..largest)", c.Size, c.Clients, c.Puts, c.Runs)}
	for _, m := range []struct {
		name string
		of   func(IntentWork) float64
	}{
		{"puts/s", func(w IntentWork) float64 { return w.Puts }},
		{"transactions that write, per put", func(w IntentWork) float64 { return w.Transactions }},
		{"bytes written, per put", func(w IntentWork) float64 { return w.Written }},
		{"processor time, us per put", func(w IntentWork) float64 { return w.CPU }},
	} {
		a, b := series(with, m.of), series(before, m.of)
		t.Add("with its intent: "+m.name, a)
		t.Add("its intent begun before: "+m.name, b)
		t.Add("the one by the other: "+m.name, a.Ratios(b))
	}
	if c.Database != nil {
		c.database(t, with)
	}
	return t
}

// database adds what puts with their intents cost PostgreSQL.
func (c IntentCost) database(t *Table, with []IntentWork) {
	each := func(n float64) float64 { return n / float64(c.Puts) }
	t.Add("database's CPU, us per put", series(with, func(w IntentWork) float64 { return each(float64(w.Database.CPU) / 1e3) }))
	t.Add("blocks touched, per put", series(with, func(w IntentWork) float64 { return each(float64(w.Database.Blocks)) }))
	t.Add("write-ahead log, bytes per put", series(with, func(w IntentWork) float64 { return each(float64(w.Database.Log)) }))
}
