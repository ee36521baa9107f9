package twoledgers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/test/servers"
)

const aDay = 24 * time.Hour

// clocked makes a side and what puts the clock ahead by which its ledger goes: the
// machine's, or that of the machine of PostgreSQL.
func clocked(t *testing.T, on string) (s *side, ahead func(time.Duration)) {
	t.Helper()
	if on == "postgres" {
		cluster, ahead := servers.NewPostgresOnClock(t)
		return newSide(t, "process", newBucket(t), settings{database: cluster.Database()}), ahead
	}
	s = newSide(t, "process", newFolder(t), settings{})
	s.clock = filepath.Join(t.TempDir(), "ahead")
	return s, func(d time.Duration) {
		s.must(os.WriteFile(s.clock+".new", []byte(d.String()), 0o600))
		s.must(os.Rename(s.clock+".new", s.clock))
	}
}

// A clock that is set forward by a day ends nothing, be it while the process runs, while it is
// stopped, or when it crashes after that, and everybody is told. Set back, all goes on; to stop
// the process and start it confirms it.
func TestAClockSetForward(t *testing.T) {
	for _, on := range []string{"sqlite", "postgres"} {
		t.Run(on, func(t *testing.T) {
			besides(t)
			s, ahead := clocked(t, on)
			s.start("")
			s.makeBucket()
			s.put("kept", 0)
			s.put("ends", time.Hour)
			before := s.shelf.blobs()
			for _, how := range []func(){
				func() { ahead(aDay) },
				func() { s.restarted(func() { ahead(aDay) }) },
				func() { ahead(aDay); s.ahead(true); s.process.Kill(); s.start("") },
			} {
				how()
				s.ahead(true)
				s.refuses()
				s.whole("with a clock that is a day ahead")
				if n := s.shelf.missing(before); n > 0 {
					t.Errorf("%d blobs were deleted", n)
				}
				ahead(0)
				s.ahead(false)
			}
			ahead(aDay)
			s.ahead(true)
			s.restarted(func() {})
			s.ahead(false)
			s.ended("ends")
		})
	}
}

// refuses checks that nothing is removed for its age.
func (s *side) refuses() {
	s.Helper()
	_, err := s.admin.Reclaim(s.Context(), api.ReclaimRequest{Only: []string{"expire"}}, func(api.Event) {})
	if err == nil || !strings.Contains(err.Error(), "was set forward by 24h0m0") {
		s.Errorf("expire with a clock that is a day ahead: %v", err)
	}
}

// restarted does something while the process is stopped.
func (s *side) restarted(meanwhile func()) {
	s.Helper()
	s.must(s.process.Stop())
	meanwhile()
	s.start("")
}

var aheadLine = regexp.MustCompile(`(?m)^lethe_clock_ahead_seconds (\S+)$`)

// ahead waits until status and the metric of the alert LetheClockInDoubt say that the
// clock was set forward by a day, or that it was not.
func (s *side) ahead(is bool) {
	s.Helper()
	s.until(fmt.Sprintf("the clock was set forward: %t", is), func() error {
		if text := s.lethe("status"); strings.Contains(text, "clock was set forward by ") != is {
			return errors.New(text)
		}
		_, text := s.ask("/metrics")
		line := aheadLine.FindStringSubmatch(text)
		if line == nil {
			return errors.New("no metric")
		}
		seconds, err := strconv.ParseFloat(line[1], 64)
		s.must(err)
		if (seconds > (aDay - time.Hour).Seconds()) != is {
			return errors.New(line[0])
		}
		return nil
	})
}
