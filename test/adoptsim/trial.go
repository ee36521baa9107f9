package adoptsim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// Order is how an application writes.
type Order string

// Orders.
const (
	UploadFirst Order = "upload, row"
	RowFirst    Order = "row, upload"
	UploadTwice Order = "upload, row, upload"
)

// Protection is what keeps a name that is used again from the delete of its object.
type Protection string

// Protections.
const (
	Nothing   Protection = "none"
	GraceOnly Protection = "grace period"
	AgeCheck  Protection = "age check" // of the object, right before the delete
	Guard     Protection = "guard"
	MoveAway  Protection = "quarantine"
)

// Loss is what a trial ended with.
type Loss struct {
	// Lost: bytes that were uploaded for a row were gone for good when it was removed,
	// or in the end.
	Lost int
	// Orphans are objects that no row of a content names.
	Orphans int
}

// leftAlone is the grace period of a content, and the age of an object: more than the
// application's longest write.
const leftAlone = 2 * 5 * time.Minute

// trial is an application that writes in an order, under a protection.
type trial struct {
	*world
	order Order
	by    Protection
	rows  map[string]*written
	loss  Loss
}

// written is a row, and whether the application has uploaded its bytes.
type written struct {
	content memadopt.Content
	whole   bool
}

// Try runs one schedule of an application under a protection, and tells what that cost
// it. An error says that the run itself went wrong.
func Try(seed uint64, order Order, by Protection) (Loss, error) {
	w := newWorld(Config{Seed: seed})
	t := &trial{world: w, order: order, by: by, rows: map[string]*written{}}
	if by == MoveAway {
		w.cfg.Site = Quarantined
	}
	w.grace, w.kind = adopt.DefaultGrace, kind{faults: 10 + w.rng.Uint64N(80)}
	if w.grace.Unreferenced = 0; by == GraceOnly {
		w.grace.Unreferenced = leftAlone
	}
	w.db = memadopt.New(memadopt.Options{Clock: w, Grace: w.grace, Quarantine: by == MoveAway, Unguarded: by != Guard})
	w.oracle, w.keeper = newOracle(w), newKeeper(w, w.db, w, nil, nil)
	w.site = t
	for range 2 {
		w.enter("worker", t.clean)
	}
	for range 3 {
		w.enter("app", t.serve)
	}
	w.enter("racer", t.race)
	err := w.play().Err
	return t.loss, err
}

// holds demands nothing: what is lost is counted.
func (t *trial) holds(string) error { return nil }

func (t *trial) routines() []routine {
	var q *adopt.Quarantine
	rows := tables{t.world, t.db}
	clean := &adopt.Clean{Collection: "pastes", Contents: rows, Bucket: adopt.Within{Prefix: prefix, Store: t.objects()}, Grace: t.grace, Batch: batch, Boot: t}
	switch t.by {
	case AgeCheck:
		clean.Bucket = adopt.Within{Prefix: prefix, Store: aged{t.objects()}}
	case MoveAway:
		q = t.quarantine(nil)
		clean.Bucket = q
		return []routine{clean, clean, q}
	}
	return []routine{clean}
}

func (t *trial) clean(a *actor) {
	routines := t.routines()
	for {
		a.pass(routines[a.rng.IntN(len(routines))])
		a.sleep(a.between(0, time.Minute))
	}
}

// aged is a bucket of which only what is old is deleted, as a cleaner does that knows
// objects by their age.
type aged struct{ bucket }

func (b aged) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	var old []string
	out := make([]blob.Result, len(keys))
	for i, key := range keys {
		out[i].Key = key
		info, err := b.w.objs.Stat(ctx, prefix+key)
		if err == nil && b.w.now.Sub(info.ModTime) < leftAlone {
			out[i].Err = fmt.Errorf("sim: %s is young: %w", key, blob.ErrNotDone)
			continue
		}
		old = append(old, key)
	}
	if len(old) == 0 {
		return out, nil
	}
	results, err := b.bucket.Delete(ctx, old)
	answers := map[string]blob.Result{}
	for _, r := range results {
		answers[r.Key] = r
	}
	for i, key := range keys {
		switch r, ok := answers[key]; {
		case ok:
			out[i] = r
		case out[i].Err == nil:
			out[i].Err = fmt.Errorf("sim: %s: %w", key, blob.ErrUnknown)
		}
	}
	return out, err
}

// serve is an instance of the application.
func (t *trial) serve(a *actor) {
	for range 10 + a.rng.IntN(10) {
		if a.one(2) {
			t.write(a, a.content())
		} else {
			t.remove(a)
		}
		a.sleep(a.between(0, time.Minute))
		if a.one(4) {
			a.sleep(a.between(0, 40*time.Minute))
		}
	}
}

// race is one that writes a content right before a delete of it takes effect.
func (t *trial) race(a *actor) {
	a.racer = true
	for {
		name, at := t.deleteAhead()
		if name == "" {
			a.sleepUntil(func() bool { name, _ := t.deleteAhead(); return name != "" }, time.Hour)
			continue
		}
		a.sleepTo(at)
		t.write(a, memadopt.Content{Key: name, Object: prefix + name})
		a.ahead = false
		a.sleep(a.between(0, 10*time.Second))
	}
}

// write writes a row and its object. All begins anew where the guard refuses the row.
func (t *trial) write(a *actor, c memadopt.Content) {
	key := a.paste()
	for range 4 {
		began := t.now
		if t.order != RowFirst {
			if _, err := a.upload(c); err != nil {
				return
			}
			t.pause(a, c, began)
		}
		row, err := t.commit(key, c, began)
		if errors.Is(err, memadopt.ErrRefused) {
			a.sleep(a.between(time.Second, t.grace.Late))
			continue
		}
		if err != nil || t.order == UploadFirst {
			return
		}
		t.pause(a, c, t.now)
		if _, err := a.upload(c); err == nil {
			row.whole = true
		}
		return
	}
}

// pause lets time pass between two writes. Whoever uploads last races with its upload, and
// not with its row.
func (t *trial) pause(a *actor, c memadopt.Content, began lethe.Time) {
	if a.racer && t.order != UploadFirst {
		return
	}
	a.ahead = false
	a.dawdle(c, began)
}

// commit inserts or changes a row, within the longest write.
func (t *trial) commit(key string, c memadopt.Content, began lethe.Time) (*written, error) {
	return write(t.world, "commit", key+" "+c.Key, func() (*written, error) {
		if t.now.Sub(began) >= t.grace.LongestWrite {
			return nil, errGaveUp
		}
		err := t.db.Create(key, c, 0)
		if errors.Is(err, memadopt.ErrTaken) {
			if err = t.db.Replace(key, c); err == nil {
				t.gone(key)
			}
		}
		if err != nil {
			return nil, err
		}
		t.rows[key] = &written{c, t.order == UploadFirst}
		return t.rows[key], nil
	})
}

func (t *trial) remove(a *actor) {
	key := a.paste()
	_, _ = write(t.world, "remove", key, func() (struct{}, error) {
		err := t.db.Delete(key)
		if err == nil {
			t.gone(key)
		}
		return struct{}{}, err
	})
}

// gone looks a last time at a row.
func (t *trial) gone(key string) {
	r := t.rows[key]
	delete(t.rows, key)
	if data, ok := t.objs.Bytes(r.content.Object); r.whole && (!ok || string(data) != r.content.Key) && !t.oracle.inQuarantine(r.content) {
		t.note("LOST %s of %s", r.content.Key, key)
		t.loss.Lost++
	}
}

// end lets all that is late land, removes what nothing refers to, and counts.
func (t *trial) end() {
	t.quiet = true
	t.advance(t.now.Add(t.grace.Late + time.Hour))
	routines := t.routines()
	for range rounds {
		for _, r := range routines {
			if err := t.pass(r, "end"); err != nil {
				t.fail(fmt.Errorf("a pass of %s failed in the quiet end: %w", r.Name(), err))
				return
			}
		}
		t.advance(t.now.Add(time.Hour))
	}
	s := t.db.Snapshot()
	named := map[string]bool{}
	for _, c := range s.Contents {
		named[c.Object] = true
	}
	for _, key := range t.objs.Keys() {
		if !named[strings.TrimPrefix(key, kept)] {
			t.loss.Orphans++
		}
	}
	for _, r := range s.Rows {
		t.gone(r.Key)
	}
}
