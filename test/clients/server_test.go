package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// server is a "lethe serve" process with a data folder of its own. Expiry and
// cleaning wait until they are asked for, so that a test sees bytes lie there,
// and then go.
type server struct {
	*testing.T
	home           string // of the clients
	data           string
	s3, paste      string // URLs
	access, secret string
	told           chan request // of the target of events

	mu  sync.Mutex
	log bytes.Buffer
}

const configuration = `
server:
  s3: {listen: "127.0.0.1:0"}
  paste: {listen: "127.0.0.1:0"}
  metrics: {listen: "off"}
  console: {listen: "off"}
  drain_timeout: 5s
reclaim:
  expire: {enabled: false}
  clean: {enabled: false}
  grace: {read_grace: 500ms}
`

// target has an address and a file.
const target = `
events:
  targets:
    - {name: app, url: "%s", secret_file: "%s", private: true}
`

// serve starts a server, and stops it when the test ends.
func serve(t *testing.T) *server {
	t.Helper()
	s := &server{T: t, home: t.TempDir()}
	s.data = filepath.Join(s.home, "data")
	s.must(os.WriteFile(s.path("app.secret"), []byte("0123456789abcdef\n"), 0o600))
	s.must(os.WriteFile(s.path("lethe.yaml"), fmt.Appendf(nil, configuration+target, s.receive(), s.path("app.secret")), 0o600))
	cmd := exec.Command(binary, "serve", "--config", s.path("lethe.yaml"), "--data-dir", s.data)
	cmd.Env, cmd.Stderr = environment(s.home), s
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	s.Cleanup(func() { s.stop(cmd) })
	found := make(chan [2]string, 1)
	go func() { found <- greeting(bufio.NewScanner(out)) }()
	select {
	case urls := <-found:
		s.s3, s.paste = urls[0], urls[1]
	case <-time.After(30 * time.Second):
	}
	if s.s3 == "" {
		s.Fatalf("lethe serve did not say where it is:\n%s", s.logged())
	}
	s.credentials()
	return s
}

// greeting reads the addresses out of what the server prints, and the rest too,
// so that it can print it.
func greeting(lines *bufio.Scanner) (urls [2]string) {
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 {
			continue
		}
		switch fields[0] {
		case "S3":
			urls[0] = fields[1]
		case "pastes":
			urls[1] = fields[1]
		case "secret":
			return urls
		}
		if urls[0] != "" && urls[1] != "" {
			go func() {
				for lines.Scan() {
				}
			}()
			return urls
		}
	}
	return urls
}

// credentials reads the root's key that the first start generated.
func (s *server) credentials() {
	s.Helper()
	path := filepath.Join(s.data, "credentials")
	info, err := os.Stat(path)
	s.must(err)
	if info.Mode().Perm() != 0o600 {
		s.Errorf("the credentials' mode is %v, want 0600", info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	s.must(err)
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*=\s*(\S+)$`).FindSubmatch(data)
		if m == nil {
			s.Fatalf("the credentials have no %s", name)
		}
		return string(m[1])
	}
	s.access, s.secret = value("aws_access_key_id"), value("aws_secret_access_key")
}

// stop ends the server as an operator does, and wants it to end well.
func (s *server) stop(cmd *exec.Cmd) {
	s.must(cmd.Process.Signal(syscall.SIGTERM))
	kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		s.Errorf("lethe serve did not end well: %v", err)
	}
	if s.Failed() {
		s.Logf("the end of lethe serve's log:\n%s", s.logged())
	}
}

// Write takes the server's log.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

// logged is the end of the server's log.
func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.SplitAfter(s.log.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

func (s *server) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// path is below the clients' home.
func (s *server) path(parts ...string) string {
	return filepath.Join(append([]string{s.home}, parts...)...)
}

// lethe runs a command of lethe against the server.
func (s *server) lethe(args ...string) string {
	s.Helper()
	args = append([]string{binary}, append(args, "--config", s.path("lethe.yaml"), "--data-dir", s.data)...)
	out, err := command{folder: s.home, env: environment(s.home), args: args}.run()
	if found := new(exec.ExitError); args[1] == "status" && errors.As(err, &found) && found.ExitCode() < 3 {
		err = nil // the code is the severity of what it found
	}
	s.must(err)
	return out
}

// status is what "lethe status --json" says.
func (s *server) status() api.Status {
	s.Helper()
	var st api.Status
	s.must(json.Unmarshal([]byte(s.lethe("status", "--json")), &st))
	return st
}

// explained is what "lethe explain --json" says of an object.
func (s *server) explained(key string) api.ObjectInfo {
	s.Helper()
	var e api.Explanation
	s.must(json.Unmarshal([]byte(s.lethe("explain", "s3://"+bucket+"/"+key, "--json")), &e))
	if e.Object == nil {
		s.Fatalf("%s: %s", key, e.Verdict)
	}
	return *e.Object
}

// backlog is the number of blobs that are on their way in or out, and of what
// the routines have to do now.
func backlog(st api.Status) (n int64) {
	for _, b := range st.Backends {
		for _, t := range b.States {
			if t.State != "live" {
				n += t.Blobs
			}
		}
	}
	for _, r := range st.Routines {
		n += r.Backlog.Due
	}
	return n
}

// reclaim runs the routines until there is nothing left to do: what one pass
// condemns is due when the read grace has passed.
func (s *server) reclaim() (st api.Status) {
	s.Helper()
	s.eventually("something is left to reclaim", func() bool {
		s.lethe("reclaim", "--once", "--yes")
		st = s.status()
		return backlog(st) == 0
	})
	return st
}

// eventually waits until something holds.
func (s *server) eventually(otherwise string, holds func() bool) {
	s.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if holds() {
			return
		}
		<-tick.C
	}
	s.Fatalf("after half a minute %s:\n%s", otherwise, s.lethe("status"))
}

// sound fails unless a check that reads every byte finds nothing.
func (s *server) sound() {
	s.Helper()
	if out := s.lethe("check", "--checksums"); !strings.Contains(out, "nothing is wrong") {
		s.Errorf("lethe check says: %s", out)
	}
}

// empty deletes nothing itself: it fails unless, after reclaiming, no object and
// no byte is left.
func (s *server) empty() {
	s.Helper()
	st := s.reclaim()
	s.sound()
	if files := s.files(); st.Objects != 0 || st.Bytes != 0 || len(files) != 0 {
		s.Errorf("left are %d objects, %d bytes and the files %q", st.Objects, st.Bytes, files)
	}
}

// blobFile is the name of a blob's file below the backend's folder.
var blobFile = regexp.MustCompile(`^[0-9a-v]{26}/[0-9a-v]{2}/[0-9a-v]{26}$`)

// files lists the blobs on the disk.
func (s *server) files() []string {
	s.Helper()
	root := filepath.Join(s.data, "blobs")
	var out []string
	s.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name, err := filepath.Rel(root, path); err == nil && blobFile.MatchString(filepath.ToSlash(name)) {
			out = append(out, path)
		}
		return nil
	}))
	return out
}

// onDisk says whether some file holds exactly these bytes.
func (s *server) onDisk(want []byte) bool {
	s.Helper()
	for _, path := range s.files() {
		got, err := os.ReadFile(path)
		s.must(err)
		if bytes.Equal(got, want) {
			return true
		}
	}
	return false
}
