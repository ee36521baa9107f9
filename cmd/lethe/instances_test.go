package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// shared are the settings of instances over a database and buckets of an S3
// service in this process.
func shared(t *testing.T, url string, buckets ...string) []string {
	s := servers.GoFakeS3(t)
	var list []string
	for _, name := range buckets {
		list = append(list, fmt.Sprintf("{name: %s, kind: s3, s3: {endpoint: %s, bucket: %s, access_key: %s, secret_key: %s}}",
			name, s.Endpoint, s.Bucket(t), s.Access, s.Secret))
	}
	return []string{"database.url=" + url, "backends=[" + strings.Join(list, ", ") + "]", "database.schema=instances", "reclaim.grace.heartbeat=100ms"}
}

// beside starts another instance of the same store: with its own folder, and
// without S3, since a process has only one S3 front.
func (w *world) beside(settings ...string) *world {
	o := newWorld(w.t, append(slices.Clone(w.settings), settings...)...)
	o.clock = w.clock
	return o
}

// One instance serves, another reclaims. Commands use either of them, or the
// database directly.
func TestInstancesShareAStore(t *testing.T) {
	w := newWorld(t, shared(t, servers.Postgres(t), "cloud")...).start()
	v := w.beside("roles=reclaim").start()
	if v.app.Root.Access != w.app.Root.Access || v.app.Root.Secret.Reveal() != w.app.Root.Secret.Reveal() {
		t.Error("the instances have root keys of their own")
	}
	if text := v.ok("keys", "root"); text != w.ok("keys", "root") || !strings.Contains(text, w.app.Root.Access) {
		t.Errorf("the root key is\n%s", text)
	}
	if v.app.Addresses().S3 != "" || v.app.Addresses().Paste != "" {
		t.Errorf("an instance that only reclaims listens on %+v", v.app.Addresses())
	}
	var seen []api.Instance
	for range 100 { // an instance registers right after it serves
		if seen = status(w.beside()).Instances; len(seen) == 2 {
			break
		}
	}
	if len(seen) != 2 || seen[0].Silent || !slices.Contains([]string{"serve,reclaim", "reclaim"}, strings.Join(seen[0].Roles, ",")) {
		t.Errorf("instances %+v", seen)
	}
	w.bucket("first")
	w.put("first", "a", "bytes", "1h")
	w.put("first", "b", "other bytes", "")
	w.clock.Advance(2 * time.Hour)
	w.gone("first", "a")
	v.reclaimed("objects", 1, "expire")
	w.clock.Advance(2 * time.Minute)
	clean := func() int64 {
		return asked[api.ReclaimResult](v, "reclaim", "--once", "--only", "clean").Done[0].Counts["gone"]
	}
	gone := clean()
	for i := 0; gone == 0 && i < 5; i++ { // a busy server may answer late, and is asked again
		w.clock.Advance(time.Hour)
		gone = clean()
	}
	if gone != 1 {
		t.Fatalf("%d blobs are gone, want 1", gone)
	}
	w.state("condemned", 0)
	w.state("live", 1)
	for _, asked := range []*world{w, v, w.beside()} { // the last has no process, and not even a folder
		s := status(asked)
		if s.LedgerKind != "postgres" || s.Objects != 1 || s.Backends[0].S3 == nil {
			t.Errorf("status says %+v", s)
		}
		asked.ok("check")
	}
	text := v.ok("status")
	for _, says := range []string{"reclaiming since", "ledger in postgres"} {
		if !strings.Contains(text, says) {
			t.Errorf("status does not say %q:\n%s", says, text)
		}
	}
	v.stop()
	if got, err := w.get("first", "b"); err != nil || got != "other bytes" {
		t.Errorf("read %q, %v", got, err)
	}
}

func status(w *world) api.Status {
	w.t.Helper()
	return asked[api.Status](w, "status")
}

// Status asks the other instances: what one of them alone finds is known at once, and one that
// does not answer is named.
func TestStatusAsksTheOtherInstances(t *testing.T) {
	settings := shared(t, servers.Postgres(t), "cloud")
	w := newWorld(t, settings...).start()
	_, after, _ := strings.Cut(settings[1], "endpoint: http://")
	endpoint, _, _ := strings.Cut(after, ",")
	way := servers.Proxy(t, endpoint)
	v := w.beside("roles=reclaim", strings.Replace(settings[1], endpoint, way.Addr, 1)).start()
	down := func() *api.StatusFinding {
		s := status(w)
		for i, f := range s.Findings {
			if f.Kind == api.KindBackendDown {
				return &s.Findings[i]
			}
		}
		return nil
	}
	for range 100 { // an instance registers right after it serves
		if len(status(w).Instances) == 2 {
			break
		}
	}
	f := down()
	for i := 0; f != nil && i < 20; i++ { // a busy machine may answer late
		f = down()
	}
	if f != nil {
		t.Fatalf("found %+v", f)
	}
	way.Down()
	if f := down(); f == nil || len(f.Instances) != 1 || strings.Contains(f.What, " ago)") {
		t.Errorf("the other one's backend is down, and status found %+v", f)
	}
	v.stop()
	w.instance(ledger.InstanceInfo{Roles: []string{"serve"}}) // nobody is behind it
	contains(t, "status", w.ok("status"), "healthy, with 1 notice\n", "instance another did not answer in time", ", no answer")
}

// A backend is drained onto another one, removed, and not missed.
func TestABackendIsDrainedAndRemoved(t *testing.T) {
	w := newWorld(t, shared(t, servers.Postgres(t), "old", "new")...).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.put("first", "big", strings.Repeat("x", 3<<20), "")
	w.fails("backend is in use: old is not being drained; drain it first\n", "backend", "remove", "old")
	w.ok("backend", "drain", "old")
	if text := w.ok("backend", "list"); !strings.Contains(text, "is being drained") {
		t.Errorf("list says\n%s", text)
	}
	w.ok("reclaim", "--once", "--only", "drain")
	w.ok("reclaim", "--once", "--only", "replicate")
	w.put("first", "c", "more bytes", "")
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once")
	code, _, errs := w.lethe("backend", "remove", "old")
	for i := 0; i < 100 && strings.Contains(errs, "still holds"); i++ { // the server's own routine may be cleaning it
		code, _, errs = w.lethe("backend", "remove", "old")
	}
	if code != 0 {
		t.Fatal(errs)
	}
	for key, body := range map[string]string{"a": "bytes", "big": strings.Repeat("x", 3<<20), "c": "more bytes"} {
		if got, err := w.get("first", key); err != nil || got != body {
			t.Errorf("%s: %d bytes, %v", key, len(got), err)
		}
	}
	w.fails("there is no other backend", "backend", "drain", "new")
	w.ok("check", "--checksums")
}

// While one of two services is down the store stays ready: reads of copies fail
// over, and writes go to the other.
func TestOneOfTwoBackendsFails(t *testing.T) {
	settings := shared(t, servers.Postgres(t), "steady", "shaky")
	at := strings.Index(settings[1], "endpoint: ") + len("endpoint: ")
	steady, _, _ := strings.Cut(settings[1][at:], ",")
	way := servers.Proxy(t, strings.TrimPrefix(steady, "http://"))
	settings[1] = strings.Replace(settings[1], "name: shaky, kind: s3, s3: {endpoint: "+steady, "name: shaky, kind: s3, s3: {endpoint: http://"+way.Addr, 1)
	w := newWorld(t, append(settings, "placement.replicas=2", "placement.strategy=spread")...).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.ok("reclaim", "--once", "--only", "replicate")
	w.state("live", 1)
	open := scenario{alert: "LetheBreakerOpen", well: w.scrape()}
	way.Down()
	ready := strings.TrimSuffix(w.app.Addresses().Metrics, "/metrics") + "/readyz"
	answer(t, ready, http.StatusOK, "")
	for i := range 6 {
		if got, err := w.get("first", "a"); err != nil || got != "bytes" {
			t.Errorf("read %q, %v", got, err)
		}
		w.put("first", fmt.Sprint("b", i), fmt.Sprint("more bytes ", i), "")
	}
	w.fresh()
	open.bad = append(open.bad, w.scrape())
	way.Up()
	for range 1000 { // the breaker lets a probe through after its pause
		if code, _, _ := w.lethe("check"); code == 0 {
			break
		}
	}
	w.ok("reclaim", "--once", "--only", "replicate")
	w.ok("check", "--checksums")
	w.fresh()
	good := w.scrape()
	open.good = &good
	w.judge(open)
}

// While the database is down requests are refused with the reason, and
// everything continues once it is back.
func TestDatabaseOutageAndRecovery(t *testing.T) {
	pg := servers.NewPostgres(t)
	w := newWorld(t, shared(t, pg.Database(), "cloud")...).start()
	w.bucket("first")
	w.put("first", "read", "bytes", "")
	if _, err := w.get("first", "read"); err != nil {
		t.Fatal(err)
	}
	well := w.scrape()
	pg.Kill()
	if text, ok := w.log.await("THE DATABASE DOES NOT ANSWER"); !ok {
		t.Fatal(text)
	}
	if _, err := w.get("first", "read"); err == nil || !strings.Contains(err.Error(), "ServiceUnavailable") {
		t.Errorf("a read while the database is away: %v", err)
	}
	answer(t, w.app.Addresses().S3+"/first/read", http.StatusServiceUnavailable, "Retry-After")
	ready := strings.TrimSuffix(w.app.Addresses().Metrics, "/metrics") + "/readyz"
	answer(t, ready, http.StatusServiceUnavailable, "")
	w.agree(api.KindLedgerDown, api.SeverityCritical, http.StatusServiceUnavailable)
	var bad []moment
	for range 3 {
		for range 6 {
			answer(t, w.app.Addresses().S3+"/first/read", http.StatusServiceUnavailable, "")
		}
		w.fresh()
		bad = append(bad, w.scrape())
	}
	pg.Restart()
	if text, ok := w.log.await("the database answers again"); !ok {
		t.Fatal(text)
	}
	answer(t, ready, http.StatusOK, "")
	w.put("first", "read", "newer bytes", "")
	if got, err := w.get("first", "read"); err != nil || got != "newer bytes" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	w.ok("check")
	w.fresh()
	good := w.scrape()
	for _, alert := range []string{"LetheDatabaseDown", "LetheDatabaseErrors"} {
		w.judge(scenario{alert: alert, well: well, bad: bad, good: &good, samples: 8})
	}
}

// answer checks the status of a response, and that it has a header.
func answer(t *testing.T, url string, status int, header string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status || header != "" && resp.Header.Get(header) == "" {
		t.Errorf("%s answers %s %v: %s", url, resp.Status, resp.Header, text)
	}
}

// A server waits for its database, up to a limit; a command does not.
func TestStartWithoutTheDatabase(t *testing.T) {
	pg := servers.NewPostgres(t)
	settings := shared(t, pg.Database(), "cloud")
	pg.Stop()
	w := newWorld(t, append(settings, "database.wait=1ms", "roles=reclaim")...)
	if err := w.tryStart(); err == nil || !strings.Contains(err.Error(), "database.wait") {
		t.Errorf("a start that has waited: %v", err)
	}
	w.fails("cannot be reached", "status")
	v, log, started := w.beside("database.wait=5m"), newTail(), make(chan error, 1)
	go func() { started <- v.tryStartOn(log) }()
	if text, ok := log.await("waiting for it"); !ok {
		t.Fatal(text)
	}
	pg.Restart()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	v.ok("check")
}

// A server that is stopped while it waits for its database has not failed.
func TestAStopWhileItWaitsForTheDatabase(t *testing.T) {
	w := newWorld(t, shared(t, "postgres://nobody@127.0.0.1:1/none?sslmode=disable", "cloud")...)
	cmd, out, errs, ended := w.process(w.args("serve")...)
	if text, ok := errs.await("waiting for it"); !ok {
		t.Fatal(text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || strings.Contains(errs.String(), "canceled") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}

// An instance whose configuration differs from the others' logs it.
func TestInstancesCompareTheirConfiguration(t *testing.T) {
	w := newWorld(t, shared(t, servers.Postgres(t), "cloud")...).start()
	v := newWorld(t, append(slices.Clone(w.settings), "reclaim.grace.min_age=7m")...)
	v.clock = w.clock
	log := newTail()
	if err := v.tryStartOn(log); err != nil {
		t.Fatal(err)
	}
	if text, ok := log.await("differ in settings that must be the same"); !ok || !strings.Contains(text, `"part":"reclaim.grace"`) {
		t.Errorf("the log says %s", text)
	}
}

// An instance that runs while a newer one migrates the ledger beyond what it
// understands stops by itself with the reason.
func TestAnOutdatedInstanceStops(t *testing.T) {
	url := servers.Postgres(t)
	w := newWorld(t, shared(t, url, "cloud")...)
	conf, err := config.Load("", nil, append(w.settings, "data_dir="+w.dir)...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), conf, app.Options{Log: app.NewLogger(conf.Log, io.Discard, newLevel()), Clock: w.clock, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context()) }()
	<-a.Ready()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `INSERT INTO instances.migrations VALUES (9999, 'changes something', 0, 9999)`); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, sqlledger.ErrOutdated) {
		t.Errorf("it ended with %v, want %v", err, sqlledger.ErrOutdated)
	}
}

// What a killed instance had claimed is due again once its heartbeat is missing, and not only after
// the grace of its claims; those of an instance that lives go on.
func TestClaimsOfAKilledInstanceEnd(t *testing.T) {
	w := newWorld(t, shared(t, servers.Postgres(t), "cloud")...).start()
	db, ctx := w.app.Ledger, t.Context()
	subjects := []ledger.Subject{{ID: lethe.RandomID(w.clock.Now())}, {ID: lethe.RandomID(w.clock.Now())}}
	if _, err := db.QueuePlacements(ctx, subjects); err != nil {
		t.Fatal(err)
	}
	claim := func(instance string) ledger.Placements {
		t.Helper()
		p, err := db.ClaimPlacements(ctx, ledger.PlacementClaim{Worker: instance + "/0", Limit: 1, Lease: time.Hour})
		if err != nil || len(p.Items) != 1 {
			t.Fatalf("%s claimed %+v, %v", instance, p, err)
		}
		return p
	}
	killed, alive := claim("killed"), claim("alive")
	backend, given := status(w).Backends[0].ID, lethe.RandomID(w.clock.Now())
	_, err := db.Begin(ctx, ledger.Intent{ID: given, Backend: backend, Size: 1})
	if err = cmp.Or(err, db.Abandon(ctx, given, false)); err != nil {
		t.Fatal(err)
	}
	deletes, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "killed/0", Backend: backend})
	if err != nil || len(deletes.Blobs) != 1 {
		t.Fatalf("claimed %+v, %v", deletes, err)
	}
	beat := func(instance string) {
		t.Helper()
		if err := db.BeatInstance(ctx, instance, ledger.InstanceInfo{}); err != nil {
			t.Fatal(err)
		}
	}
	beat("killed")
	w.clock.Advance(31 * time.Second)
	beat("alive")
	ended := func(p ledger.Placements) error {
		return db.KeepPlacement(ctx, p.Items[0].ID, p.Fence, time.Hour)
	}
	for range 1200 { // it looks every two seconds
		if err = ended(killed); errors.Is(err, lethe.ErrFenced) {
			break
		}
		if err := lethe.Sleep(ctx, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, lethe.ErrFenced) {
		t.Errorf("the claim of the killed instance: %v", err)
	}
	if err := ended(alive); err != nil {
		t.Errorf("the claim of an instance that lives: %v", err)
	}
	contains(t, "the audit", w.ok("audit", "--contains", "claims_recovered"), "no heartbeat")
}
