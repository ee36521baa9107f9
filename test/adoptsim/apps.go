package adoptsim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// The application's names are few, so that its processes meet.
const (
	pastes = 5
	bodies = 3
)

// entry is what a key of the cache holds: a copy of a paste, a lease of a reader, or
// a block of a writer.
type entry struct {
	copyOf int        // the paste's number; 0: no copy
	token  int        // of a lease; 0: none
	until  lethe.Time // of a lease or block
}

func cacheKey(paste string) string { return "paste:" + paste }

func nameKey(name string) string { return "name:" + name }

// serve is an instance of the application.
func serve(a *actor) {
	of := func(op func(*actor, string)) func(*actor) { return func(a *actor) { op(a, a.paste()) } }
	ops := []func(*actor){create, create, create, create, of(replace), of(extend), of(remove), look, look, look}
	if a.w.kind.forgets {
		ops = append(ops, forget)
	}
	if a.w.cfg.Site == Quarantined {
		ops = append(ops, reuse, reuse)
	}
	if a.w.kind.miscounts {
		ops = append(ops, miscount, share)
	}
	rest := 30 * time.Second
	if a.w.kind.focus.steps == behind {
		rest = 5 * time.Minute // in which contents go
	}
	for range 8 + a.rng.IntN(10) {
		ops[a.rng.IntN(len(ops))](a)
		a.sleep(a.between(0, rest))
		if a.one(6) {
			a.sleep(a.between(0, 20*time.Minute))
		}
	}
}

func (a *actor) paste() string { return fmt.Sprintf("p%d", a.rng.IntN(pastes)) }

func (a *actor) content() memadopt.Content {
	name := fmt.Sprintf("c%d", a.rng.IntN(bodies))
	return memadopt.Content{Key: name, Object: prefix + name}
}

// ending draws the end of a paste.
func (a *actor) ending() lethe.Time {
	if a.w.kind.focus.steps == behind {
		return a.w.now.Add(a.between(time.Second, time.Minute))
	}
	switch a.rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return a.w.now.Add(a.between(time.Minute, 3*time.Hour))
	}
	return a.w.now.Add(a.between(time.Second, 3*time.Minute))
}

// errGaveUp: an operation of the application did not come to its end.
var errGaveUp = errors.New("gave up")

// upload puts a content's bytes and returns the number of the upload, once it was
// acknowledged.
func (a *actor) upload(c memadopt.Content) (int, error) {
	w := a.w
	w.oracle.uploads++
	id := w.oracle.uploads
	put := func() {
		w.objs.Set(c.Object, []byte(c.Key))
		w.oracle.put[c.Object] = id
		w.check("put")
	}
	switch w.arrive("put", c.Object, putFaults) {
	case notDone, undone:
		return 0, errGaveUp
	case late:
		w.later("put", []string{c.Key}, 2*time.Minute, put)
		return 0, errGaveUp
	case doneError:
		put()
		return 0, errGaveUp
	case crashAfter:
		put()
		a.dies()
	}
	put()
	return id, nil
}

// store uploads a content and commits what refers to it, within the longest write. A
// refused transaction is repeated, upload included.
func (a *actor) store(what string, c memadopt.Content, commit func() error) {
	w := a.w
	for range 4 {
		began := w.now
		id, err := a.upload(c)
		a.ahead = false
		if err != nil {
			return
		}
		a.dawdle(c, began)
		if a.one(4) && !a.lock(c, began) {
			continue
		}
		_, err = write(w, what, c.Key, func() (struct{}, error) {
			if w.now.Sub(began) >= w.grace.LongestWrite {
				return struct{}{}, errGaveUp // the database has ended it
			}
			err := commit()
			if err == nil {
				w.oracle.owned[id] = true
			}
			return struct{}{}, err
		})
		if a.onDeath != nil {
			a.onDeath()
			a.onDeath = nil
		}
		w.note("%s: %s %s: %v", a.name, what, c.Key, err)
		if !errors.Is(err, memadopt.ErrRefused) {
			return
		}
		w.counts["refused"]++
	}
}

// race is an instance of the application that stores a content again at the worst
// moment: right before a delete of it takes effect.
func race(a *actor) {
	a.racer = true
	for {
		c, at := a.w.deleteAhead()
		if c == "" {
			a.sleepUntil(func() bool { c, _ := a.w.deleteAhead(); return c != "" }, time.Hour)
			continue
		}
		a.sleepTo(at)
		key, end := a.paste(), a.ending()
		body := memadopt.Content{Key: c, Object: prefix + c}
		a.store("create", body, func() error { return a.w.create(key, body, end) })
		a.sleep(a.between(0, 10*time.Second))
	}
}

// deleteAhead returns a content whose object is to be deleted, and when: a delete that
// was sent long ago, or one that a worker is about to send; or one that is being copied
// back.
func (w *world) deleteAhead() (content string, at lethe.Time) {
	for _, q := range w.db.Snapshot().Moved {
		if q.State == adopt.Restoring {
			return strings.TrimPrefix(q.Key, prefix), w.now
		}
	}
	if w.kind.focus.steps == " confirm " {
		return "", 0
	}
	for _, l := range w.late {
		if l.what == "unlink" {
			return l.keys[len(l.keys)-1], l.at
		}
	}
	for _, m := range w.db.Marks() {
		if m.State == memadopt.Condemned {
			return body(m.Content), w.now
		}
	}
	return "", 0
}

// dawdle lets time pass between an upload and its commit: none, or some, or as much as
// there may, or until the content's mark, or its object, is gone.
func (a *actor) dawdle(c memadopt.Content, began lethe.Time) {
	left := a.w.grace.LongestWrite - a.w.now.Sub(began) - time.Second
	free := func() bool { return !a.w.refused(c.Key) }
	if a.w.cfg.Site == Quarantined {
		free = func() bool { _, there := a.w.objs.Bytes(c.Object); return !there }
	}
	switch {
	case left <= 0:
	case a.racer && !a.one(4):
		a.sleepUntil(free, left)
	case a.one(4):
		a.sleep(a.between(0, left))
	case a.one(4):
		a.sleep(left)
	case a.one(2):
		a.sleepUntil(free, left)
	}
}

// refused reports whether the guard refuses references to a content.
func (w *world) refused(content string) bool { return w.mark(content) > memadopt.Waiting }

// mark returns the state of a content's mark, 0 if it has none.
func (w *world) mark(content string) memadopt.State {
	for _, m := range w.db.Marks() {
		if body(m.Content) == content {
			return m.State
		}
	}
	return 0
}

// keyOf returns the key of a content, which may have a number.
func (w *world) keyOf(c memadopt.Content) string {
	for _, have := range w.db.Snapshot().Contents {
		if have.Object == c.Object {
			return have.Key
		}
	}
	return c.Key
}

// lock counts a content up in a transaction that stays open for a while; it reports
// false if it was refused.
func (a *actor) lock(c memadopt.Content, began lethe.Time) bool {
	unlock, err := read(a.w, "lock", c.Key, func() (func(), error) { return a.w.db.Lock(a.w.keyOf(c)) })
	if err != nil {
		return false
	}
	a.onDeath = unlock
	if left := a.w.grace.LongestWrite - a.w.now.Sub(began); left > 0 {
		a.sleep(a.between(0, min(left, 20*time.Second)))
	}
	return true
}

func create(a *actor) {
	key, c, end := a.paste(), a.content(), a.ending()
	a.store("create", c, func() error { return a.w.create(key, c, end) })
}

func (w *world) create(key string, c memadopt.Content, end lethe.Time) error {
	err := w.db.Create(key, c, end)
	if err == nil {
		w.oracle.created(key, c.Key, end)
	}
	return err
}

// change tells the cache of a change before and after it. Without leases it is told
// afterwards alone.
func (a *actor) change(key string, do func()) {
	if a.w.kind.leases {
		if a.w.arrive("block", key, dropFaults) == notDone {
			return
		}
		a.w.cache[cacheKey(key)] = entry{until: a.w.now.Add(time.Minute)}
	}
	do()
	if a.w.arrive("forget-copy", key, dropFaults) == none {
		delete(a.w.cache, cacheKey(key))
	}
}

func replace(a *actor, key string) {
	c := a.content()
	a.change(key, func() {
		a.store("replace", c, func() error {
			err := a.w.db.Replace(key, c)
			if err == nil {
				a.w.oracle.pastes[key].content = c.Key
			}
			return err
		})
	})
}

func extend(a *actor, key string) {
	end := a.ending()
	a.change(key, func() {
		_, err := write(a.w, "extend", key, func() (struct{}, error) {
			err := a.w.db.Extend(key, end)
			if err == nil {
				a.w.oracle.pastes[key].end = end
			}
			return struct{}{}, err
		})
		a.w.note("%s: extend %s: %v", a.name, key, err)
	})
}

func remove(a *actor, key string) {
	a.change(key, func() {
		_, err := write(a.w, "delete", key, func() (struct{}, error) {
			err := a.w.db.Delete(key)
			if err == nil {
				a.w.forgetName(a.w.oracle.pastes[key].number)
				delete(a.w.oracle.pastes, key)
			}
			return struct{}{}, err
		})
		a.w.note("%s: delete %s: %v", a.name, key, err)
	})
}

// forget removes the row of a content that nothing refers to: its object has no row
// any more that Lethe could know it by, unless it is condemned already.
func forget(a *actor) {
	c := a.content()
	_, _ = write(a.w, "forget", c.Key, func() (struct{}, error) {
		if a.w.db.Forget(c.Key) && a.w.mark(c.Key) != memadopt.Condemned {
			a.w.oracle.forgotten[c.Object] = true
		}
		return struct{}{}, nil
	})
}

// miscount makes a count wrong: lower than it is.
func miscount(a *actor) {
	c := a.content()
	_, _ = write(a.w, "miscount", c.Key, func() (struct{}, error) {
		if a.w.db.SetCount(c.Key, 0) {
			a.w.oracle.miscounted[c.Key] = true
		}
		return struct{}{}, nil
	})
}

// share lets another table name a content, or takes that back.
func share(a *actor) {
	c, shared := a.content(), a.w.oracle.shared
	if shared[c.Key] {
		_, _ = write(a.w, "unshare", c.Key, func() (struct{}, error) {
			a.w.db.Unshare(c.Key)
			delete(shared, c.Key)
			return struct{}{}, nil
		})
		return
	}
	a.store("share", c, func() error {
		if shared[c.Key] {
			return errGaveUp
		}
		err := a.w.db.Share(c)
		if err == nil {
			shared[c.Key] = true
		}
		return err
	})
}

// look reads a paste through the cache, and fills it, sometimes late.
func look(a *actor) {
	w, key := a.w, a.paste()
	if w.arrive("get-copy", key, readFaults) == notDone {
		return
	}
	token := a.lease(key)
	w.show(a, key, token)
}

// gaze is an instance of the application that reads pastes right before their end, and
// fills the cache with them when they are gone.
func gaze(a *actor) {
	for {
		key, end := a.w.oracle.nextEnd()
		if key == "" || a.one(3) {
			a.sleep(a.between(time.Second, time.Minute))
			continue
		}
		a.sleepTo(end)
		a.w.show(a, key, a.lease(key))
		a.sleep(a.between(0, time.Second))
	}
}

// meddle is an instance of the application whose owners change a paste once it is
// claimed.
func meddle(a *actor) {
	for {
		a.sleepUntil(func() bool { return a.w.claimed() != "" }, time.Hour)
		if key := a.w.claimed(); key != "" && !a.one(3) {
			[]func(*actor, string){extend, extend, replace, remove}[a.rng.IntN(4)](a, key)
		}
		a.sleep(a.between(time.Second, 5*time.Minute))
	}
}

// claimed returns a paste whose deletion is in progress.
func (w *world) claimed() string {
	for _, r := range w.db.Rows() {
		if r.Status == memadopt.Claimed {
			return r.Key
		}
	}
	return ""
}

// show reads a paste from database and bucket, and fills the cache, sometimes late.
func (w *world) show(a *actor, key string, token int) {
	row, c, err := a.find(key)
	a.ahead = false
	if err != nil {
		return
	}
	seen := w.now
	number := w.oracle.pastes[key].number
	for tries := 0; ; tries++ {
		if w.arrive("get", c.Object, readFaults) == notDone {
			return
		}
		if data, ok := w.objs.Bytes(c.Object); ok && string(data) == body(c.Key) {
			break
		}
		// It may have been deleted or replaced: the database is asked once more.
		if row, c, err = a.find(key); err != nil {
			return
		}
		if w.oracle.inQuarantine(c) {
			w.counts["unreadable for a while"]++
			return
		}
		if tries > 0 {
			w.fail(fmt.Errorf("paste %s of content %s cannot be read", key, row.Content))
			return
		}
	}
	a.linger(number, seen)
	w.fill(key, number, token, seen)
}

// linger lets a reader that has seen a paste wait, until it is gone, or until its
// copies have been dropped once more, but for no longer than readers may.
func (a *actor) linger(number int, seen lethe.Time) {
	w, again := a.w, a.one(2)
	left := seen.Add(w.grace.CacheAgain).Sub(w.now) - time.Second
	if left <= 0 || a.one(3) {
		return
	}
	a.onTime = true
	a.sleepUntil(func() bool {
		_, gone := w.oracle.removed[number]
		return gone && (!again || w.db.Snapshot().Again == 0)
	}, left)
	a.onTime = false
}

// find asks the database for a paste; one that has expired is not served.
func (a *actor) find(key string) (row memadopt.Row, c memadopt.Content, err error) {
	_, err = read(a.w, "read", key, func() (struct{}, error) {
		row, c, err = a.w.db.Read(key)
		if err == nil && row.End != 0 && row.End <= a.w.now {
			a.w.fail(fmt.Errorf("paste %s was served %s after its end", key, a.w.now.Sub(row.End)))
		}
		return struct{}{}, err
	})
	return row, c, err
}

// lease takes a lease on a key of the cache that holds nothing; 0 if none was taken.
func (a *actor) lease(key string) int {
	e, ok := a.w.cache[cacheKey(key)]
	if !a.w.kind.leases || ok && (e.copyOf != 0 || e.until > a.w.now) {
		return 0
	}
	a.w.oracle.tokens++
	a.w.cache[cacheKey(key)] = entry{token: a.w.oracle.tokens, until: a.w.now.Add(15 * time.Second)}
	return a.w.oracle.tokens
}

// fill puts a copy into the cache: under a lease only if it is still held, without
// leases only soon after the paste was seen.
func (w *world) fill(key string, number, token int, seen lethe.Time) {
	if w.arrive("fill", key, readFaults) == notDone {
		return
	}
	e := w.cache[cacheKey(key)]
	switch {
	case w.kind.leases && (token == 0 || e.token != token || e.until <= w.now):
		return
	case !w.kind.leases && w.now.Sub(seen) >= w.grace.CacheAgain:
		return
	}
	w.cache[cacheKey(key)] = entry{copyOf: number}
	w.counts["filled"]++
	w.check("fill")
}
