package adopt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
)

// Deleter deletes objects of a bucket; a blob.Store is one.
type Deleter interface {
	Delete(ctx context.Context, keys []string) ([]blob.Result, error)
}

// Clean deletes the objects of unreferenced contents: mark, delete, confirm. It
// is the only place that deletes objects of records.
type Clean struct {
	Collection string
	Contents   Contents
	Bucket     Deleter
	Grace      Grace
	Batch      int         // contents per mark and delete
	Boot       lethe.Clock // never jumps, and counts while the machine sleeps
	Events     *Events

	search search
}

// search is where the next pass continues to look for unreferenced contents.
type search struct {
	mu    sync.Mutex
	after string
}

// A pass looks at this many contents at most, in this many steps, for some that
// lost their references by other programs: without counts each has to be looked
// up.
const (
	findMost  = 10 * defaultBatch
	findSteps = 100
)

// Name returns the routine's name in runs and metrics.
func (c *Clean) Name() string { return "clean " + c.Collection }

// Plan counts what is to be deleted.
func (c *Clean) Plan(ctx context.Context) (Backlog, error) { return c.Contents.Waiting(ctx) }

// Pass removes ended marks, continues the search for contents that lost their
// references by other programs, and then deletes batch by batch until nothing
// is due.
func (c *Clean) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	p := &cleaning{Clean: c}
	return p.step
}

// cleaning is a pass in progress.
type cleaning struct {
	*Clean
	unmarked bool
	looked   int // steps
	found    bool
}

func (p *cleaning) step(ctx context.Context, add func(string, int64)) (more bool, err error) {
	switch {
	case !p.unmarked:
		n, err := p.Contents.Unmark(ctx, p.Batch)
		add("unmarked", int64(n))
		p.unmarked = n < p.Batch
		return err == nil, err
	case !p.found:
		return p.find(ctx, add)
	}
	return p.batch(ctx, add)
}

func (p *cleaning) find(ctx context.Context, add func(string, int64)) (more bool, err error) {
	p.search.mu.Lock()
	after := p.search.after
	p.search.mu.Unlock()
	n, next, err := p.Contents.Find(ctx, after, p.Batch, p.Grace.Unreferenced)
	if err != nil {
		return false, err
	}
	add("found", int64(n))
	p.looked++
	p.found = next == "" || p.looked >= findSteps || p.looked*p.Batch >= findMost
	p.search.mu.Lock()
	p.search.after = next
	p.search.mu.Unlock()
	return true, nil
}

func (p *cleaning) batch(ctx context.Context, add func(string, int64)) (more bool, err error) {
	// Before the mark: the time until its response counts.
	began := p.Boot.Now()
	marked, err := p.Contents.Mark(ctx, MarkRequest{Limit: p.Batch, Late: p.Grace.Late})
	if err != nil {
		return false, err
	}
	add("kept", int64(marked.Kept))
	add("busy", int64(marked.Busy))
	add("held", int64(marked.Held))
	p.Events.drifted(p.Collection, marked.Drifted)
	p.Events.outside(p.Collection, marked.Outside)
	done := len(marked.Contents) + marked.Kept + marked.Busy + marked.Held
	if len(marked.Contents) == 0 {
		return done >= p.Batch, nil
	}
	gone, err := p.remove(ctx, began, marked, add)
	add("items", int64(gone))
	return done >= p.Batch, err
}

// remove deletes the objects of contents that a worker began to mark at began,
// and returns how many are gone.
func (c *Clean) remove(ctx context.Context, began lethe.Time, marked Marked, add func(string, int64)) (gone int, err error) {
	results, err := c.Bucket.Delete(inTime(ctx, c.Boot, began, c.Grace.sendWithin()), objects(marked.Contents))
	outcomes, why := outcomesOf(marked.Contents, results, err)
	confirmed, confirmErr := c.Contents.Confirm(context.WithoutCancel(ctx), marked.Fence, outcomes, c.Grace)
	add("objects", int64(confirmed.Gone))
	add("failed", int64(confirmed.Failed))
	add("lost", int64(confirmed.Lost))
	c.Events.failed(c.Collection, confirmed.Failed, why)
	c.Events.broken(c.Collection, confirmed.Broken)
	if err != nil {
		err = fmt.Errorf("delete %s of %s: %w", words.Plural(int64(len(marked.Contents)), "object", "objects"), c.Collection, err)
	}
	return confirmed.Gone, errors.Join(err, confirmErr)
}

// errTooLate reports that the mark may have been taken over, and the name
// reused.
var errTooLate = errors.New("too long after the check that nothing refers to them: a later run checks again")

// inTime lets nothing be sent once a worker's findings may be outdated: another
// one may have taken over the mark, or the name may be in use again.
func inTime(ctx context.Context, boot lethe.Clock, began lethe.Time, within time.Duration) context.Context {
	return blob.WithCheck(ctx, func() error {
		if boot.Now().Sub(began) >= within {
			return errTooLate
		}
		return nil
	})
}

func objects(contents []Condemned) []string {
	keys := make([]string, len(contents))
	for i, c := range contents {
		keys[i] = c.Object
	}
	return keys
}

// outcomesOf joins contents with the bucket's results. An object without a
// result may still exist.
func outcomesOf(contents []Condemned, results []blob.Result, err error) (out []Outcome, first string) {
	for i, objectErr := range blob.Outcomes(objects(contents), results, err) {
		o := Outcome{Content: contents[i].Content, Unseen: blob.Unknown(objectErr) || errors.Is(objectErr, blob.ErrLate), Again: contents[i].Again}
		if !blob.Gone(objectErr) {
			o.Failed = objectErr.Error()
		}
		if first == "" {
			first = o.Failed
		}
		out = append(out, o)
	}
	return out, first
}
