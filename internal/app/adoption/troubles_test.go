package adoption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/servers"
)

// gathered returns the metrics of an adoption: "name{label} value".
func gathered(t *testing.T, a *Adoption) (out []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{a})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			label := ""
			if len(m.GetLabel()) > 0 {
				label = m.GetLabel()[0].GetValue()
			}
			out = append(out, fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(f.GetName(), "lethe_adopt_"), label, m.GetGauge().GetValue()))
		}
	}
	return out
}

// show checks metrics.
func show(t *testing.T, a *Adoption, want ...string) {
	t.Helper()
	got := gathered(t, a)
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no metric says %q: %q", w, got)
		}
	}
}

// troubled is a paste service with problems.
type troubled struct {
	place
	a      *Adoption
	t      *testing.T
	exec   func(text string, args ...any)
	broken string // the key of a missing object
}

// newTroubled has a stuck row, a count that was too low, a missing object that
// a row names, and no guard.
func newTroubled(t *testing.T) *troubled {
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store, none := p.open(t), adopt.Duration(0)
	w := &troubled{place: p, t: t, a: p.adopt(t, Options{}, func(c *adopt.Collection) { c.Grace.Unreferenced = &none })}
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	w.exec = func(text string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range []string{"broken", "miscounted", "stuck"} {
		if _, err := store.Create(t.Context(), []byte(body), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	w.exec(`UPDATE content SET ref_count = 0 WHERE content_hash = $1`, hashOf([]byte("miscounted")))
	w.exec(`UPDATE pastes SET deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now() - INTERVAL '3 hours' WHERE content_hash = $1`, hashOf([]byte("stuck")))
	w.breaks(hashOf([]byte("broken")))
	return w
}

// breaks deletes the object of a content while a row is inserted past the
// guard.
func (w *troubled) breaks(hash string) {
	t, rows := w.t, w.a.Collection("pastes")
	claim, err := rows.Claim(t.Context(), 9)
	if err != nil || len(claim.Rows) != 2 {
		t.Fatalf("%v, %v", claim, err)
	}
	if _, err := rows.Settle(t.Context(), claim, 0); err != nil {
		t.Fatal(err)
	}
	marked, err := rows.Mark(t.Context(), adopt.MarkRequest{Limit: 9, Late: time.Hour})
	if err != nil || len(marked.Contents) != 1 {
		t.Fatalf("%v, %v", marked, err)
	}
	w.broken = marked.Contents[0].Object
	if _, err := w.gateway.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &w.bucket, Key: &w.broken}); err != nil {
		t.Fatal(err)
	}
	w.exec(`ALTER TABLE pastes DISABLE TRIGGER USER`)
	w.exec(`INSERT INTO pastes (short_code, content_hash, expires_at) VALUES ('past', $1, now() + INTERVAL '1 day')`, hash)
	if _, err := rows.Confirm(t.Context(), marked.Fence, []adopt.Outcome{{Content: hash}}, adopt.DefaultGrace); err != nil {
		t.Fatal(err)
	}
}

// Problems are shown by every instance, also by one that starts later, until
// they are fixed.
func TestTroublesShow(t *testing.T) {
	w := newTroubled(t)
	a := w.a
	d, err := describe(w.env(), func(*adopt.Collection) {})
	if err != nil {
		t.Fatal(err)
	}
	later, err := Open(t.Context(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if err := later.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	show(t, later, "missing_objects{pastes} 1", "wrong_counts{pastes} 1", "stuck_rows{pastes} 1", "collection_suspended{pastes} 1")
	show(t, a, "missing_objects{pastes} 1", "collection_suspended{pastes} 0")
	backlogs, err := a.Backlogs(t.Context())
	if err != nil || !strings.Contains(backlogs[0].Suspended.Why, "guard") {
		t.Errorf("%v, %v", backlogs, err)
	}

	w.exec(`ALTER TABLE pastes ENABLE TRIGGER USER`)
	if _, err := w.gateway.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w.bucket, Key: &w.broken, Body: strings.NewReader("broken")}); err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE lethe.troubles SET at = at - $1 WHERE kind = 2`, adopt.DriftShown.Microseconds())
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Loop.Once(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	show(t, a, "missing_objects{pastes} 0", "wrong_counts{pastes} 0", "stuck_rows{pastes} 0", "collection_suspended{pastes} 0")
	show(t, later, "collection_suspended{pastes} 1")
	if backlogs, err = a.Backlogs(t.Context()); err != nil || backlogs[0].Suspended.Why != "" {
		t.Errorf("%v, %v", backlogs, err)
	}
}

// Problems of a collection that only reports are reviewed as others are: a plan
// of it may have been applied.
func TestReportedTroublesAreReviewed(t *testing.T) {
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	p.open(t)
	for _, mode := range []adopt.Mode{adopt.Reclaim, adopt.Report} {
		d, err := describe(p.env(), func(c *adopt.Collection) { c.Mode = mode })
		if err != nil {
			t.Fatal(err)
		}
		reported := d.Collections["pastes"]
		reported.Mode = adopt.Report
		d.Collections["reported"] = reported
		a, err := Open(t.Context(), d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		has := slices.ContainsFunc(a.Loop.Routines, func(r reclaim.Scheduled) bool { return r.Routine.Name() == "review reported" })
		if has != (mode == adopt.Reclaim) || mode == adopt.Report && len(a.Loop.Routines) > 0 {
			t.Errorf("%s: the routines are %v", mode, a.Loop.Routines)
		}
	}
}

// What is deleted for good soon is shown, with what is live.
func TestPurgeSoonShows(t *testing.T) {
	a := newArchive(t)
	a.env["LETHE_CLEANUP_RETENTION_DURATION"] = "1h" // of which hardly anything passes meanwhile
	one := a.adopt("one")
	if err := one.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	retention := one.Description.Collections["topics"].Folders.Rules().Retention
	now, err := one.DB.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, marked := range []lethe.Time{now - 1, now.Add(-retention + retention/4), now.Add(-retention - time.Second)} {
		_, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.folders (collection, name, state, seen_at, marked_at, marker_at) VALUES ('topics', $1, 3, 1, $2, 1)`, fmt.Sprint(i), int64(marked))
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.live_rows (collection, live, at) VALUES ('topics', 7, 1)`); err != nil {
		t.Fatal(err)
	}
	show(t, one, "purge_soon{topics} 1", "live_rows{topics} 7", "due_folders{topics} 1")
	backlogs, err := one.Backlogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := backlogs[0].Nearing; n.Waits != 2 || n.First != now.Add(retention/4) {
		t.Errorf("of %s, %s: %+v", now, retention, n)
	}
}

// Keys that rows name and that have no object are shown until a comparison
// finds the objects.
func TestMissingKeysShow(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "b")
	f.row("a", "b", "never")
	f.passes(map[string]int64{"missing": 1})
	show(t, f.Adoption, "missing_objects{files} 1")
	f.put("never")
	f.passes(map[string]int64{"missing": 0})
	show(t, f.Adoption, "missing_objects{files} 0")
}

// A collection that has a problem when a process starts is worked on once that
// is fixed.
func TestSuspendedIsTakenUpAgain(t *testing.T) {
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	a := p.adopt(t, Options{Recheck: 20 * time.Millisecond}, func(c *adopt.Collection) {
		c.Schedule = adopt.Timetable{Every: adopt.Duration(50 * time.Millisecond)}
	})
	rows := a.Collection("pastes")
	if err := rows.RemoveGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, "") }()
	await := func(what string, so func() bool) {
		t.Helper()
		for tries := 0; !so(); tries++ {
			if tries == 600 {
				t.Fatalf("it never came that %s", what)
			}
			if err := lethe.Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	says := func(metric string) func() bool {
		return func() bool { return slices.Contains(gathered(t, a), metric) }
	}
	await("it is suspended", says("collection_suspended{pastes} 1"))
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 3, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	await("rows are due", says("due_rows{pastes} 3"))
	if err := rows.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	await("it is worked on", says("collection_suspended{pastes} 0"))
	await("rows go", says("due_rows{pastes} 0"))
	if backlogs, err := a.Backlogs(t.Context()); err != nil || backlogs[0].Suspended.Why != "" {
		t.Errorf("%v, %v", backlogs, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
