package console_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// The root key of the tests.
const (
	rootKey    = "ROOTOFTHETESTS"
	rootSecret = "a secret of these tests"
)

// world is a server with its console. Routines run when they are told to.
type world struct {
	t         *testing.T
	ctx       context.Context
	clock     *clocktest.Ahead
	stopwatch *ticking
	app       *app.App
	admin     *api.Client
	url       string
	data      string // the folder of the store
	log       *record
}

// ticking is a clock that stands, or goes on by a step each time it is read.
type ticking struct {
	*clocktest.Clock
	step atomic.Int64
}

// Now returns the instant at which the clock stands, and moves it.
func (c *ticking) Now() lethe.Time {
	c.Advance(time.Duration(c.step.Load()))
	return c.Clock.Now()
}

// record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func start(t *testing.T, settings ...string) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), clock: &clocktest.Ahead{}, stopwatch: &ticking{Clock: clocktest.At(1_800_000_000_000_000)}, log: &record{}, data: t.TempDir() + "/d"}
	base := []string{
		"data_dir=" + w.data, "server.s3.listen=127.0.0.1:0", "server.paste.listen=off", "server.metrics.listen=off",
		"server.admin.listen=127.0.0.1:0", "server.console.listen=127.0.0.1:0", "root.access_key=" + rootKey, "root.secret=" + rootSecret,
		"store.inline=none", // small bodies stand for large ones
	}
	for _, r := range config.Default().Reclaim.Routines() {
		base = append(base, "reclaim."+r.Name+".enabled=false")
	}
	conf, from, err := config.LoadWithSources("", []string{"LETHE_RECEIPTS_KEEP=60d"}, append(base, settings...)...)
	w.must(err)
	w.app, err = app.New(w.ctx, conf, app.Options{
		Log: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Clock: w.clock, Stopwatch: w.stopwatch, Version: "test", Sources: from,
		Command: func(args ...string) string { return "lethe " + strings.Join(args, " ") + " --config our.yaml" },
	})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.app.Close(); err != nil {
			t.Error(err)
		}
	})
	<-w.app.Ready()
	w.url = w.app.Addresses().Console
	token, err := os.ReadFile(app.TokenPath(conf.DataDir))
	w.must(err)
	w.admin = &api.Client{Base: w.app.Addresses().Admin, Token: strings.TrimSpace(string(token)), HTTP: api.TCP()}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) bucket(name string) {
	w.t.Helper()
	_, err := w.app.Objects.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: rootKey})
	w.must(err)
}

func (w *world) put(bucket, key, body, ttl string) {
	w.t.Helper()
	r := object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader(body), Size: int64(len(body))}
	if ttl != "" {
		d, err := lethe.ParseTTL(ttl)
		w.must(err)
		r.TTL = d
	}
	_, err := w.app.Objects.Put(w.ctx, r)
	w.must(err)
}

// token makes a token of the admin API with a role.
func (w *world) token(name string, role api.Role) string {
	w.t.Helper()
	k, err := api.Call[api.NewToken](w.ctx, w.admin, "tokens/add", api.TokenRequest{Name: name, Role: role})
	w.must(err)
	return k.Text
}
