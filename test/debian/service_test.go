//go:build linux

package debian_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

// secret is the root key's, as an administrator sets it.
const secret = "only-for-this-test"

// service is a unit in a root, started as systemd would start it.
type service struct {
	r   root
	set map[string]string // of its section Service
}

// newService reads the unit.
func newService(r root, name string) service {
	r.t.Helper()
	s := service{r, map[string]string{}}
	for line := range strings.Lines(r.run("cat", "/usr/lib/systemd/system/"+name)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			s.set[key] = value
		}
	}
	return s
}

// serves starts the service with ports of its own and a root key, stores an object, and
// stops it.
func (s service) serves() {
	s.r.t.Helper()
	s3, paste, metrics, console := s.address(), s.address(), s.address(), s.address()
	s.r.write("/etc/lethe/environment", fmt.Sprintf(`# Ports that are free.
LETHE_SERVER_S3_LISTEN=%s
LETHE_SERVER_PASTE_LISTEN=%s
LETHE_SERVER_METRICS_LISTEN=%s
LETHE_SERVER_CONSOLE_LISTEN=%s
LETHE_ROOT_ACCESS_KEY=admin
LETHE_ROOT_SECRET=%s
`, s3, paste, metrics, console, secret))
	if out, err := s.r.as(s.set["User"], "cat", "/etc/lethe/environment").CombinedOutput(); err == nil {
		s.r.t.Errorf("the service's user reads the secrets: %s", out)
	}
	// As StateDirectory= has it.
	s.r.run("install", "-d", "-m", s.set["StateDirectoryMode"], "-o", s.set["User"], "-g", s.set["Group"], "/var/lib/"+s.set["StateDirectory"])

	cmd := s.r.as(s.set["User"], strings.Fields(s.set["ExecStart"])...)
	cmd.Env = append(cmd.Env, s.environment()...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		s.r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.ready("http://"+metrics+"/readyz", ended, &said)

	s.curl("-X", "PUT", "http://"+s3+"/photos")
	s.curl("-X", "PUT", "--data-binary", "a photo", "http://"+s3+"/photos/one")
	if got := s.curl("http://" + s3 + "/photos/one"); got != "a photo" {
		s.r.t.Errorf("read %q", got)
	}
	// Commands beside the service, by root.
	if got := s.r.run("lethe", "status", "--config", "/etc/lethe/lethe.yaml", "--data-dir", "/var/lib/lethe"); !strings.Contains(got, "main") {
		s.r.t.Errorf("status does not know the backend:\n%s", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.r.t.Fatal(err)
	}
	if err := <-ended; err != nil {
		s.r.t.Errorf("it ended with %v\n%s", err, said.String())
	}
}

// environment is what the unit's EnvironmentFile says, which systemd reads as root.
func (s service) environment() (out []string) {
	for line := range strings.Lines(s.r.run("cat", strings.TrimPrefix(s.set["EnvironmentFile"], "-"))) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// ready waits until the address answers with success.
func (s service) ready(url string, ended chan error, said *bytes.Buffer) {
	s.r.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		if s.r.command("curl", "-fsS", "--noproxy", "*", url).Run() == nil {
			return
		}
		select {
		case <-tick.C:
		case err := <-ended:
			s.r.t.Fatalf("it ended with %v\n%s", err, said.String())
		case <-deadline:
			s.r.t.Fatalf("%s does not become ready", s.set["ExecStart"])
		}
	}
}

// curl asks as the root key, and returns the answer.
func (s service) curl(args ...string) string {
	s.r.t.Helper()
	return s.r.run(append([]string{"curl", "-fsS", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3",
		"--user", "admin:" + secret, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"}, args...)...)
}

// address is a free one on this machine.
func (s service) address() string {
	s.r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.r.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
