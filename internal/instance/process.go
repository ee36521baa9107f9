// Package instance builds lethe and runs it as a process, for tests that kill
// and signal it.
package instance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/test/servers"
)

// StartTime is how long a process may take until it serves.
const StartTime = time.Minute

const (
	stopTime = 30 * time.Second // in which it has to end after a signal
	logKept  = 40               // lines
	lineKept = 400              // bytes
)

// Process is a lethe serve that writes its log as JSON.
type Process struct {
	URL string // of S3; empty if it died instead of serving

	cmd  *exec.Cmd
	died chan struct{}
	mu   sync.Mutex
	log  []string
}

// Start runs the command until it serves or is dead; line, unless nil, receives
// each line of its log. The process ends with that of the tests.
func Start(cmd *exec.Cmd, line func(string)) (*Process, error) {
	p := &Process{cmd: cmd, died: make(chan struct{})}
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := servers.Start(cmd); err != nil {
		return nil, err
	}
	url := make(chan string, 1)
	go p.watch(out, url, line)
	limit := time.NewTimer(StartTime)
	defer limit.Stop()
	select {
	case p.URL = <-url:
		return p, nil
	case <-p.died:
		return p, nil
	case <-limit.C:
		p.Kill()
		return nil, fmt.Errorf("it did not serve within %s:\n%s", StartTime, p.Tail())
	}
}

// watch reads the log of the process until its end.
func (p *Process) watch(out io.Reader, url chan<- string, line func(string)) {
	defer close(p.died)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		var told struct{ Msg, S3 string }
		if json.Unmarshal(lines.Bytes(), &told) == nil && told.Msg == "serving" {
			url <- told.S3
		}
		if line != nil {
			line(text)
		}
		p.mu.Lock()
		p.log = append(p.log, text[:min(len(text), lineKept)])
		p.log = p.log[max(0, len(p.log)-logKept):]
		p.mu.Unlock()
	}
	// The state of the process has how it ended.
	_ = p.cmd.Wait()
}

// Died is closed once the process is gone.
func (p *Process) Died() <-chan struct{} { return p.died }

// Dead reports whether the process is gone.
func (p *Process) Dead() bool {
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// State returns how the process ended, nil before.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be dead already
	<-p.died
}

// Stop signals the process to end, and returns an error unless it does so
// successfully.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	limit := time.NewTimer(stopTime)
	defer limit.Stop()
	select {
	case <-p.died:
	case <-limit.C:
		p.Kill()
		return fmt.Errorf("it did not stop within %s:\n%s", stopTime, p.Tail())
	}
	if code := p.State().ExitCode(); code != 0 {
		return fmt.Errorf("it stopped with exit code %d:\n%s", code, p.Tail())
	}
	return nil
}

// Tail returns the end of the log.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// Client returns a client of the process without retries, with a timeout.
func (p *Process) Client(key aws.Credentials, idle int, wait time.Duration) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &p.URL, UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}, Timeout: wait},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil }),
	})
}
