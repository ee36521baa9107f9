package crash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin"
)

const (
	startTime = time.Minute      // in which a server has to serve
	stopTime  = 20 * time.Second // in which it has to end when asked to
	logKept   = 40               // lines
)

// settings make everything happen on demand, and soon.
var settings = []string{
	"server.s3.listen=127.0.0.1:0", "server.paste.listen=off", "server.metrics.listen=off", "server.drain_timeout=5s",
	"store.memory_body=64KiB", "store.min_part_size=1KiB", "log.format=json", "log.level=info",
	"reclaim.expire.schedule=every 1h", "reclaim.clean.schedule=every 1h", "reclaim.reap.schedule=every 1h",
	"reclaim.multipart.schedule=every 1h", "reclaim.purge.schedule=every 1h", "reclaim.watch.schedule=every 1h",
	"reclaim.verify.enabled=false",
	"reclaim.grace.min_age=1m", "reclaim.grace.late_window=20ms", "reclaim.grace.read_grace=1ms",
	"reclaim.grace.claim_grace=1ms", "reclaim.grace.multipart_stale=1h",
	"reclaim.grace.backoff_min=1ms", "reclaim.grace.backoff_max=10ms",
}

// impatient takes whatever was left, however young.
var impatient = []string{"reclaim.grace.min_age=1us", "reclaim.grace.multipart_stale=1us"}

// often lets the engine work by itself.
var often = []string{
	"reclaim.expire.schedule=every 20ms", "reclaim.clean.schedule=every 20ms", "reclaim.reap.schedule=every 20ms",
	"reclaim.multipart.schedule=every 20ms", "reclaim.purge.schedule=every 20ms", "reclaim.watch.schedule=every 50ms",
	"reclaim.grace.min_age=10s",
}

// server is a lethe serve at work on a folder.
type server struct {
	cmd   *exec.Cmd
	died  chan struct{} // closed once the process is gone
	s3    *s3.Client
	admin *admin.Client

	mu      sync.Mutex
	log     []string
	reached string // the failpoint that killed it
}

// start runs a server on the folder, with a failpoint if one is named, and waits
// until it serves or is dead.
func (f *folder) start(ctx context.Context, point string, sets ...string) (*server, error) {
	args := append(slices.Clone(f.under), binary, "serve", "--data-dir", f.dir)
	for _, s := range slices.Concat(settings, sets) {
		args = append(args, "--set", s)
	}
	s := &server{cmd: exec.CommandContext(ctx, args[0], args[1:]...), died: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "LETHE_FAILPOINT="+point)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	begun := now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	url := make(chan string, 1)
	go s.watch(out, url)
	limit := time.NewTimer(startTime)
	defer limit.Stop()
	select {
	case u := <-url:
		f.took = now().Sub(begun)
		return s, s.connect(f.dir, u)
	case <-s.died:
		return s, nil
	case <-limit.C:
		s.kill()
		return nil, fmt.Errorf("a server did not serve within %s:\n%s", startTime, s.tail())
	}
}

// watch reads the log of the process until its end.
func (s *server) watch(out io.Reader, url chan<- string) {
	defer close(s.died)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		var told struct{ Msg, S3 string }
		if json.Unmarshal([]byte(line), &told) == nil && told.Msg == "serving" {
			url <- told.S3
		}
		s.mu.Lock()
		if point, ok := strings.CutPrefix(line, "failpoint "); ok {
			s.reached = strings.TrimSuffix(point, " reached")
		}
		s.log = append(s.log, line)
		s.log = s.log[max(0, len(s.log)-logKept):]
		s.mu.Unlock()
	}
	// How it ended is in the state of the process.
	_ = s.cmd.Wait()
}

// connect makes the clients, with the root key of the folder.
func (s *server) connect(dir, url string) error {
	text, err := os.ReadFile(filepath.Join(dir, "credentials"))
	if err != nil {
		return err
	}
	key := aws.Credentials{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch name {
		case "aws_access_key_id":
			key.AccessKeyID = value
		case "aws_secret_access_key":
			key.SecretAccessKey = value
		}
	}
	s.s3 = s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &url, UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, Timeout: time.Minute},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return key, nil
		}),
	})
	s.admin = &admin.Client{Base: "http://lethe", HTTP: admin.Unix(filepath.Join(dir, "admin.sock"))}
	return nil
}

// dead says whether the process is gone.
func (s *server) dead() bool {
	select {
	case <-s.died:
		return true
	default:
		return false
	}
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may be dead already
	<-s.died
}

// stop asks the process to end, which it has to do well.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	limit := time.NewTimer(stopTime)
	defer limit.Stop()
	select {
	case <-s.died:
	case <-limit.C:
		s.kill()
		return fmt.Errorf("the server did not stop within %s", stopTime)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server stopped with exit code %d:\n%s", code, s.tail())
	}
	return nil
}

// diedAt answers the point at which the process died, an error if it died in any
// other way than by kill -9.
func (s *server) diedAt() (string, error) {
	<-s.died
	s.mu.Lock()
	point := s.reached
	s.mu.Unlock()
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return point, fmt.Errorf("the server ended by itself (%s):\n%s", s.cmd.ProcessState, s.tail())
	}
	return point, nil
}

func (s *server) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n")
}

// check runs lethe check on the folder, which has to find nothing.
func (f *folder) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, binary, "check", "--checksums", "--data-dir", f.dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing is wrong") {
		return errors.Join(fmt.Errorf("lethe check: %s", out), err)
	}
	return nil
}
