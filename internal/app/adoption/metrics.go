package adoption

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/netlimit"
)

// Bounds of what anyone may ask who reaches the address of the metrics.
const (
	askTime     = 20 * time.Second // for the queries of a scrape
	scrapes     = 4                // at a time: each queries the application's database
	requestTime = 10 * time.Second // to send a request, or to receive the answer
	idleTime    = 2 * time.Minute
	maxHeader   = 64 << 10
	perAddress  = 64 // connections of one address
)

var (
	dueRows      = desc("due_rows", "Rows that have expired and are still there, counted up to a million.", "collection")
	dueAge       = desc("due_oldest_age_seconds", "For how long the oldest of them has been due.", "collection")
	toGo         = desc("waiting_objects", "Objects that nobody refers to and that may go now.", "collection")
	dueFolders   = desc("due_folders", "Folders that are marked, and whose retention is over by the database's clock.", "collection")
	lastGood     = desc("last_success_age_seconds", "For how long no run of the routine has succeeded in this process, one that found nothing to do included; from its start on, until one has.", "routine")
	runItems     = desc("run_items", "What the routine's last successful run did, by name.", "routine", "what")
	orphans      = desc("orphans", "Objects on record that no row names.", "collection")
	inQuarantine = desc("quarantined_objects", "Objects in quarantine.", "collection")
	heldBy       = desc("holds", "Holds that stand.", "collection")
	gone         = desc("missing_objects", "Objects that something refers to, and that are not in the bucket.", "collection")
	miscounted   = desc("wrong_counts", "Contents whose count was found to be wrong within a day, or still is.", "collection")
	stuckRows    = desc("stuck_rows", "Rows in progress for longer than grace.watchdog, counted up to a million.", "collection")
	purgeSoon    = desc("purge_soon", "Folders, orphans or copies in quarantine that are deleted for good within a day, or within half their retention if that is shorter.", "collection")
	liveRows     = desc("live_rows", "Rows that named folders or objects at the last run.", "collection")
	idleHere     = desc("collection_suspended", "Whether this process does not work on a collection, as its check finds a problem.", "collection")
	unusable     = desc("collection_unusable", "Whether a collection does not fit the database, so that nothing of it is reclaimed.", "collection")
	databaseUp   = desc("database_up", "Whether the database answered this scrape.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("lethe_adopt_"+name, help, labels, nil)
}

// collector queries the database at each scrape.
type collector struct{ a *Adoption }

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{dueRows, dueAge, toGo, dueFolders, orphans, heldBy, inQuarantine, lastGood, runItems, unusable, databaseUp, gone, miscounted, stuckRows, purgeSoon, liveRows, idleHere} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	now, err := c.a.DB.Now(ctx)
	backlogs, more := c.a.Backlogs(ctx)
	_, succeeded, also := c.a.DB.LastRuns(ctx)
	if errors.Join(err, more, also) != nil {
		tell(databaseUp, 0)
		return
	}
	tell(databaseUp, 1)
	for _, b := range backlogs {
		c.backlog(b, now, tell)
	}
	for _, run := range succeeded {
		for what, n := range run.Counts {
			tell(runItems, float64(n), run.Routine, what)
		}
	}
	here := c.a.o.Clock.Now()
	c.a.succeeded(func(routine string, at lethe.Time) { tell(lastGood, here.Sub(at).Seconds(), routine) })
}

// backlog exports what waits in a collection.
func (c collector) backlog(b Backlog, now lethe.Time, tell func(*prometheus.Desc, float64, ...string)) {
	if b.Problem != "" {
		tell(unusable, 1, b.Collection)
		return
	}
	tell(unusable, 0, b.Collection)
	tell(inQuarantine, float64(b.Quarantined.Due), b.Collection)
	tell(heldBy, float64(len(b.Holds)), b.Collection)
	c.wrong(b, tell)
	switch b.Kind {
	case adopt.OfFolders:
		tell(dueFolders, float64(b.Folders.Due), b.Collection)
		return
	case adopt.OfKeys:
		tell(orphans, float64(b.Orphans.Due), b.Collection)
		return
	}
	tell(dueRows, float64(b.Rows.Due), b.Collection)
	tell(toGo, float64(b.Contents.Due), b.Collection)
	age := lethe.Time(0)
	if b.Rows.Due > 0 {
		age = now - b.Rows.Oldest
	}
	tell(dueAge, float64(age)/1e6, b.Collection)
}

// wrong exports what is wrong in a collection, and what is deleted for good
// soon.
func (c collector) wrong(b Backlog, tell func(*prometheus.Desc, float64, ...string)) {
	tell(gone, float64(b.Wrong.Missing), b.Collection)
	tell(purgeSoon, float64(b.Nearing.Soon), b.Collection)
	idle := 0.0
	if c.a.suspended.has(b.Collection) {
		idle = 1
	}
	tell(idleHere, idle, b.Collection)
	if b.Kind == adopt.OfFolders || b.Kind == adopt.OfKeys {
		tell(liveRows, float64(b.Nearing.Live), b.Collection)
		return
	}
	tell(miscounted, float64(b.Wrong.Drifted), b.Collection)
	tell(stuckRows, float64(b.Wrong.Stuck), b.Collection)
}

// Serve serves scrapes on an address until ctx ends.
func (a *Adoption) Serve(ctx context.Context, address string) error {
	registry := prometheus.NewRegistry()
	if err := registry.Register(collector{a}); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("metrics on %q, which has to be host:port such as 127.0.0.1:9104: %w", address, err)
	}
	server := &http.Server{Handler: scraped(registry), ReadTimeout: requestTime, WriteTimeout: askTime + requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	a.o.Log.Info("metrics", "address", listener.Addr().String())
	if err := server.Serve(netlimit.Listen(listener, netlimit.Options{PerAddress: perAddress})); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// scraped serves metrics. Further scrapes at a time get 503.
func scraped(from prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes}))
	return mux
}
