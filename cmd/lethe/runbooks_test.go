package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/clocktest"
)

// fresh lets what a scrape has asked grow old.
func (w *world) fresh() { w.clock.Advance(10 * time.Second) }

// trial is an alert whose state is provoked, and whose runbook is followed.
type trial struct {
	alert    string
	settings []string
	services func(*world) []string // settings of what has to be started
	provoke  func(*world)
	again    func(*world) // the same goes wrong four more times, for alerts about what rises; nil: no
	mend     func(*world) // nil: nothing has to be done
	samples  int          // that each moment lasts, as in course
	every    time.Duration
}

// blobFile is where the only blob of a fresh store lies.
func (w *world) blobFile() string {
	w.t.Helper()
	var found string
	err := filepath.WalkDir(filepath.Join(w.dir, "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "epoch") && !strings.HasPrefix(d.Name(), ".") {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		w.t.Fatalf("no blob was found: %v", err)
	}
	return found
}

func (w *world) one(ttl string) {
	w.bucket("first")
	w.put("first", "a", "bytes that matter", ttl)
}

// Each alert fires over what a real server exports in the state that it is about,
// and no more once its runbook was followed. Those that need servers of their own
// are tried where these are: TestTheDatabaseGoesAndComes, TestOneOfTwoServicesGoes,
// TestFullDisk and TestTheDiskGoesWhileServing.
func TestRunbooks(t *testing.T) {
	for _, c := range slices.Concat(trials(), doubts(), failures(), absences(), slowness()) {
		t.Run(c.alert, func(t *testing.T) { c.run(newWorld(t, c.settings...)) })
	}
}

func (c trial) run(w *world) {
	w.stopwatch = clocktest.New()
	if c.services != nil {
		w.settings = append(w.settings, c.services(w)...)
	}
	w.start()
	out := course{alert: c.alert, well: w.scrape(), samples: c.samples, every: c.every}
	look := func(do func(*world)) moment {
		w.fresh()
		do(w)
		w.fresh()
		return w.scrape()
	}
	out.bad = append(out.bad, look(c.provoke))
	for range 4 {
		if c.again != nil {
			out.bad = append(out.bad, look(c.again))
		}
	}
	if c.mend != nil {
		good := look(c.mend)
		out.good = &good
	}
	w.judge(out)
}
