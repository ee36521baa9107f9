package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/instance"
)

// settings make everything happen on demand, and soon.
var settings = []string{
	"server.s3.listen=127.0.0.1:0", "server.paste.listen=off", "server.metrics.listen=off", "server.console.listen=off", "server.drain_timeout=5s",
	"store.inline=none", "store.memory_body=64KiB", "store.min_part_size=1KiB", "log.format=json", "log.level=info",
	"reclaim.expire.schedule=every 1h", "reclaim.clean.schedule=every 1h", "reclaim.reap.schedule=every 1h",
	"reclaim.multipart.schedule=every 1h", "reclaim.purge.schedule=every 1h", "reclaim.watch.schedule=every 1h",
	"reclaim.verify.enabled=false",
	"reclaim.grace.min_age=1m", "reclaim.grace.late_window=20ms", "reclaim.grace.read_grace=1ms", "reclaim.grace.moved_grace=1ms",
	"reclaim.grace.claim_grace=1ms", "reclaim.grace.multipart_stale=1h", "reclaim.grace.heartbeat=200ms",
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
	*instance.Process
	s3    *s3.Client // nil: it died instead of serving
	admin *api.Client

	reached atomic.Value // the failpoint that killed it
}

// start runs a server on the folder, with a failpoint if one is named, and waits
// until it serves or is dead.
func (f *folder) start(ctx context.Context, point string, sets ...string) (*server, error) {
	args := append(slices.Clone(f.under), binary, "serve", "--data-dir", f.dir)
	for _, s := range slices.Concat(settings, sets) {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LETHE_FAILPOINT="+point)
	s := &server{}
	s.reached.Store("")
	begun := now()
	var err error
	if s.Process, err = instance.Start(cmd, s.read); err != nil || s.Dead() {
		return s, err
	}
	f.took = now().Sub(begun)
	return s, s.connect(f.dir)
}

// read looks for the failpoint in a line of the log.
func (s *server) read(line string) {
	if point, ok := strings.CutPrefix(line, "failpoint "); ok {
		s.reached.Store(strings.TrimSuffix(point, " reached"))
	}
}

// connect makes the clients, with the root key of the folder.
func (s *server) connect(dir string) error {
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
	s.s3 = s.Client(key, 4, time.Minute)
	s.admin = &api.Client{Base: "http://lethe", HTTP: api.Unix(filepath.Join(dir, "admin.sock"))}
	return nil
}

// diedAt answers the point at which the process died, an error if it died in any
// other way than by kill -9.
func (s *server) diedAt() (string, error) {
	<-s.Died()
	point := s.reached.Load().(string)
	status, ok := s.State().Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return point, fmt.Errorf("the server ended by itself (%s):\n%s", s.State(), s.Tail())
	}
	return point, nil
}

// check runs lethe check on the folder, which has to find nothing.
func (f *folder) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, binary, "check", "--checksums", "--data-dir", f.dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing is wrong") {
		return errors.Join(fmt.Errorf("lethe check: %s", out), err)
	}
	return nil
}
