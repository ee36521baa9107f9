package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/linearizable"
	"github.com/lethe-storage/lethe/test/servers"
)

const (
	bucket = "things" // of the clients
	// storageTime is how long an instance waits for the S3 server.
	storageTime = 3 * time.Second

	accessKey = "clusterroot"
	secretKey = "clustersecret"
)

// world is everything that is at work.
type world struct {
	t        *testing.T
	postgres *servers.PostgresServer
	database string // URL
	pooled   string // URL through a pooler in transaction mode
	redis    *servers.RedisServer
	storage  *servers.S3Server
	shelf    string // the bucket of the backend
	answers  *answers
	network  *servers.Faults // before answers, before storage
	nodes    []*node
	clients  []*client // the last one is the seeder
	counts   counts
	contest  *linearizable.Contest
	chance   *rand.Rand // of faults

	// Only of a soak, which has rounds, and two copies of each content.
	round  int
	begun  lethe.Time // the round
	attic  string     // the bucket of a second backend
	rotten map[string]bool
	ruled  ruled
}

// counts tell what happened.
type counts struct {
	expiring, seeded, done, unknown, refused, read, missed atomic.Int64
	ranges, copies, held, rotten                           atomic.Int64
	slow                                                   atomic.Int64 // lines of logs on requests to the S3 server that took too long
	faults                                                 []string
}

func (c *counts) String() string {
	return fmt.Sprintf("%d objects put that expire, and %d copies made of them; of all writes %d acknowledged, %d unknown, %d refused; %d reads, %d without an answer; %d ranges, %d copies, %d holds, %d copies of contents made to rot; %d times an instance reported that the S3 server took too long; %d faults, the last ones: %s",
		c.expiring.Load(), c.seeded.Load(), c.done.Load(), c.unknown.Load(), c.refused.Load(), c.read.Load(), c.missed.Load(),
		c.ranges.Load(), c.copies.Load(), c.held.Load(), c.rotten.Load(), c.slow.Load(), len(c.faults), strings.Join(c.faults[max(0, len(c.faults)-40):], ", "))
}

// enough reports whether as many objects were made as were asked for in each round,
// and a fifth of them by puts; in a soak whether the round has lasted long enough.
func (w *world) enough() bool {
	if *soaks > 0 {
		return now().Sub(w.begun) >= roundTime
	}
	put, want := w.counts.expiring.Load(), int64(*objects)
	return put >= want/5 && put+w.counts.seeded.Load() >= want
}

// newWorld starts the servers and writes the configurations.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, postgres: servers.NewPostgres(t, "log_min_messages=fatal"), redis: servers.NewRedis(t), storage: servers.NewVersityGW(t),
		contest: linearizable.NewContest(rivalKeys), chance: rand.New(rand.NewPCG(*seed, workers)), rotten: map[string]bool{}, ruled: ruled{kept: map[string]bool{}},
	}
	for i := range workers + 1 {
		w.clients = append(w.clients, newClient(w, i, rand.New(rand.NewPCG(*seed, uint64(i)))))
	}
	w.database = w.postgres.Database()
	w.pooled = servers.PgBouncer(t, w.database)
	w.shelf = w.storage.Bucket(t)
	if *soaks > 0 {
		w.attic = w.storage.Bucket(t)
	}
	w.answers = newAnswers(w.storage.Endpoint)
	front := httptest.NewServer(w.answers)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	w.network = servers.Proxy(t, front.Listener.Addr().String())
	w.nodes = []*node{
		w.newNode("node1", role{does: "serve", database: w.database}),
		w.newNode("node2", role{does: "reclaim", database: w.database, lock: true}),
		w.newNode("node3", role{does: "serve, reclaim", database: w.pooled}),
	}
	return w
}

// role is what an instance is there for.
type role struct {
	does     string
	database string
	lock     bool // it takes the lock in Redis around its claims
}

// serving are the instances that answer clients.
func (w *world) serving() []*node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return !n.serves })
}

// configuration makes everything happen soon. The grace periods are shorter than
// the faults, so that claims and intents go stale while their owner is away.
var configuration = template.Must(template.New("lethe.yaml").Parse(`
data_dir: {{.Folder}}
roles: [{{.Roles}}]
root: {access_key: {{.Access}}, secret: {{.Secret}}}
database: {url: "{{.Database}}", connections: 24, engine_connections: 8}
redis: {url: "redis://{{.Redis}}", lock: {{.Lock}}}
server:
  s3: {listen: "127.0.0.1:0"}
  paste: {listen: "off"}
  metrics: {listen: "off"}
  console: {listen: "off"}
  drain_timeout: 5s
store: {min_part_size: 1KiB, memory_body: 64KiB, inline: {{.Inline}}}
cache: {size: 4MiB}
backends:
{{- range $name, $bucket := .Buckets}}
  - name: {{$name}}
    kind: s3
    s3:
      endpoint: "http://{{$.Backend}}"
      bucket: {{$bucket}}
      timeout: {{$.Timeout}}
      access_key: {{$.S3.Access}}
      secret_key: {{$.S3.Secret}}
{{- end}}
placement: {replicas: {{len .Buckets}}}
reclaim:
  replicate: {schedule: "every 500ms"}
  lifecycle: {schedule: "every 2s"}
  expire: {schedule: "every 500ms"}
  clean: {schedule: "every 500ms", workers: 2}
  reap: {schedule: "every 2s"}
  multipart: {schedule: "every 2s"}
  purge: {schedule: "every 2s"}
  watch: {schedule: "every 2s"}
  verify: {enabled: false}
  grace: {heartbeat: 1s, min_age: 6s, late_window: 3s, read_grace: 500ms, moved_grace: 500ms, claim_grace: 4s, multipart_stale: 6s, backoff_min: 500ms, backoff_max: 5s}
log: {format: json, level: info}
`))

// inlines are up to which size the instances keep contents in the ledger: each has another.
var inlines = []string{"none", "4KiB", "64KiB"}

// buckets are those of the backends, by their names.
func (w *world) buckets() map[string]string {
	all := map[string]string{"shelf": w.shelf}
	if w.attic != "" {
		all["attic"] = w.attic
	}
	return all
}

// newNode writes the configuration of an instance.
func (w *world) newNode(name string, r role) *node {
	w.t.Helper()
	n := &node{world: w, name: name, dir: filepath.Join(w.t.TempDir(), name), serves: strings.Contains(r.does, "serve")}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	n.config = filepath.Join(n.dir, "lethe.yaml")
	f, err := os.OpenFile(n.config, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = configuration.Execute(f, map[string]any{
			"Folder": filepath.Join(n.dir, "data"), "Access": accessKey, "Secret": secretKey, "Database": r.database, "Lock": r.lock,
			"Inline": inlines[int(name[len(name)-1])%len(inlines)], "Roles": r.does, "Timeout": storageTime, "Redis": w.redis.Addr, "Backend": w.network.Addr, "Buckets": w.buckets(), "S3": w.storage.S3,
		})
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil && *logs != "" {
		n.file, err = os.Create(filepath.Join(*logs, name+".log"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// start starts all instances at once, and makes the clients' bucket.
func (w *world) start(ctx context.Context) error {
	errs := make(chan error)
	for _, n := range w.nodes {
		go func() { errs <- n.start() }()
	}
	var failed error
	for range w.nodes {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	w.t.Cleanup(func() {
		for _, n := range w.nodes {
			n.kill()
		}
	})
	for _, name := range []string{bucket, rivalry, ruledBucket} {
		if _, err := w.nodes[0].client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
			return err
		}
	}
	return nil
}

// stop asks all instances to end, which they have to do well.
func (w *world) stop(context.Context) error {
	for _, n := range w.nodes {
		if err := n.stop(); err != nil {
			return err
		}
	}
	return nil
}

// tails are the ends of the logs.
func (w *world) tails() string {
	var b strings.Builder
	for _, n := range w.nodes {
		fmt.Fprintf(&b, "%s:\n%s\n", n.name, n.tail())
	}
	return b.String()
}
