package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"

	"github.com/lethe-storage/lethe/internal/config"
)

// App is a Store with everything that listens:
//
//	S3 clients   browsers, curl   browsers   lethe status ...     Prometheus
//	    |              |              |             |                 |
//	 S3 front        paste         console    admin (socket)   metrics, health
//	    +--------------+-----------+--+-------------+-----------------+
//	                               |
//	                             Store
//
// New opens and binds, Run serves until its context ends and then drains, Close
// releases everything.
type App struct {
	*Store
	Root Credentials

	front front
	webs  []*web
	ready chan struct{}
	urls  Addresses

	agreement agreement
}

// Addresses are those of an App, once it is ready.
type Addresses struct {
	S3, Paste, Admin, Metrics, Console string // URLs; Admin may be "unix:" and a path; empty if disabled
}

// New opens the data folder, creating it if needed, and binds the addresses.
func New(ctx context.Context, c *config.Config, o Options) (*App, error) {
	o.Create = true
	limitMemory(c)
	spareProcessors()
	if err := canListen(ctx, c); err != nil {
		return nil, err
	}
	s, err := OpenStore(ctx, c, o)
	if err != nil {
		return nil, err
	}
	a := &App{Store: s, ready: make(chan struct{})}
	err = s.inOrder(ctx, []step{
		{"settle", a.settle}, {"admin", a.openAdmin}, {"metrics", a.openMetrics}, {"paste", a.openPaste}, {"front", a.openFront}, {"console", a.openConsole},
	})
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// settle resolves what an earlier process left, before anything new begins.
func (a *App) settle(ctx context.Context) (err error) {
	if a.Root, err = a.rootCredentials(ctx); err != nil {
		return err
	}
	a.sweeps(a.unfinishedBefore())
	a.heartbeat(ctx)
	a.sweepUnfinished(ctx)
	a.applyRules(ctx, nil)
	a.endTrips(ctx)
	return nil
}

// Ready is closed when all addresses are served.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Addresses are valid once the App is ready.
func (a *App) Addresses() Addresses { return a.urls }

// Run serves until ctx ends or a listener fails. Then it stops accepting, lets open
// requests finish for up to server.drain_timeout, and cuts off the rest.
func (a *App) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	hup := hangups() // before the addresses are announced
	var served, work sync.WaitGroup
	failed := func(err error) {
		if err != nil {
			stop(err)
		}
	}
	served.Go(func() { failed(a.front.serve(ctx, a.announce)) })
	for _, w := range a.webs {
		served.Go(func() { failed(w.run()) })
	}
	a.atWork(ctx, &work, failed)
	serving, unserved := context.WithCancel(context.WithoutCancel(ctx)) // open requests read as well
	defer unserved()
	work.Go(func() { a.noteReads(serving) })
	work.Go(func() { a.keepPairing(ctx) })
	work.Go(func() { a.watchPlaces(ctx) })
	work.Go(func() { a.reloadOn(ctx, hup) })
	<-ctx.Done()
	a.watch.drain.Store(true)
	a.opt.Log.Info("stopping: no new requests; open ones may finish", "within", a.drainTimeout().String())
	a.drain()
	served.Wait()
	unserved()
	work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	a.confirmClock(ctx)
	return nil
}

// confirmClock has the next start take the clock for right: to stop a server and start it is
// how a person confirms it. A crash does not.
func (a *App) confirmClock(ctx context.Context) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := a.Ledger.ConfirmClock(last); err != nil {
		a.opt.Log.Warn("if the clock was set forward, the next start does not take it for right", "error", err)
	}
}

// atWork runs what the process's roles require beside serving requests.
func (a *App) atWork(ctx context.Context, work *sync.WaitGroup, failed func(error)) {
	if a.Config.Has(config.RoleReclaim) {
		work.Go(func() { a.Loop.Run(ctx) })
	}
	work.Go(func() { a.router.Run(ctx) })
	work.Go(func() { a.ledgerHealth.run(ctx) })
	work.Go(func() { a.bus.Run(ctx) })
	if a.shared() {
		work.Go(func() { failed(a.beat(ctx)) })
	}
}

// drain shuts the HTTP servers down; the S3 front drains itself.
func (a *App) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), a.drainTimeout())
	defer cancel()
	var all sync.WaitGroup
	for _, w := range a.webs {
		if w.name == "admin" {
			w.cut() // operators' jobs continue after the next start
		}
		all.Go(func() { w.stop(ctx) })
	}
	all.Wait()
}

// announce records the addresses once all are served.
func (a *App) announce(s3 net.Addr) {
	c := a.Config.Server
	if s3 != nil {
		a.urls.S3 = urlOf(c.S3, s3)
	}
	for _, w := range a.webs {
		switch w.name {
		case "admin":
			a.urls.Admin = urlOf(c.Admin, w.ln.Addr())
		case "metrics":
			a.urls.Metrics = urlOf(c.Metrics, w.ln.Addr())
		case "paste":
			a.urls.Paste = urlOf(c.Paste, w.ln.Addr())
		case "console":
			a.urls.Console = urlOf(c.Console, w.ln.Addr())
		}
	}
	close(a.ready)
	a.opt.Log.Info("serving", "roles", a.Config.Roles, "s3", a.urls.S3, "paste", a.urls.Paste, "admin", a.urls.Admin, "metrics", a.urls.Metrics, "console", a.urls.Console, "data", a.Config.DataDir)
}

// urlOf returns the URL of a listener, with the port that it was given.
func urlOf(l config.Listener, addr net.Addr) string {
	if _, unix := l.Unix(); unix {
		return "unix:" + addr.String()
	}
	l.Listen = addr.String()
	return l.URL()
}

// reload applies the settings that may change while the process runs.
func (a *App) reload() {
	if a.opt.Reload == nil {
		return
	}
	c, err := a.opt.Reload()
	if err != nil {
		a.opt.Log.Error("the configuration was not reloaded; the previous one stays in use", "error", err)
		return
	}
	setLevel(a.opt.Level, c.Log.Level)
	rest := *c
	rest.Log.Level = a.Config.Log.Level
	rest.Lifecycle = a.Config.Lifecycle
	a.applyRates(c, &rest)
	a.applyRules(context.Background(), c)
	waiting := config.Changed(a.Config, &rest)
	if len(waiting) == 0 {
		a.opt.Log.Info("configuration reloaded", "log.level", c.Log.Level)
		return
	}
	a.opt.Log.Warn("configuration reloaded: log.level, lifecycle and delete rates are in use; other changes take effect at the next start",
		"log.level", c.Log.Level, "waiting", waiting)
}

// memoryBase is what the process needs besides its cache, in bytes.
const memoryBase = 112 << 20

// unused is never touched, so it takes no memory, but the garbage collector counts it as in
// use and runs less often. Requests keep little and make much garbage: without it a sixth of
// the processor time of small gets went into collecting.
var unused []byte

// unusedSize is in bytes. The process grows by about as much; four times as much brought
// nothing more.
const unusedSize = 16 << 20

// collectLess makes the garbage collector run less often. GOGC overrides it.
var collectLess = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		unused = make([]byte, unusedSize)
	}
})

// limitMemory makes the garbage collector work harder before the process exceeds
// the memory that streaming needs. GOMEMLIMIT overrides it.
func limitMemory(c *config.Config) {
	collectLess()
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := memoryBase + int64(len(unused)) + int64(c.Cache.Size)
		for _, b := range c.Backends {
			if b.Kind == "s3" {
				limit += s3Memory(b.S3)
			}
		}
		debug.SetMemoryLimit(limit)
	}
}

// Greet prints the addresses and credentials. The secret is shown on a terminal
// only: elsewhere the text ends up in logs.
func (a *App) Greet(w io.Writer) {
	u := a.urls
	if u.S3 == "" {
		fmt.Fprintf(w, "Lethe is reclaiming; another instance serves S3\n\n  %s\n\n", a.opt.Command("status"))
		return
	}
	fmt.Fprintf(w, "Lethe is serving %s\n\n", a.Config.DataDir)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-12s %s\n", name, value)
		}
	}
	row("S3", u.S3)
	row("pastes", u.Paste)
	row("metrics", suffixed(u.Metrics, "/metrics"))
	row("console", u.Console)
	row("access key", a.Root.Access)
	switch {
	case a.Root.Path == "":
		row("secret key", "as configured")
	case isTerminal(w):
		row("secret key", a.Root.Secret.Reveal()+"   (kept in "+a.Root.Path+")")
	default:
		row("secret key", "in "+a.Root.Path)
	}
	fmt.Fprintf(w, "\nTry it:\n")
	if a.Root.Path != "" {
		fmt.Fprintf(w, "  export AWS_SHARED_CREDENTIALS_FILE=%s AWS_REGION=%s\n", a.Root.Path, a.Config.Server.Region)
	} else {
		fmt.Fprintf(w, "  export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=... AWS_REGION=%s\n", a.Root.Access, a.Config.Server.Region)
	}
	// Not by AWS_ENDPOINT_URL, which versions in current distributions do not read.
	fmt.Fprintf(w, "  aws --endpoint-url %[1]s s3 mb s3://first\n  aws --endpoint-url %[1]s s3 cp README.md s3://first/ --metadata ttl=10m\n", u.S3)
	fmt.Fprintf(w, "  curl --aws-sigv4 aws:amz:%s:s3 -H x-amz-content-sha256:UNSIGNED-PAYLOAD --user %s:SECRET %s/first/README.md\n", a.Config.Server.Region, a.Root.Access, u.S3)
	if u.Paste != "" {
		fmt.Fprintf(w, "  curl --data-binary @README.md %s\n", u.Paste)
	}
	fmt.Fprintf(w, "  %s\n\n", a.opt.Command("status"))
}

func suffixed(s, suffix string) string {
	if s == "" {
		return ""
	}
	return s + suffix
}
