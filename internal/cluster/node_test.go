package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/internal/servers"
)

const (
	startTime   = time.Minute      // in which an instance has to serve
	stopTime    = 30 * time.Second // in which it has to end when asked to
	requestTime = 10 * time.Second // after which a client gives up
	logKept     = 15               // lines
	lineKept    = 400              // bytes
)

// node is an instance of lethe, which lives several times.
type node struct {
	*world
	name, dir, config string

	s3     atomic.Pointer[s3.Client] // of this life
	away   atomic.Bool               // killed or stopped: clients had better ask others
	cmd    *exec.Cmd
	died   chan struct{} // closed once the process is gone
	wanted atomic.Bool   // its end was

	mu   sync.Mutex
	log  []string
	file *os.File // all of the log, with -cluster.logs
}

// start runs the process and waits until it serves.
func (n *node) start(ctx context.Context) error {
	n.wanted.Store(false)
	n.cmd, n.died = exec.Command(binary, "serve", "--config", n.config), make(chan struct{})
	n.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	out, err := n.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := servers.Start(n.cmd); err != nil {
		return err
	}
	url := make(chan string, 1)
	go n.watch(out, url)
	limit := time.NewTimer(startTime)
	defer limit.Stop()
	select {
	case u := <-url:
		n.connect(u)
		return nil
	case <-n.died:
		return fmt.Errorf("%s ended instead of serving:\n%s", n.name, n.tail())
	case <-limit.C:
		return fmt.Errorf("%s did not serve within %s:\n%s", n.name, startTime, n.tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch reads the log of the process until its end.
func (n *node) watch(out io.Reader, url chan<- string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var told struct{ Msg, S3 string }
		if json.Unmarshal(lines.Bytes(), &told) == nil && told.Msg == "serving" {
			url <- told.S3
		}
		n.mu.Lock()
		if n.file != nil {
			_, _ = n.file.WriteString(lines.Text() + "\n") // for a person's eyes
		}
		n.log = append(n.log, lines.Text()[:min(len(lines.Text()), lineKept)])
		n.log = n.log[max(0, len(n.log)-logKept):]
		n.mu.Unlock()
	}
	// How it ended is in the state of the process.
	_ = n.cmd.Wait()
	if !n.wanted.Load() {
		n.world.t.Errorf("%s ended by itself (%s):\n%s", n.name, n.cmd.ProcessState, n.tail())
	}
	close(n.died)
}

func (n *node) connect(url string) {
	key := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
	n.s3.Store(s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &url, UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: requestTime},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil }),
	}))
	n.away.Store(false)
}

func (n *node) client() *s3.Client { return n.s3.Load() }

func (n *node) admin() *admin.Client {
	return &admin.Client{Base: "http://lethe", HTTP: admin.Unix(filepath.Join(n.dir, "data", "admin.sock"))}
}

// kill ends the process as kill -9 does.
func (n *node) kill() {
	n.wanted.Store(true)
	n.away.Store(true)
	_ = n.cmd.Process.Kill() // it may be dead already
	<-n.died
}

// freeze stops the process without ending it, until thaw.
func (n *node) freeze() error {
	n.away.Store(true)
	return n.cmd.Process.Signal(syscall.SIGSTOP)
}

func (n *node) thaw() error {
	n.away.Store(false)
	return n.cmd.Process.Signal(syscall.SIGCONT)
}

// stop asks the process to end, which it has to do well.
func (n *node) stop() error {
	n.wanted.Store(true)
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	limit := time.NewTimer(stopTime)
	defer limit.Stop()
	select {
	case <-n.died:
	case <-limit.C:
		n.kill()
		return fmt.Errorf("%s did not stop within %s:\n%s", n.name, stopTime, n.tail())
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s stopped with exit code %d:\n%s", n.name, code, n.tail())
	}
	return nil
}

func (n *node) tail() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.log, "\n")
}

// lethe runs a command of lethe with the configuration of the instance.
func (n *node) lethe(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, append(args, "--config", n.config)...).CombinedOutput()
	return string(out), err
}
