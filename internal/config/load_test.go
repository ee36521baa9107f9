package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// Parse reads a file's content over the defaults, and does not validate.
func Parse(name string, data []byte) (*Config, error) {
	return decoded(yamlfile.New(name, data))
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("lethe.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal(t *testing.T, got, want *Config) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", printed(t, got), printed(t, want))
	}
}

func printed(t *testing.T, c *Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestZeroConfigWorks(t *testing.T) {
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, c, Default())
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n", "server:\n  s3:\n", "null"} {
		equal(t, mustParse(t, empty), Default())
	}
}

func TestInitIsTheDefaults(t *testing.T) {
	c := mustParse(t, Init())
	equal(t, c, Default())
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestPrintCanBeReadAgain(t *testing.T) {
	c := Default()
	c.Server.TrustedProxies = append(c.Server.TrustedProxies, network(t, "10.0.0.0/8"), network(t, "::1"))
	c.Server.RateLimit.RequestsPerSecond = 0.5
	c.Server.Domain = "s3.example.org"
	c.Backends = append(c.Backends, Backend{Name: "two: #", Kind: "dir", Path: "/a b", Quota: 5_000_000_001, S3: defaultS3()})
	c.Reclaim.Expire.Schedule = mustSchedule(schedule.Spec{Cron: "0 0 * * *", Zone: "UTC", Until: "06:00", Every: time.Minute})
	equal(t, mustParse(t, printed(t, c)), c)
}

func network(t *testing.T, s string) (n Network) {
	t.Helper()
	if err := n.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFileEnvironmentFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lethe.yaml")
	text := "data_dir: /from/file\ncache: {size: 1GiB, ttl: 1d12h}\nserver:\n  region: file-1\n  max_connections: 7\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"PATH=/bin", "LETHE_SERVER_REGION=env-1", "LETHE_CACHE_SIZE=2GiB", "LETHE_DATA_DIR=", "LETHE_PORT=tcp://10.0.0.1:1",
		"LETHE_SERVER_TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.1", "LETHE_ROOT_ACCESS_KEY=root", "LETHE_ROOT_SECRET=hunter22=x",
		"LETHE_RECLAIM_EXPIRE_SCHEDULE=cron 0 0 * * * until 06:00",
		"LETHE_BACKENDS=[{name: a, kind: dir, path: /a}, {name: b, kind: dir, path: /b, quota: 1TiB}]",
	}
	got, err := Load(path, environ, "cache.size=3GiB", "server.s3.public_url=https://x.example/?", "server.s3.public_url=")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.DataDir = "/from/file"
	want.Cache.Size, want.Cache.TTL = 3<<30, Duration(36*time.Hour)
	want.Server.Region, want.Server.MaxConnections = "env-1", 7
	want.Server.TrustedProxies = []Network{network(t, "10.0.0.0/8"), network(t, "192.0.2.1/32")}
	want.Root = Root{"root", NewSecret("hunter22=x")}
	want.Reclaim.Expire.Schedule = mustSchedule(schedule.Spec{Cron: "0 0 * * *", Until: "06:00"})
	want.Backends = []Backend{{"a", "dir", "/a", 0, 0, defaultS3(), DeleteRates{}}, {"b", "dir", "/b", 1 << 40, 0, defaultS3(), DeleteRates{}}}
	equal(t, got, want)
}

func TestEveryKeyHasItsVariable(t *testing.T) {
	c := Default()
	var environ []string
	for _, l := range c.leaves() {
		if l.path == "backends" || l.path == "events.targets" || l.path == "server.trusted_proxies" {
			continue
		}
		text := textOf(l.value)
		environ = append(environ, l.env()+"="+text)
		if err := c.Set(l.path, text); err != nil && text != "" {
			t.Error(err)
		}
	}
	if len(environ) < 80 {
		t.Errorf("only %d variables", len(environ))
	}
	equal(t, c, Default())
	if got, err := Load("", environ); err != nil {
		t.Error(err)
	} else {
		equal(t, got, Default())
	}
	if unknown := UnknownEnviron(environ); len(unknown) > 0 {
		t.Errorf("unknown: %v", unknown)
	}
}

func TestUnknownEnviron(t *testing.T) {
	got := UnknownEnviron([]string{"LETHE_CACHE_SIZ=1", "PATH=x", "LETHE_PORT_9000_TCP_ADDR=1", "LETHE_CACHE_SIZE=1", "LETHE_"})
	want := []string{"LETHE_", "LETHE_CACHE_SIZ (did you mean LETHE_CACHE_SIZE?)", "LETHE_PORT_9000_TCP_ADDR"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestLoadListsAllProblems(t *testing.T) {
	_, err := Load("", []string{"LETHE_CACHE_SIZE=64Mb!", "LETHE_SERVER_MAX_CONNECTIONS=many", "LETHE_BACKENDS=[{nam: a}]"},
		"cache.siz=1GiB", "nonsense", "paste.max_size=1GiB", "log.level=loud")
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("%v; want ErrInvalid", err)
	}
	for _, says := range []string{
		`LETHE_CACHE_SIZE: "64Mb!" is not a size; use`,
		`LETHE_SERVER_MAX_CONNECTIONS: "many" is not a whole number`,
		"LETHE_BACKENDS:1:3: backends[0].nam: there is no such key; did you mean name?",
		"cache.siz: there is no such key; did you mean cache.size?",
		"nonsense: is no setting; write key=value",
		"paste.max_size: is 1GiB; use 1B to 64MiB",
		`log.level: "loud" is not known; use debug`,
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error does not say %q:\n%v", says, err)
		}
	}
	if strings.Count(err.Error(), ErrInvalid.Error()) != 1 {
		t.Errorf("says more than once that it is invalid:\n%v", err)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "lethe config init") {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := Load(t.TempDir(), nil); err == nil || errors.Is(err, ErrInvalid) {
		t.Errorf("a folder as file: %v", err)
	}
}

func TestPaths(t *testing.T) {
	c := Default()
	c.DataDir = "/data"
	if got := c.InDataDir("blobs"); got != "/data/blobs" {
		t.Error(got)
	}
	if got := c.InDataDir("/mnt/blobs"); got != "/mnt/blobs" {
		t.Error(got)
	}
	for want, l := range map[string]Listener{
		"http://h:1":         {Listen: "h:1"},
		"https://h:1":        {Listen: "h:1", TLS: TLS{"c", "k"}},
		"https://x.org/base": {Listen: "h:1", PublicURL: "https://x.org/base/"},
		"":                   {Listen: "unix:a"},
	} {
		if got := l.URL(); got != want {
			t.Errorf("%+v: URL %q; want %q", l, got, want)
		}
	}
}

// Each value has where it comes from, and later sources win.
func TestSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lethe.yaml")
	text := "cache:\n  size: 1GiB\n  ttl: 2h\nreceipts: {keep: 1d}\nbackends:\n  - {name: one, kind: dir, path: a}\nroot: {access_key: someone, secret: a secret of somebody}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, from, err := LoadWithSources(path, []string{"LETHE_CACHE_TTL=3h", "LETHE_LOG_LEVEL="}, "receipts.keep=5d", "server.trusted_proxies=10.0.0.0/8,192.168.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	values, err := c.Values(from)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"cache.size": {"1GiB", path + ":2:9"}, "cache.ttl": {"3h", "the variable LETHE_CACHE_TTL"}, "receipts.keep": {"5d", "a flag"},
		"server.trusted_proxies": {"- 10.0.0.0/8\n- 192.168.0.0/16", "a flag"}, "cache.max_value": {"1MiB", ""}, "log.level": {"info", ""}, "root.access_key": {"someone", path + ":7:20"},
	}
	for _, v := range values {
		if strings.Contains(v.Text, "a secret of somebody") {
			t.Errorf("%s shows the secret", v.Path)
		}
		if w, ok := want[v.Path]; ok && (v.Text != w[0] || v.From != w[1]) {
			t.Errorf("%s is %q from %q, want %q", v.Path, v.Text, v.From, w)
		}
		if v.Path == "backends" && (!strings.Contains(v.Text, "name: one") || !strings.HasPrefix(v.From, path)) {
			t.Errorf("backends are %q from %q", v.Text, v.From)
		}
	}
}
