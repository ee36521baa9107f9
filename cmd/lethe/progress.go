package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// lineEvery is the interval of progress lines without a terminal.
const lineEvery = 10 * time.Second

// progress shows how far an operation has come: a bar with rate and time left
// on a terminal, an occasional line elsewhere.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil for lines
	total int64
	line  lethe.Time
	start lethe.Time
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, start: lethe.Monotonic{}.Now()}
	p.line = p.start
	if isTerminal(w) {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	return p
}

// show displays a report of progress.
func (p *progress) show(r *api.Progress) {
	total := max(r.Total, r.Done)
	if p.bar != nil {
		if total != p.total && total > 0 {
			p.total = total
			p.bar.ChangeMax64(total)
		}
		p.bar.Describe(shown(r.What))
		// The bar is optional: a failure to draw it is ignored.
		_ = p.bar.Set64(r.Done)
		return
	}
	now := lethe.Monotonic{}.Now()
	if now.Sub(p.line) < lineEvery {
		return
	}
	p.line = now
	took := now.Sub(p.start)
	rate := float64(r.Done) / took.Seconds()
	left := "unknown"
	if rate > 0 && total >= r.Done {
		left = words.Span(time.Duration(float64(total-r.Done) / rate * float64(time.Second)))
	}
	printf(p.w, "%s: %s of about %s, %.0f/s, %s left\n", r.What, words.Number(r.Done), words.Number(total), rate, left)
}

// clear removes the bar before other output.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done ends the display.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
