package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTime = time.Minute      // in which a server has to answer
	stopTime  = 20 * time.Second // in which it has to end when asked to
	pollTime  = 20 * time.Millisecond
)

// launch is how to start a server.
type launch struct {
	args    []string
	env     []string // beside the machine's
	folder  *folder
	end     syscall.Signal // asks it to end
	orphan  syscall.Signal // what it gets when the test process is gone
	answers func(context.Context) error
}

// process is a running server, or one that was ended and may run again.
type process struct {
	launch
	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has been waited for
	frozen bool
}

// start runs the program and waits until it answers.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return errors.New("servers: it is running already")
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	defer log.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Dir, p.cmd.Env = p.folder.path, append(environment(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes(p.folder.owner, p.orphan)
	if err := spawn(p.cmd); err != nil {
		return fmt.Errorf("servers: start %s: %w", filepath.Base(p.args[0]), err)
	}
	p.ended, p.frozen = make(chan struct{}), false
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}(p.cmd, p.ended)
	if err := p.await(); err != nil {
		p.end(syscall.SIGKILL)
		return err
	}
	return nil
}

// await waits until the server answers, or is gone.
func (p *process) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		err := p.answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("servers: %s ended instead of serving:\n%s", filepath.Base(p.args[0]), p.tail())
		case <-ctx.Done():
			return fmt.Errorf("servers: %s does not answer after %s: %w\n%s", filepath.Base(p.args[0]), startTime, err, p.tail())
		}
	}
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop ends the server in its own way, with kill -9 when it does not follow.
func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(p.launch.end)
}

// endWith stops the server after the test, and removes its folder.
func (p *process) endWith(t testing.TB) {
	t.Cleanup(func() {
		p.stop()
		p.folder.remove()
	})
}

// kill ends the server and its children as kill -9 does.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(syscall.SIGKILL)
}

func (p *process) end(with syscall.Signal) {
	if !p.running() {
		return
	}
	var children []int
	if with == syscall.SIGKILL {
		// One that starts a child between the list and the kill would leave it alive.
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		untilStill(func() []int { return []int{p.cmd.Process.Pid} })
		children = childrenOf(p.cmd.Process.Pid)
	}
	// A frozen process takes no other signal before it goes on. Errors say that
	// the process is gone, which is what is wanted.
	_ = p.cmd.Process.Signal(with)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	limit := time.NewTimer(stopTime)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// freeze stops the server without ending it, as SIGSTOP does, its children too, and
// waits until every thread stands still: on a busy machine others go on answering
// until the one that got the signal has run.
func (p *process) freeze() {
	p.signalAll(syscall.SIGSTOP)
	untilStill(func() []int {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.running() {
			return nil
		}
		return p.family()
	})
}

// untilStill waits until no thread of processes that were stopped can run.
func untilStill(processes func() []int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(stopTime); slices.ContainsFunc(processes(), moves); {
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}

// thaw lets it go on.
func (p *process) thaw() { p.signalAll(syscall.SIGCONT) }

func (p *process) signalAll(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return
	}
	for _, pid := range p.family() {
		_ = syscall.Kill(pid, sig) // one that has just ended needs no signal
	}
}

// family are the processes of the server.
func (p *process) family() []int {
	return append([]int{p.cmd.Process.Pid}, childrenOf(p.cmd.Process.Pid)...)
}

func (p *process) log() string { return filepath.Join(p.folder.path, "server.log") }

// tail is the end of the server's log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(text, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// environment is the machine's without what would lead a server astray.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		for _, prefix := range []string{"PG", "AWS_", "LETHE_", "MINIO_", "VGW_", "ROOT_", "LC_", "LANG"} {
			if len(pair) > len(prefix) && pair[:len(prefix)] == prefix {
				return true
			}
		}
		return false
	})
}

// Start starts a command that ends with this process, however that ends, and
// that an interrupt of the tests does not reach. The caller waits for it.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes(self(), syscall.SIGKILL)
	return spawn(cmd)
}
