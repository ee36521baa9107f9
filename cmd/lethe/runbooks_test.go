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

// fresh lets cached values of scrapes expire.
func (w *world) fresh() { w.clock.Advance(10 * time.Second) }

// runbookCase is an alert whose state is provoked, and whose runbook is followed.
type runbookCase struct {
	alert    string
	settings []string
	services func(*world) []string // settings of the processes to start
	provoke  func(*world)
	again    func(*world) // repeats the fault four more times, for alerts on increases; nil if not needed
	mend     func(*world) // nil if nothing has to be done
	samples  int          // how long each moment lasts, as in course
	every    time.Duration
}

// blobFile returns the path of the only blob of a fresh store.
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

// Each alert fires on the metrics of a real server in its state, and stops once
// its runbook was followed. Those that need servers of their own are in
// TestDatabaseOutageAndRecovery, TestOneOfTwoBackendsFails, TestFullDisk and
// TestDiskVanishesWhileServing.
func TestRunbooks(t *testing.T) {
	for _, c := range slices.Concat(runbookCases(), doubtCases(), failureCases(), findingCases(), absenceCases(), slowCases()) {
		t.Run(c.alert, func(t *testing.T) { c.run(newWorld(t, c.settings...)) })
	}
}

func (c runbookCase) run(w *world) {
	w.stopwatch = clocktest.New()
	if c.services != nil {
		w.settings = append(w.settings, c.services(w)...)
	}
	w.start()
	out := scenario{alert: c.alert, well: w.scrape(), samples: c.samples, every: c.every}
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
