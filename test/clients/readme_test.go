package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// A reader of a page types its commands, in one shell, and sees what it says.

// anyPorts are addresses of a server at which nobody else listens.
var anyPorts = []string{
	"LETHE_SERVER_S3_LISTEN=127.0.0.1:0", "LETHE_SERVER_PASTE_LISTEN=127.0.0.1:0", "LETHE_SERVER_METRICS_LISTEN=127.0.0.1:0", "LETHE_SERVER_CONSOLE_LISTEN=127.0.0.1:0",
}

// TestTwoCommands types the first of the two commands that are all it takes. The other one runs this test.
func TestTwoCommands(t *testing.T) {
	begin(t)
	sh := newShell(t)
	list := typedIn(t, "README.md")
	if len(list) != 2 || !strings.HasPrefix(list[1].line, "make test ") {
		t.Fatalf("README.md begins with %q", list)
	}
	command := strings.Replace(list[0].line, "go run ./cmd/lethe", binary, 1)
	if got := sh.serves(t, command, anyPorts...); !strings.HasPrefix(got, "Lethe is serving ./lethe-data\n") {
		t.Errorf("it says\n%s", got)
	}
}

// TestFirstFiveMinutes types the commands of the section with that name.
func TestFirstFiveMinutes(t *testing.T) {
	begin(t)
	for _, name := range []string{"aws", "curl"} {
		program(t, name)
	}
	sh := newShell(t)
	s3, paste := freePort(t), freePort(t)
	sh.ports = strings.NewReplacer("127.0.0.1:9000", s3, "127.0.0.1:9001", paste, "127.0.0.1:9002", "off")
	sh.names = strings.NewReplacer(s3, "127.0.0.1:9000", paste, "127.0.0.1:9001")
	for _, c := range typedIn(t, "README.md") {
		switch {
		case strings.HasPrefix(c.line, "go run ./cmd/lethe serve"):
			c.want = strings.Replace(c.want, "http://127.0.0.1:9002/metrics", "ANY", 1)
			shows(t, c, sh.serves(t, binary+" serve", "LETHE_SERVER_S3_LISTEN="+s3, "LETHE_SERVER_PASTE_LISTEN="+paste, anyPorts[2], anyPorts[3],
				"LETHE_RECLAIM_GRACE_HEARTBEAT=2s", "LETHE_RECLAIM_GRACE_READ_GRACE=2s"))
			continue
		case strings.HasPrefix(c.line, "go build ./cmd/lethe"):
			c.line = "cp " + binary + " lethe"
		}
		sh.types(t, c)
	}
}

// TestAdoptionInAFolder types the commands that adopt a database in a file and a folder.
func TestAdoptionInAFolder(t *testing.T) {
	begin(t)
	program(t, "sqlite3")
	sh := newShell(t)
	for _, c := range typedIn(t, "README.md") {
		sh.types(t, c)
	}
}

// expired is how many pastes of the application on the page have expired.
const expired = 1000

// TestAdoptionOfAnApplication types the commands that adopt a paste service, with the
// description that the page shows of it.
func TestAdoptionOfAnApplication(t *testing.T) {
	begin(t)
	database, redis, s3 := servers.Postgres(t), servers.NewRedis(t), servers.GoFakeS3(t)
	store, err := paste.Open(t.Context(), paste.Config{
		Database: database, Redis: "redis://" + redis.Addr, CacheFor: time.Minute,
		S3: paste.S3{Endpoint: s3.Endpoint, Region: s3.Region, Bucket: "app", Access: s3.Access, Secret: s3.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: expired, Shared: 0.3, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Create(t.Context(), []byte("kept"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, "DATABASE_URL="+database, "REDIS_URL=redis://"+redis.Addr, "AWS_ACCESS_KEY_ID="+s3.Access, "AWS_SECRET_ACCESS_KEY="+s3.Secret)
	sh.ports = strings.NewReplacer("https://s3.example.org", s3.Endpoint, "aX3fQ", kept.Code)
	sh.names = strings.NewReplacer(kept.Code, "aX3fQ")
	for _, b := range mine(t, "README.md") {
		if len(b.commands()) == 0 {
			describe(t, filepath.Join(sh.home, "adopt.yaml"), b)
		}
		for _, c := range b.commands() {
			sh.types(t, c)
		}
	}
}

// describe puts the collections of the page into a description that init has proposed.
func describe(t *testing.T, file string, b block) {
	t.Helper()
	proposed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(proposed), "\ncollections:\n")
	if !found {
		t.Fatalf("init proposed\n%s", proposed)
	}
	text := head + "\nredis: ${REDIS_URL}\n" + strings.Join(b.lines, "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAskingIt runs the commands of the table with that name, on a store that has what they name.
func TestAskingIt(t *testing.T) {
	begin(t)
	sh := newShell(t)
	sh.serves(t, binary+" serve", anyPorts...)
	sh.run(t, "s3() { aws --endpoint-url $(sed -n 's/^  S3 *//p' serve-1.out) s3 \"$@\"; }; export AWS_SHARED_CREDENTIALS_FILE=lethe-data/credentials AWS_REGION=us-east-1")
	sh.run(t, `s3 mb s3://bucket; echo bytes | s3 cp - s3://bucket/key --metadata ttl=1d; echo '{"Rules":[{"ID":"rule","Status":"Enabled","Filter":{"Prefix":"logs/"},"Expiration":{"Days":30}}]}' > rules.json`)
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "\n| question | command |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	commands := regexp.MustCompile("`(lethe [^`]+)`").FindAllStringSubmatch(table, -1)
	if len(commands) < 10 {
		t.Fatalf("the table has only the commands %q", commands)
	}
	for _, c := range commands {
		switch c[1] {
		case "lethe apply file":
			sh.run(t, "lethe lifecycle set bucket rules.json --plan file")
			c[1] += " --yes"
		case "lethe lifecycle disable bucket rule":
			sh.run(t, "lethe lifecycle set bucket rules.json --yes")
		}
		if got := sh.run(t, c[1]+" || echo code $?"); strings.Contains(got, "\ncode ") {
			t.Errorf("$ %s\n%s", c[1], got)
		}
	}
}

// shared replaces the services that a page names by some that run.
func (sh *shell) shared(t *testing.T, database, redis string, ports ...string) {
	t.Helper()
	s3 := servers.VersityGW(t)
	with := append(ports, "https://s3.example.org", s3.Endpoint, "bucket: lethe", "bucket: "+s3.Bucket(t), "access_key: ACCESS", "access_key: "+s3.Access,
		"/etc/lethe/s3-secret", "s3-secret", database, servers.Postgres(t))
	if redis != "" {
		with = append(with, redis, "redis://"+servers.NewRedis(t).Addr)
	}
	sh.ports = strings.NewReplacer(with...)
	if err := os.WriteFile(filepath.Join(sh.home, "s3-secret"), []byte(s3.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSeveralMachines types the commands that run several instances, on one machine.
func TestSeveralMachines(t *testing.T) {
	begin(t)
	sh := newShell(t)
	sh.shared(t, "postgres://lethe:secret@db.example.org/lethe", "")
	var s3 []string
	for _, c := range typedIn(t, "README.md") {
		if strings.HasPrefix(c.line, "lethe serve ") {
			at := freePort(t) // its own machine would have 9000
			s3 = append(s3, at, "127.0.0.1:9000")
			sh.names = strings.NewReplacer(s3...)
			sh.serves(t, c.line, "LETHE_SERVER_S3_LISTEN="+at, anyPorts[1], anyPorts[2], anyPorts[3])
			continue
		}
		sh.types(t, c)
	}
}

// TestScaling types the commands that run three instances over a database, a cache and an S3
// service, and stop one of them.
func TestScaling(t *testing.T) {
	begin(t)
	for _, name := range []string{"aws", "curl"} {
		program(t, name)
	}
	sh := newShell(t)
	s3, other, metrics := freePort(t), freePort(t), freePort(t)
	sh.shared(t, "postgres://lethe:secret@db.example.org/lethe?sslmode=verify-full", "redis://redis.example.org:6379/0",
		"127.0.0.1:9000", s3, "127.0.0.1:9010", other, "127.0.0.1:9012", metrics, "127.0.0.1:9022", "127.0.0.1:0")
	sh.names = strings.NewReplacer(s3, "127.0.0.1:9000", other, "127.0.0.1:9010")
	for _, c := range typedIn(t, "docs/scaling.md") {
		switch {
		case c.line == "cat lethe.yaml":
			if err := os.WriteFile(filepath.Join(sh.home, "lethe.yaml"), []byte(sh.ports.Replace(c.want)), 0o600); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(c.line, "lethe serve "):
			got := sh.serves(t, c.line, "LETHE_SERVER_S3_LISTEN="+s3, anyPorts[1], anyPorts[2], anyPorts[3]) // but for those that it sets
			if !strings.Contains(got, "Lethe is ") {
				t.Fatalf("$ %s\n%s", c.line, got)
			}
		default:
			sh.types(t, c)
		}
	}
}

// TestBuildCache types the commands that make a build cache, and what asks how it does.
func TestBuildCache(t *testing.T) {
	begin(t)
	for _, name := range []string{"aws", "curl", "bazel-remote"} {
		program(t, name)
	}
	sh := newShell(t)
	s3, cache := freePort(t), freePort(t)
	sh.ports = strings.NewReplacer("127.0.0.1:9000", s3, "127.0.0.1:8080", cache)
	for _, c := range typedIn(t, "docs/caching.md") {
		switch {
		case strings.HasPrefix(c.line, "lethe serve "):
			sh.serves(t, c.line, "LETHE_SERVER_S3_LISTEN="+s3, anyPorts[1], anyPorts[2], anyPorts[3])
		case strings.HasPrefix(c.line, "bazel-remote "):
			line := strings.TrimSuffix(strings.TrimPrefix(c.line, "bazel-remote"), "&")
			sh.run(t, program(t, "bazel-remote")+line+" --http_address "+cache+" --grpc_address none > bazel.log 2>&1 & until curl -s "+cache+"/status > /dev/null; do sleep 0.1; kill -0 $! || { cat bazel.log; break; }; done")
		default:
			sh.types(t, c)
		}
	}
}
