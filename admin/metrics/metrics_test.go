package metrics

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// asker returns a fixed status, and counts its calls.
type asker struct {
	err       error
	uncounted error // of what buckets store
	asked     int
}

func (a *asker) CachedStatus(context.Context) (api.Status, error) {
	a.asked++
	free := int64(5)
	return api.Status{
		Backends: []api.BackendStatus{{ID: "main", Free: &free, Held: "why", Compared: &api.Walk{Counts: map[string]int64{"lost": 2}}, BackendFacts: api.BackendFacts{BackoffLevel: 3, Limited: true}, States: []api.StateTotal{{State: "condemned", Blobs: 3}, {State: "dead"}}}},
		Routines: []api.RoutineStatus{{Name: "expire", LookedAt: time.Unix(1, 0), LastGood: &api.Run{}, Counts: map[string]int64{"items": 5}}}, Cache: &cache.Stats{},
		EventTargets: []api.EventTarget{{Name: "app", Waiting: 2}},
		Holds:        2, Trips: []api.LimitInfo{{Kind: "ttl", Tripped: true}}, BackoffLevel: 4,
		Redis: &api.RedisStatus{Up: true}, Instances: []api.Instance{{ID: "a"}, {ID: "b", Silent: true}},
	}, a.err
}

func (a *asker) BucketGauges(context.Context) ([]api.BucketUsage, error) {
	counted := api.UsageTotals{Amount: api.Amount{Objects: 2, Bytes: 30}, StoredBytes: 20, WithoutEnd: api.Amount{Bytes: 10}}
	return []api.BucketUsage{
		{Bucket: "photos", UsageTotals: counted, Soon: api.Amount{Bytes: 5}, UsageCount: api.UsageCount{At: time.Unix(7, 0)}},
		{Bucket: "new", UsageTotals: api.UsageTotals{Amount: api.Amount{Objects: 1}}}, {UsageTotals: counted},
	}, a.uncounted
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("a scrape answers %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// used returns metrics with every series used once.
func used() *Metrics {
	m := New()
	m.Ask(&asker{}, lethe.Monotonic{}, lethe.Monotonic{})
	m.Moved([]ledger.Move{{Backend: "main", To: lethe.Pending, Blobs: 1, Bytes: 10}, {Backend: "main", From: lethe.Live, To: lethe.Condemned, Reason: lethe.ReasonExpiry, Blobs: 2}})
	m.Reclaimed(lethe.ReasonExpiry, ledger.Reclaimed{Objects: 4})
	m.Deleting("main")
	m.Settled("main", 1, ledger.Settled{DiedAt: []lethe.Time{0}, Now: 90_000_000})
	m.DeleteFailed("main", true)
	m.BackendDown("main")
	m.BreakerOpened("main")
	m.Copied("main", 1)
	m.CopyFailed("main")
	m.Cleaned("main", []ledger.SettleItem{{Result: ledger.Absent}, {Result: ledger.Failed, Dead: true}, {Result: ledger.Failed}})
	m.Moved([]ledger.Move{{Backend: "main", From: lethe.Condemned, To: lethe.Dead, Reason: "attempts", Blobs: 3}, {Backend: "main", From: lethe.Pending, To: lethe.Live, Blobs: 6}})
	m.IntentAbandoned()
	m.EnqueueFailed("main", "unknown", "commit")
	m.Audited("blobs_deleted")
	m.Routine("expire", 1000, 5*time.Second)
	m.Backend("main")
	m.BackendThrottled("main")
	m.BackendContradicted("main")
	m.RedisDown()
	m.RunTakenOver(ledger.Run{Routine: "verify"})
	m.Recovered(ledger.Recovered{Backend: "main", State: lethe.Condemned, Claims: 2})
	m.IntentResolved(reclaim.Promoted)
	m.UploadAborted()
	m.Found(reclaim.Problem{Kind: "missing"})
	m.Reconciled("main", map[string]int64{"orphans": 1})
	m.ReconcileBroken("main")
	m.OrphanTaken("main")
	m.RunEnded(ledger.Run{Routine: "expire", Outcome: "failed: for a reason that is no label", Counts: map[string]int64{"limited": 1}})
	m.Write("committed")
	m.Deduped(5)
	m.ReadTrouble("failover")
	m.BackendCall(BackendCall{Backend: "main", Op: "get", Outcome: "down", Bytes: 1, Took: time.Second})
	m.Transaction(Transaction{Name: "Commit", Outcome: "unknown", Tries: 2})
	m.Got("photos", true)
	m.Got("photos", false)
	m.Requested(Request{Front: "s3", Operation: "PutObject", Status: "200", In: 5, Out: -1, Took: time.Second})
	return m
}

func TestWhatIsCounted(t *testing.T) {
	text := scrape(t, used())
	for _, want := range []string{
		`lethe_blob_transitions_total{backend="main",from="live",reason="expiry",to="condemned"} 2`,
		`lethe_blob_transitions_total{backend="main",from="none",reason="",to="pending"} 1`,
		`lethe_blob_died_to_gone_seconds_sum 90`,
		`lethe_runs_total{outcome="failed",routine="expire"} 1`,
		`lethe_runs_limited_total{routine="expire"} 1`,
		`lethe_runs_limited_total{routine="reap"} 0`,
		`lethe_backend_delete_failures_total{backend="main",dead="true"} 1`,
		`lethe_blobs{backend="main",state="condemned"} 3`,
		`lethe_backend_held{backend="main"} 1`,
		`lethe_requests_total{front="s3",operation="PutObject",status="200"} 1`,
		`lethe_request_bytes_total{direction="out",front="s3"} 0`,
		`lethe_ledger_up 1`,
		`lethe_cleanup_processed_total{backend="main",outcome="success_absent"} 1`,
		`lethe_cleanup_processed_total{backend="main",outcome="exhausted"} 1`,
		`lethe_cleanup_processed_total{backend="main",outcome="success"} 0`,
		`lethe_dead_letters_total{backend="main"} 3`,
		`lethe_intents_enqueued_total{backend="main"} 1`,
		`lethe_intents_resolved_total{resolution="committed"} 6`,
		`lethe_routine_interval_seconds{routine="expire"} 5`,
		`lethe_instances_silent 1`,
		`lethe_reconcile_last{backend="main",kind="lost"} 2`,
		`lethe_reconcile_last{backend="main",kind="orphans"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Not every scrape reads the ledger. If the ledger does not respond all other
// series are still exported.
func TestScrapesAreCheapAndSurviveTheLedger(t *testing.T) {
	m, a := New(), &asker{err: errors.New("down")}
	m.Ask(a, lethe.Monotonic{}, lethe.Monotonic{})
	for range 3 {
		if text := scrape(t, m); !strings.Contains(text, "lethe_ledger_up 0") || !strings.Contains(text, "go_goroutines") {
			t.Errorf("the scrape is\n%s", text)
		}
	}
	if a.asked != 1 {
		t.Errorf("the ledger was asked %d times", a.asked)
	}
}

var update = flag.Bool("update", false, "write testdata/series.txt")

// Names and labels of metrics are stable: testdata/series.txt has them all. The
// HELP line of each is a sentence.
func TestMetricsAreStable(t *testing.T) {
	text := scrape(t, used())
	have := map[string][]string{}
	series := regexp.MustCompile(`(?m)^(lethe_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`(\w+)="`)
	for _, m := range series.FindAllStringSubmatch(text, -1) {
		labels := []string{m[1]}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		have[m[1]] = labels
		if !regexp.MustCompile(`(?m)^# HELP ` + m[1] + ` [A-Z0-9].{5,}\.$`).MatchString(text) {
			t.Errorf("%s has no HELP line that is a sentence", m[1])
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(have)) {
		b.WriteString(strings.Join(have[name], " ") + "\n")
	}
	const file = "testdata/series.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != b.String() {
		t.Errorf("names and labels differ from %s (%v): go test ./admin/metrics -update", file, err)
	}
}

// The names of metrics in the documentation, the alert rules and the dashboard
// exist.
func TestMetricsThatAreNamedExist(t *testing.T) {
	text := scrape(t, used())
	named := regexp.MustCompile(`\blethe_[a-z_]+[a-z]\b`)
	for _, file := range []string{"docs/operations.md", "docs/runbooks.md", "deploy/prometheus/alerts.yaml", "deploy/grafana/lethe.json"} {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(data), -1) {
			whole := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			if !strings.HasPrefix(name, "lethe_adopt_") && !strings.Contains(text, "# HELP "+whole+" ") {
				t.Errorf("%s names %s, which is no metric", file, name)
			}
		}
	}
}

// The first buckets that are read have series of their own, which last; the others share one. No
// number of buckets makes more.
func TestGetsOfBuckets(t *testing.T) {
	m := New()
	m.Got("builds", true)
	for i := range 10_000 {
		m.Got(fmt.Sprint("bucket-", i), false)
	}
	m.Got("builds", true)
	m.Got("builds", false)
	m.Got("bucket-9999", true)
	text := scrape(t, m)
	for _, want := range []string{
		`lethe_bucket_gets_total{bucket="builds",outcome="found"} 2`, `lethe_bucket_gets_total{bucket="builds",outcome="missed"} 1`,
		`lethe_bucket_gets_total{bucket="(other)",outcome="found"} 1`, `lethe_bucket_gets_total{bucket="(other)",outcome="missed"} 9801`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(text, "\nlethe_bucket_gets_total{"); n != 2*(maxGets+1) {
		t.Errorf("%d series", n)
	}
	if hits, misses := m.Gets("builds"); hits != 2 || misses != 1 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
	if hits, misses := m.Gets("bucket-9999"); hits != 0 || misses != 0 {
		t.Errorf("a bucket without series has %d hits, %d misses", hits, misses)
	}
}

// What buckets store is one part of a scrape, and takes no other along when it fails.
func TestScrapeWithoutBuckets(t *testing.T) {
	m := New()
	m.Ask(&asker{uncounted: errors.New("broken")}, lethe.Monotonic{}, lethe.Monotonic{})
	text := scrape(t, m)
	if !strings.Contains(text, "lethe_ledger_up 1") || strings.Contains(text, "lethe_bucket_bytes{") {
		t.Errorf("a scrape:\n%s", text)
	}
}
