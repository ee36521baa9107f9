//go:build linux

package compose_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// image is what a service starts with.
type image struct {
	own        bool     // it has nothing of the machine's own programs
	user       string   // id:id; empty: root
	env        []string // name=value
	entrypoint []string
	cmd        []string
	files      map[string]string // place in it: file here
	data       string            // the owner of volumes that are made
}

// standIns are Debian's programs in the place of images, set up as those do it.
var standIns = map[string]image{
	"haproxy": {cmd: []string{"haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"}},
	"postgres": {
		data: "postgres:postgres",
		entrypoint: []string{"setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "sh", "-euc", `
			if ! [ -s "$PGDATA/PG_VERSION" ]; then
				initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS
				echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
				echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -j postgres
			fi
			exec "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp`, "entrypoint"},
		env: []string{"PGDATA=/var/lib/postgresql/data", "PGHOST=/tmp"},
	},
	"valkey/valkey": {
		files: map[string]string{"/usr/local/bin/valkey-server": program("redis-server")},
		// The image answers other hosts.
		entrypoint: []string{"sh", "-euc", `exec "$@" --protected-mode no`, "entrypoint"},
	},
	"versity/versitygw": {files: map[string]string{"/usr/local/bin/versitygw": program("versitygw")}},
	"amazon/aws-cli":    {entrypoint: []string{"aws"}},
}

func program(name string) string {
	path, _ := exec.LookPath(name) // a mount of nothing fails, and says of what
	return path
}

// imageOf is the image of a service: the Dockerfile's if it is built.
func imageOf(t *testing.T, s service, dir string) image {
	t.Helper()
	if s.Build != nil {
		return built(t, dir)
	}
	name, _, _ := strings.Cut(s.Image, ":")
	i, known := standIns[name]
	if !known {
		t.Fatalf("nothing stands in for the image %s", s.Image)
	}
	return i
}

// built does what the Dockerfile says: it builds the program as its first stage
// does, and reads how its last stage starts it.
func built(t *testing.T, dir string) image {
	t.Helper()
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	i := image{own: true, files: map[string]string{"/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"}}
	lines := strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n")
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "RUN" && strings.Contains(rest, "go build"):
			i.files["/usr/local/bin/lethe"] = filepath.Join(dir, "out/lethe")
			build(t, rest, dir)
		case word == "ENV":
			i.env = append(i.env, strings.Fields(rest)...)
		case word == "USER":
			i.user = rest
		case word == "COPY" && strings.HasSuffix(rest, " /data"):
			owner, _, _ := strings.Cut(strings.TrimPrefix(rest[strings.Index(rest, "--chown="):], "--chown="), " ")
			i.data = owner
		case word == "ENTRYPOINT":
			decode(t, rest, &i.entrypoint)
		case word == "CMD":
			decode(t, rest, &i.cmd)
		}
	}
	return i
}

// build runs the Dockerfile's command in this repository; what it would leave below
// /out is left in dir.
func build(t *testing.T, command, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "out/lethe")); err == nil {
		return // another service has the same image
	}
	cmd := exec.Command("sh", "-euc", strings.ReplaceAll(command, "/out", filepath.Join(dir, "out")))
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "VERSION=composed")
	succeeds(t, cmd)
}

func decode(t *testing.T, text string, into *[]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("the Dockerfile says %s: %v", text, err)
	}
}
