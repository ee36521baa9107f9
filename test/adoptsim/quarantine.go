package adoptsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// kept stands before the keys of objects in the keys of their copies.
const kept = "kept/"

// retention is how long copies are kept: longer than from an upload to its commit, and
// than until no delete can take effect any more.
func (w *world) retention() time.Duration { return w.grace.LongestWrite + 2*w.grace.Late }

var copyFaults = []Fault{notDone, undone, doneError, late, lateCrash, lastMoment, short, crashBefore, crashAfter, stall, stall}

// quarantine is what a worker moves objects with.
func (w *world) quarantine(events *adopt.Events) *adopt.Quarantine {
	return &adopt.Quarantine{
		Collection: "pastes", Prefix: prefix, Into: kept, Rows: moves{w, w.db.Quarantine()}, Grace: w.grace, Retention: w.retention(),
		Objects: shelf{w.objects(), prefix}, Copies: shelf{w.objects(), kept}, Batch: batch, Boot: w, Events: events,
	}
}

// moves is the record of the quarantine as workers see it.
type moves struct {
	w  *world
	db memadopt.Quarantine
}

// behind are the steps at which a worker stands still, in some worlds, until something
// happens behind its back.
const behind = " begin-move copy-back confirm "

// until lets the present actor stand still until something holds, in those worlds, if it may
// come about. What it returns ends that.
func (w *world) until(may bool, holds func() bool) func() {
	a := w.cur
	if a == nil || w.kind.focus.steps != behind || !may {
		return func() {}
	}
	a.moment = holds
	return func() { a.moment = nil }
}

// comesBack reports whether nothing refers to a content whose object a worker takes for gone,
// and that is in its place, or on the way there.
func (w *world) comesBack(o adopt.Outcome) bool {
	c, known := w.known(o.Content)
	_, there := w.objs.Bytes(prefix + o.Content)
	return o.Failed == "" && known && c.Count == 0 && (there || w.restoring(c.Object))
}

// restoring reports whether an object is being copied back.
func (w *world) restoring(object string) bool {
	return slices.ContainsFunc(w.db.Snapshot().Moved, func(q memadopt.Quarantined) bool {
		return q.Key == object && q.State == adopt.Restoring && q.Due > w.now
	})
}

// known returns the row of a content.
func (w *world) known(content string) (memadopt.Content, bool) {
	for _, c := range w.db.Snapshot().Contents {
		if c.Key == content {
			return c, true
		}
	}
	return memadopt.Content{}, false
}

func (m moves) Begin(ctx context.Context, found []adopt.FoundObject, late time.Duration) (adopt.Begun, error) {
	absent := func(f adopt.FoundObject) bool { return f.Absent }
	defer m.w.until(slices.ContainsFunc(found, absent), func() bool {
		return slices.ContainsFunc(found, func(f adopt.FoundObject) bool {
			_, there := m.w.objs.Bytes(f.Key)
			return f.Absent && there && !m.w.restoring(f.Key)
		})
	})()
	return write(m.w, "begin-move", fmt.Sprint(found), func() (adopt.Begun, error) { return m.db.Begin(ctx, found, late) })
}

func (m moves) Moved(ctx context.Context, fence int64, keys []string, g adopt.Terms) ([]string, error) {
	return write(m.w, "moved", fmt.Sprint(fence, keys), func() ([]string, error) { return m.db.Moved(ctx, fence, keys, g) })
}

func (m moves) Page(ctx context.Context, after string, limit int) (adopt.QuarantinePage, error) {
	return read(m.w, "held", after, func() (adopt.QuarantinePage, error) { return m.db.Page(ctx, after, limit) })
}

func (m moves) Claim(ctx context.Context, c adopt.ClaimRequest) (fence int64, keys []string, err error) {
	keys, err = write(m.w, "claim-held", fmt.Sprint(c.For, c.Keys), func() (claimed []string, err error) {
		fence, claimed, err = m.db.Claim(ctx, c)
		return claimed, err
	})
	return fence, keys, err
}

func (m moves) End(ctx context.Context, fence int64, keys []string, how adopt.QuarantineOutcome) ([]string, error) {
	return write(m.w, "end-held", fmt.Sprint(fence, how, keys), func() ([]string, error) { return m.db.End(ctx, fence, keys, how) })
}

func (m moves) Uploading(ctx context.Context, u adopt.Upload) (bool, error) {
	return write(m.w, "uploading", fmt.Sprint(u), func() (bool, error) { return m.db.Uploading(ctx, u) })
}

func (m moves) Unfinished(ctx context.Context, after adopt.Upload, limit int) ([]adopt.Upload, error) {
	return m.db.Unfinished(ctx, after, limit)
}

func (m moves) Aborted(ctx context.Context, u adopt.Upload) error {
	_, err := write(m.w, "aborted", fmt.Sprint(u), func() (struct{}, error) { return struct{}{}, m.db.Aborted(ctx, u) })
	return err
}

func (m moves) Want(ctx context.Context, key string) (bool, error) { return m.db.Want(ctx, key) }

func (m moves) Found(ctx context.Context, copies []adopt.FoundObject, g adopt.Terms, anyway bool) (int, error) {
	return write(m.w, "found-copies", fmt.Sprint(copies), func() (int, error) { return m.db.Found(ctx, copies, g, anyway) })
}

func (m moves) InQuarantine(ctx context.Context) (adopt.Backlog, error) {
	return m.db.InQuarantine(ctx)
}

// shelf is the bucket below a prefix. What was sent takes effect within Late, or never.
type shelf struct {
	bucket
	at string
}

var _ adopt.CopyStore = shelf{}

func (s shelf) StatForeign(_ context.Context, key string) (blob.ForeignInfo, error) {
	if s.w.arrive("stat", s.at+key, readFaults) == notDone {
		return blob.ForeignInfo{}, fmt.Errorf("sim: stat: %w", blob.ErrDown)
	}
	data, ok := s.w.objs.Bytes(s.at + key)
	if !ok {
		return blob.ForeignInfo{}, fmt.Errorf("sim: stat %s: %w", key, blob.ErrNotExist)
	}
	return blob.ForeignInfo{
		Info: blob.Info{Key: key, Size: int64(len(data)), ModTime: s.w.now}, Tag: fmt.Sprint(s.w.oracle.put[s.at+key]), MD5: string(data),
	}, nil
}

func (s shelf) OpenForeign(context.Context, blob.ForeignInfo) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}

// CopyForeign copies as a service does that looks at conditions when it copies. A broken
// one, with short, keeps the half of it for the whole.
func (s shelf) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	source, w := from.(shelf), s.w
	faults := copyFaults
	if s.at == prefix {
		faults = without(faults, short)
	}
	step := "copy"
	if s.at == prefix {
		step = "copy-back"
		again := w.counts["copied to "+prefix]%2 == 0 // once its object is looked for again
		defer w.until(true, func() bool {
			_, known := w.known(key)
			return !known && (!again || w.mark(key) == memadopt.Condemned)
		})()
	}
	fault := w.arrive(step, s.at+key, faults)
	if a := w.cur; fault == lastMoment {
		a.onTime = true
		a.sleep(w.grace.Late/3 - time.Second)
		a.onTime = false
	}
	if err := blob.Check(ctx); err != nil {
		return fmt.Errorf("sim: copy: %w: %w", err, blob.ErrNotDone)
	}
	half := fault == short
	apply := func() error { return s.copied(source.at+seen.Key, seen.Tag, key, fresh, half) }
	unknown := fmt.Errorf("sim: copy: %w", blob.ErrUnknown)
	switch fault {
	case notDone:
		return fmt.Errorf("sim: copy: %w: %w", blob.ErrDown, blob.ErrNotDone)
	case undone:
		return unknown
	case late, lateCrash, lastMoment:
		w.later("copy", []string{s.at + key}, w.grace.Late, func() { _ = apply() })
		if fault != late {
			w.cur.dies()
		}
		return unknown
	}
	err := apply()
	switch fault {
	case crashAfter:
		w.cur.dies()
	case doneError:
		return unknown
	}
	return err
}

// copied is the effect of a copy.
func (s shelf) copied(source, tag, key string, fresh, half bool) error {
	w, name := s.w, s.at+key
	data, ok := w.objs.Bytes(source)
	old, there := w.objs.Bytes(name)
	switch {
	case !ok:
		return fmt.Errorf("sim: copy %s: %w: %w", source, blob.ErrNotExist, blob.ErrNotDone)
	case fmt.Sprint(w.oracle.put[source]) != tag:
		return fmt.Errorf("sim: copy %s: %w: %w", source, blob.ErrChanged, blob.ErrNotDone)
	case there && fresh:
		return fmt.Errorf("sim: copy to %s: %w", name, blob.ErrExist)
	case there && s.at == prefix:
		w.fail(fmt.Errorf("%s was overwritten by its copy; it held %q", name, old))
	}
	if half {
		data = data[:len(data)/2]
	}
	w.objs.Set(name, data)
	w.oracle.put[name] = w.oracle.put[source]
	w.counts["copied to "+s.at]++
	w.check("copy")
	return nil
}

var purgeFaults = []Fault{notDone, undone, doneError, late, lateCrash, crashBefore, crashAfter, stall}

// Delete deletes objects as a bucket does, and copies.
func (s shelf) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if s.at == prefix {
		return s.bucket.Delete(ctx, keys)
	}
	fault := s.w.arrive("purge", strings.Join(keys, " "), purgeFaults)
	if err := blob.Check(ctx); err != nil {
		return nil, fmt.Errorf("sim: purge: %w: %w", err, blob.ErrNotDone)
	}
	lose := func() {
		for _, k := range keys {
			s.w.objs.Lose(s.at + k)
		}
		s.w.check("purge")
	}
	unknown := fmt.Errorf("sim: purge: %w", blob.ErrUnknown)
	switch fault {
	case notDone:
		return nil, fmt.Errorf("sim: purge: %w: %w", blob.ErrDown, blob.ErrNotDone)
	case undone:
		return nil, unknown
	case late, lateCrash:
		s.w.later("purge", keys, s.w.grace.Late, lose)
		if fault == lateCrash {
			s.w.cur.dies()
		}
		return nil, unknown
	}
	lose()
	switch fault {
	case crashAfter:
		s.w.cur.dies()
	case doneError:
		return nil, unknown
	}
	return s.answer(keys, len(keys), len(keys), nil), nil
}

// inQuarantine reports whether the bytes of a content lie in quarantine, on record.
func (o *oracle) inQuarantine(c memadopt.Content) bool {
	data, ok := o.w.objs.Bytes(kept + c.Object)
	return ok && string(data) == body(c.Key) && slices.ContainsFunc(o.w.db.Snapshot().Moved, func(q memadopt.Quarantined) bool { return q.Key == c.Object })
}

// emptied: what is referred to lies in its place, and nothing is kept for ever.
func (o *oracle) emptied(s memadopt.Snapshot) error {
	for _, q := range s.Moved {
		return fmt.Errorf("object %s is still in quarantine, in state %d", q.Key, q.State)
	}
	for _, key := range o.w.objs.Keys() {
		if strings.HasPrefix(key, kept) {
			return fmt.Errorf("the copy %s is still there, and nothing knows of it", key)
		}
	}
	for _, r := range s.Rows {
		if r.Status == memadopt.Deleted {
			continue
		}
		if data, ok := o.w.objs.Bytes(prefix + body(r.Content)); !ok || string(data) != body(r.Content) {
			return fmt.Errorf("paste %s refers to content %s, which was not copied back", r.Key, r.Content)
		}
	}
	return nil
}

// reuse refers to a content without an upload, because it is known.
func reuse(a *actor) { a.reuse(a.content()) }

// recall is an instance of the application that does so while its object lies in
// quarantine, or did.
func recall(a *actor) {
	for {
		var c memadopt.Content
		a.sleepUntil(func() bool {
			list := a.w.db.Snapshot().Contents
			at := slices.IndexFunc(list, func(c memadopt.Content) bool { return c.Count == 0 && a.w.mark(c.Key) == memadopt.Condemned })
			if at >= 0 {
				c = list[at]
			}
			return at >= 0
		}, time.Hour)
		a.sleep(a.between(0, 2*time.Minute))
		if a.one(4) {
			a.sleep(a.w.retention())
		}
		if c.Key != "" {
			a.reuse(c)
		}
	}
}

// comeBack is one that refers to a content for a short while: until its object is back in its
// place, or on the way there.
func comeBack(a *actor) {
	w := a.w
	there := func(c memadopt.Content) bool { _, there := w.objs.Bytes(c.Object); return there }
	gone := func(c memadopt.Content) bool {
		return c.Count == 0 && w.mark(c.Key) == memadopt.Condemned && !there(c)
	}
	for {
		a.sleepUntil(func() bool { return slices.ContainsFunc(w.db.Snapshot().Contents, gone) }, time.Hour)
		list := w.db.Snapshot().Contents
		at := slices.IndexFunc(list, gone)
		key := a.paste()
		if at < 0 || w.oracle.pastes[key] != nil {
			a.sleep(a.between(0, time.Second))
			continue
		}
		a.refer(key, list[at], 0)
		early := a.one(2)
		a.sleepUntil(func() bool { return there(list[at]) || early && w.restoring(list[at].Object) }, time.Minute)
		[]func(*actor, string){remove, extend}[a.rng.IntN(2)](a, key)
	}
}

func (a *actor) reuse(c memadopt.Content) { a.refer(a.paste(), c, a.ending()) }

// refer refers to a content that is known.
func (a *actor) refer(key string, c memadopt.Content, end lethe.Time) {
	_, err := write(a.w, "reuse", c.Key, func() (struct{}, error) {
		if _, known := a.w.known(c.Key); !known {
			return struct{}{}, errGaveUp
		}
		return struct{}{}, a.w.create(key, c, end)
	})
	a.w.note("%s: reuse %s: %v", a.name, c.Key, err)
}
