package adoption

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// Moments at which a deleted topic is restored.
const (
	marked    = "restored right after a run saw it marked"
	oldMarker = "restored while its marker is old and its record young"
	oldRecord = "restored while its record is old and its marker young"
	purged    = "restored right before its purge"
)

var moments = []string{marked, oldMarker, oldRecord, purged}

// deleted is a topic that is restored once, with all its files.
type deleted struct {
	sequence string
	files    []string
	moment   string
	since    lethe.Time // the row is deleted; not later than that
	unmarked lethe.Time // when the folder was not marked yet
	known    bool       // it was on record
}

const onlyTopic = "t"

func (d *deleted) folder() string { return d.sequence + "/topics/" + onlyTopic }

func (d *deleted) key(file string) string { return "sequences/" + d.folder() + "/" + file }

// restorer deletes topics, and restores each at the worst moment of a run.
type restorer struct {
	*recorder
	passed chan struct{} // a run has ended

	mu     sync.Mutex
	made   int
	topics map[string]*deleted // to be restored, by their folders
}

func newRestorer(r *recorder) *restorer {
	return &restorer{recorder: r, passed: make(chan struct{}, 1), topics: map[string]*deleted{}}
}

// restorable is how long after a folder was not marked yet its topic is restored:
// times of markers are whole seconds, so that one seems a second older.
const restorable = (undoable - time.Second) * 9 / 10

// atOnce is how many topics wait for each moment.
const atOnce = 6

// run deletes topics for each moment, and more after each run.
func (w *restorer) run(ctx context.Context) {
	for {
		for _, d := range w.next() {
			w.delete(ctx, d)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.passed:
		}
	}
}

// next returns the topics that are to be deleted now.
func (w *restorer) next() (out []*deleted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := map[string]int{}
	for _, d := range w.topics {
		waiting[d.moment]++
	}
	for _, moment := range moments {
		for range atOnce - waiting[moment] {
			w.made++
			out = append(out, &deleted{sequence: fmt.Sprint("worst", w.made), moment: moment})
		}
	}
	return out
}

// delete makes a topic of an old recording, and deletes it.
func (w *restorer) delete(ctx context.Context, d *deleted) {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	if w.store.Record(ctx, d.sequence, onlyTopic, []byte("data")) != nil {
		return
	}
	var err error
	if d.files, err = w.files(ctx, d.sequence, onlyTopic); err != nil {
		return
	}
	for _, file := range d.files {
		if err := w.backdate(d.key(file), time.Hour); err != nil {
			w.t.Error(err)
		}
	}
	marker := d.key(adopt.Marker)
	if d.moment == oldMarker && w.put(ctx, marker, time.Hour/2) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d.since = lethe.SystemClock{}.Now()
	d.unmarked = d.since
	if w.store.Delete(ctx, d.sequence, "") == nil {
		w.topics[d.folder()] = d
	} else if _, err := w.s3.DeleteObject(context.WithoutCancel(ctx), &s3.DeleteObjectInput{Bucket: &w.bucket, Key: &marker}); err != nil {
		w.t.Error(err) // nothing else removes it from a live topic
	}
}

// watch lets the restorer know of the runs of an instance.
func (w *restorer) watch(ctx context.Context, a *Adoption) {
	w.t.Helper()
	f, err := a.Folders(ctx, "topics")
	if err != nil {
		w.t.Fatal(err)
	}
	seen := &watchedFolders{FolderRows: f.Rows, w: w}
	f.Rows = seen
	replace(w.t, a, "topics", watchedRoutine{f, seen.ended})
}

// replace lets an instance run a routine instead of the one with its name.
func replace(t *testing.T, a *Adoption, collection string, by adoptRoutine) {
	t.Helper()
	for i, s := range a.Loop.Routines {
		if s.Routine.Name() == by.Name() {
			a.Loop.Routines[i].Routine = borrow(collection, by)
			return
		}
	}
	t.Fatalf("there is no routine %q", by.Name())
}

// watchedRoutine is a routine whose passes are known to have ended, or failed.
type watchedRoutine struct {
	adoptRoutine
	ended func(ctx context.Context, err error)
}

// Pass implements adoptRoutine.
func (r watchedRoutine) Pass(worker string) reclaim.Step {
	step := r.adoptRoutine.Pass(worker)
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		more, err := step(ctx, add)
		if !more || err != nil {
			r.ended(ctx, err)
		}
		return more, err
	}
}

// watchedFolders are the rows that one instance reads and records.
type watchedFolders struct {
	adopt.FolderRows
	w     *restorer
	view  map[string]adopt.FolderState // as the run saw it last
	again []*deleted                   // restored in this run
}

// Look implements adopt.FolderMarks. Records of some markers are old.
func (f *watchedFolders) Look(ctx context.Context) (adopt.FolderView, error) {
	f.w.age(ctx)
	began := lethe.SystemClock{}.Now()
	v, err := f.FolderRows.Look(ctx)
	if f.view = nil; err != nil {
		return v, err
	}
	f.view = map[string]adopt.FolderState{}
	for _, k := range v.Known {
		f.view[k.Name] = k.State
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	for folder, d := range f.w.topics {
		state := f.view[folder]
		if d.known = d.known || state != 0; d.since < began && state < adopt.FolderMarking && (state != 0 || !d.known) {
			d.unmarked = began
		}
	}
	return v, nil
}

// age lets the database's clock have jumped since some markers were recorded.
func (w *restorer) age(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for folder, d := range w.topics {
		if d.moment == oldRecord {
			_, _ = w.db.ExecContext(ctx, `UPDATE lethe.folders SET marked_at = 1 WHERE name = $1 AND state = 3`, folder)
		}
	}
}

// Proceed implements adopt.FolderPurges. The row is committed before the check.
func (f *watchedFolders) Proceed(ctx context.Context, k adopt.KnownFolder, floor int64) (adopt.Verdict, error) {
	f.w.mu.Lock()
	d := f.w.topics[k.Name]
	due := d != nil && d.moment == purged && k.State == adopt.FolderMarked
	f.w.mu.Unlock()
	if due && f.w.restoreMarked(ctx, d) {
		f.again = append(f.again, d)
	}
	return f.FolderRows.Proceed(ctx, k, floor)
}

// restoreMarked restores a topic unless a purge of its folder has begun, in a
// run that was taken over.
func (w *restorer) restoreMarked(ctx context.Context, d *deleted) bool {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	err := w.restore(ctx, d.sequence, onlyTopic, d.files, func(tx *sql.Tx) error {
		var name string
		return tx.QueryRowContext(ctx, `SELECT name FROM lethe.folders WHERE name = $1 AND state = 3 FOR UPDATE`, d.folder()).Scan(&name)
	})
	return w.done(d, purged, err)
}

// done removes a topic from those to be restored.
func (w *restorer) done(d *deleted, moment string, err error) bool {
	w.mu.Lock()
	delete(w.topics, d.folder())
	w.mu.Unlock()
	if err == nil {
		w.count(moment, 1)
	}
	return err == nil
}

// ended restores topics whose folders a whole run saw marked, or whose records
// are gone, within the time in which that is promised.
func (f *watchedFolders) ended(ctx context.Context, err error) {
	w := f.w
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestOperation)
	defer cancel()
	w.mu.Lock()
	var due []*deleted
	for folder, d := range w.topics {
		if err != nil || f.view == nil {
			break
		}
		now, state := lethe.SystemClock{}.Now(), f.view[folder]
		switch {
		case state == 0 && (d.moment == purged && d.known || now.Sub(d.since) > 5*undoable): // by another worker
			delete(w.topics, folder)
		case d.moment == purged:
		case now.Sub(d.unmarked) > restorable:
			d.moment = purged // too late for its own
		case state >= adopt.FolderMarked || state == 0 && d.known:
			due = append(due, d)
		}
	}
	w.mu.Unlock()
	for _, d := range due {
		if w.restoreSoon(ctx, d) {
			f.again = append(f.again, d)
		}
	}
	for _, d := range f.again {
		w.complete(ctx, d)
	}
	f.again, f.view = nil, nil
	select {
	case w.passed <- struct{}{}:
	default:
	}
}

// restoreSoon restores a topic while its retention cannot be over.
func (w *restorer) restoreSoon(ctx context.Context, d *deleted) bool {
	ctx, cancel := context.WithTimeout(ctx, restorable-lethe.SystemClock{}.Now().Sub(d.unmarked))
	defer cancel()
	return w.done(d, d.moment, w.restore(ctx, d.sequence, onlyTopic, d.files))
}

// complete checks that a restored topic has all its files.
func (w *restorer) complete(ctx context.Context, d *deleted) {
	for _, file := range d.files {
		if exists, known := w.exists(ctx, d.key(file)); known && !exists {
			w.t.Errorf("%s was %s, and %s is gone", d.folder(), d.moment, file)
		}
	}
}
