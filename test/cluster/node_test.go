package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/instance"
)

const requestTime = 10 * time.Second // after which a client gives up

// node is an instance of lethe, which lives several times.
type node struct {
	*world
	name, dir, config string
	serves            bool // S3; others reclaim only

	s3      atomic.Pointer[s3.Client] // of this life
	away    atomic.Bool               // killed or stopped: clients had better ask others
	process *instance.Process
	wanted  *atomic.Bool // the end of this life was
	file    *os.File     // all of the log, with -cluster.logs
}

// start runs the process and waits until it serves.
func (n *node) start() error {
	cmd := exec.Command(binary, "serve", "--config", n.config)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	p, err := instance.Start(cmd, n.note)
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	if p.Dead() {
		return fmt.Errorf("%s ended instead of serving:\n%s", n.name, p.Tail())
	}
	n.process, n.wanted = p, &atomic.Bool{}
	go n.mourn(p, n.wanted)
	n.away.Store(false)
	if (p.URL != "") != n.serves {
		return fmt.Errorf("%s serves S3 at %q; should it: %t", n.name, p.URL, n.serves)
	}
	if n.serves {
		key := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
		n.s3.Store(p.Client(key, workers, requestTime))
	}
	return nil
}

// note counts requests to the S3 server that lethe gave up, and keeps a line of
// the log for a person's eyes.
func (n *node) note(line string) {
	if strings.Contains(line, "took too long") {
		n.counts.slow.Add(1)
	}
	if n.file != nil {
		_, _ = n.file.WriteString(line + "\n")
	}
}

// mourn complains of an end that nobody wanted.
func (n *node) mourn(p *instance.Process, wanted *atomic.Bool) {
	<-p.Died()
	if !wanted.Load() {
		n.world.t.Errorf("%s ended by itself (%s):\n%s", n.name, p.State(), p.Tail())
	}
}

func (n *node) client() *s3.Client { return n.s3.Load() }

func (n *node) admin() *api.Client {
	return &api.Client{Base: "http://lethe", HTTP: api.Unix(filepath.Join(n.dir, "data", "admin.sock"))}
}

// kill ends the process as kill -9 does.
func (n *node) kill() {
	n.wanted.Store(true)
	n.away.Store(true)
	n.process.Kill()
}

// freeze stops the process without ending it, until thaw.
func (n *node) freeze() error {
	n.away.Store(true)
	return n.process.Signal(syscall.SIGSTOP)
}

func (n *node) thaw() error {
	n.away.Store(false)
	return n.process.Signal(syscall.SIGCONT)
}

// stop asks the process to end, which it has to do well.
func (n *node) stop() error {
	n.wanted.Store(true)
	if err := n.process.Stop(); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

func (n *node) tail() string {
	if n.process == nil {
		return ""
	}
	return n.process.Tail()
}

// lethe runs a command of lethe with the configuration of the instance.
func (n *node) lethe(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, append(args, "--config", n.config)...).CombinedOutput()
	return string(out), err
}
