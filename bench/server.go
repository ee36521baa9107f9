package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Credentials of every server under test.
const (
	benchAccess = "benchaccess"
	benchSecret = "benchsecret1"
)

// Program is an S3 server that a bench can start.
type Program struct {
	Name string
	// Start answers its arguments and environment for a folder and an address.
	Command func(binary, dir, addr string) (args, env []string)
	Binary  string // path, or a name to be found in PATH
	// Metrics is the variable that says where it serves metrics; empty: it has none
	// that a bench reads.
	Metrics string
	// Flushes counts those of the program; nil: it runs by itself.
	Flushes *Flushes
}

// Lethe is "lethe serve", without flushes if asked (which is for benches only).
func Lethe(binary string, flush bool, env ...string) Program {
	name := "lethe"
	if flush {
		name = "lethe, durable"
	}
	return Program{Name: name, Binary: binary, Metrics: "LETHE_SERVER_METRICS_LISTEN", Command: func(_, dir, addr string) ([]string, []string) {
		return []string{"serve", "--data-dir", dir}, append([]string{
			"LETHE_ROOT_ACCESS_KEY=" + benchAccess, "LETHE_ROOT_SECRET=" + benchSecret,
			"LETHE_SERVER_S3_LISTEN=" + addr, "LETHE_SERVER_PASTE_LISTEN=off", "LETHE_SERVER_CONSOLE_LISTEN=off",
			"LETHE_STORE_FLUSH=" + strconv.FormatBool(flush), "LETHE_LOG_LEVEL=warn", "LETHE_STORE_INLINE=none",
		}, env...)
	}}
}

// Inline is a lethe that keeps contents of up to size bytes in its ledger.
func (p Program) Inline(size int) Program {
	p.Name += ", inline"
	return p.with("LETHE_STORE_INLINE=" + strconv.Itoa(size))
}

// with is the program with more in its environment.
func (p Program) with(more ...string) Program {
	command := p.Command
	p.Command = func(binary, dir, addr string) ([]string, []string) {
		args, env := command(binary, dir, addr)
		return args, append(env, more...)
	}
	return p
}

// Versitygw is versitygw's gateway to a directory, which never flushes: as it is by
// default, when it ends a connection after each request, or with its option to keep
// them. It writes no log of requests.
func Versitygw(binary string, keepAlive bool) Program {
	name, options := "versitygw", []string{"--quiet"}
	if keepAlive {
		name, options = "versitygw --keep-alive", append(options, "--keep-alive")
	}
	return Program{Name: name, Binary: binary, Command: func(_, dir, addr string) ([]string, []string) {
		args := append(slices.Clone(options), "--port", addr, "posix", filepath.Join(dir, "root"))
		return args, []string{"ROOT_ACCESS_KEY=" + benchAccess, "ROOT_SECRET_KEY=" + benchSecret}
	}}
}

// Minio is MinIO on one folder, which flushes what it writes.
func Minio(binary string) Program {
	return Program{Name: "MinIO", Binary: binary, Command: func(_, dir, addr string) ([]string, []string) {
		return []string{"server", "--quiet", "--address", addr, filepath.Join(dir, "root")}, []string{
			"MINIO_ROOT_USER=" + benchAccess, "MINIO_ROOT_PASSWORD=" + benchSecret, "MINIO_BROWSER=off", "MINIO_UPDATE=off",
		}
	}}
}

// Rclone is rclone's S3 server on a directory, which never flushes.
func Rclone(binary string) Program {
	return Program{Name: "rclone serve s3", Binary: binary, Command: func(_, dir, addr string) ([]string, []string) {
		return []string{"serve", "s3", "--addr", addr, "--auth-key", benchAccess + "," + benchSecret, filepath.Join(dir, "root")}, nil
	}}
}

// server is a program at work.
type server struct {
	*Target
	cmd     *exec.Cmd
	done    chan error
	log     string
	metrics string // where they are; empty: nowhere
	flushes *Flushes
}

// start runs the program on the folder, and waits until it answers.
func (p Program) start(ctx context.Context, dir string) (*server, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args, env := p.Command(p.Binary, dir, addr)
	metrics, err := p.listen(&env)
	if err != nil {
		return nil, err
	}
	args = p.Flushes.Command(append([]string{p.Binary}, args...)...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start %s: %w", p.Name, err)
	}
	s := &server{NewTarget("http://"+addr, benchAccess, benchSecret), cmd, make(chan error, 1), log.Name(), metrics, p.Flushes}
	go func() { s.done <- cmd.Wait() }()
	if err := s.answers(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %s: %w", p.Name, err), s.stop())
	}
	return s, nil
}

// listen has the program serve its metrics, if it does, and answers where.
func (p Program) listen(env *[]string) (url string, err error) {
	if p.Metrics == "" {
		return "", nil
	}
	addr, err := freeAddress()
	*env = append(*env, p.Metrics+"="+addr)
	return "http://" + addr + "/metrics", err
}

// answers waits until the server takes requests.
func (s *server) answers(ctx context.Context) error {
	for range 300 {
		_, err := s.Do(ctx, http.MethodGet, "/", nil)
		if err == nil {
			return nil
		}
		select {
		case err := <-s.done:
			s.done <- err
			text, _ := os.ReadFile(s.log)
			return fmt.Errorf("it ended: %w: %s", err, text)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("it does not answer")
}

// stop ends the program.
func (s *server) stop() error {
	s.Close()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("bench: the server did not end"), s.cmd.Process.Kill())
	}
}

// peak is the most memory that the server had at once, in bytes.
func (s *server) peak() int64 { return peakRSS(strconv.Itoa(s.cmd.Process.Pid)) }

// freeAddress is a local address that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
