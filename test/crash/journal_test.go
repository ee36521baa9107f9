package crash_test

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe"
)

// outcome is what a client knows of an operation.
type outcome int

const (
	acked   outcome = iota // the server said that it is done
	refused                // the server said that it is not
	unknown                // the server died before it said anything
)

// name is where an object lies.
type name struct{ bucket, key string }

func (n name) String() string { return n.bucket + "/" + n.key }

// version is what one write makes of a key.
type version struct {
	n    int // unique within a folder; the object's metadata says it
	size int64
	sum  string // hex SHA-256 of the body
	tag  string
	ends window
	due  purging
}

// window bounds the instant at which a time to live ends; zero is none.
type window struct{ from, to lethe.Time }

// purging says whether a version in the trash may have gone.
type purging int

const (
	kept    purging = iota
	mayGo           // nobody knows whether it was purged
	hasToGo         // it was purged: the next run takes it
)

// state is what may lie under a key: a version or nothing, and what it left in
// the trash.
type state struct {
	live  *version
	trash []version
	// done are the batches without an answer that were done if this is so.
	done []int
}

// history is what may lie under a key.
type history struct {
	undo   bool // replaced and deleted versions go to the trash
	states []state
	// maybe are writes of which nobody knows whether they will be finished by the
	// reaper, until the key is written or removed for certain.
	maybe []version
}

// journal is what the clients of a data folder were told.
type journal struct {
	mu      sync.Mutex
	keys    map[name]*history
	buckets map[string]outcome // of the last creation (acked) or deletion (refused)
	uploads map[string]*upload
	opening map[name]int   // uploads of whose creation nobody knows
	batches map[int][]name // deletions of several keys without an answer
	n       int
}

func newJournal() *journal {
	return &journal{
		keys: map[name]*history{}, buckets: map[string]outcome{}, uploads: map[string]*upload{}, opening: map[name]int{},
		batches: map[int][]name{},
	}
}

// number draws the number of a version.
func (j *journal) number() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	return j.n
}

func (j *journal) at(at name) *history {
	h := j.keys[at]
	if h == nil {
		h = &history{undo: at.bucket == undoBucket, states: []state{{}}}
		j.keys[at] = h
	}
	return h
}

// put records a write of v.
func (j *journal) put(at name, v version, out outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.at(at)
	h.change(out, func(s state) state { return h.over(s, v) })
	switch out {
	case acked:
		h.maybe = nil
	case unknown:
		v.ends.to = lethe.Forever
		h.maybe = append(h.maybe, v)
	}
}

// remove records a deletion of keys, which are all gone or all there.
func (j *journal) remove(keys []name, out outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	batch := j.n
	if out == unknown {
		j.batches[batch] = keys
	}
	for _, at := range keys {
		h := j.at(at)
		h.change(out, func(s state) state {
			s.live, s.trash = nil, h.leave(s)
			if out == unknown {
				s.done = append(slices.Clone(s.done), batch)
			}
			return s
		})
		if out == acked {
			h.maybe = nil
		}
	}
}

// amend records a change of what lies under a key, made in place.
func (j *journal) amend(at name, out outcome, change func(*version)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at(at).change(out, func(s state) state {
		if s.live == nil {
			return s
		}
		v := *s.live
		change(&v)
		s.live = &v
		return s
	})
}

// restore records that v went from the trash to its key.
func (j *journal) restore(at name, v version, out outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.at(at)
	h.change(out, func(s state) state {
		i := slices.IndexFunc(s.trash, func(t version) bool { return t.n == v.n })
		if i < 0 {
			return s
		}
		s.trash = slices.Delete(slices.Clone(s.trash), i, i+1)
		return h.over(s, v)
	})
}

// purge records that all of a client's trash was purged.
func (j *journal) purge(mine func(name) bool, out outcome) {
	due := hasToGo
	if out == unknown {
		due = mayGo
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for at, h := range j.keys {
		if !mine(at) || out == refused {
			continue
		}
		for i := range h.states {
			s := &h.states[i]
			s.trash = slices.Clone(s.trash)
			for k := range s.trash {
				s.trash[k].due = max(s.trash[k].due, due)
			}
		}
	}
}

func (h *history) change(out outcome, f func(state) state) {
	if out == refused {
		return
	}
	var after []state
	for _, s := range h.states {
		after = append(after, f(s))
	}
	if out == unknown {
		after = append(after, h.states...)
	}
	h.states = after
}

// over is s after v was written.
func (h *history) over(s state, v version) state { return state{&v, h.leave(s), s.done} }

// leave is the trash after what lies there was replaced or removed.
func (h *history) leave(s state) []version {
	if !h.undo || s.live == nil {
		return s.trash
	}
	return append(slices.Clone(s.trash), *s.live)
}

// seen is what was found under a key, and when.
type seen struct {
	live     *version
	trash    []int64 // sizes, of which each version has its own
	from, to lethe.Time
}

// observe compares what was found with what may be, and from now on expects it.
func (j *journal) observe(at name, o seen) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.at(at)
	may := slices.Clone(h.states)
	for _, m := range h.maybe {
		for _, s := range h.states {
			may = append(may, h.over(s, m))
		}
	}
	var fits []state
	var why []error
	for _, s := range may {
		after, err := s.fit(o)
		if err == nil {
			fits = append(fits, after)
		} else {
			why = append(why, err)
		}
	}
	if len(fits) == 0 {
		return fmt.Errorf("%s: %w", at, errors.Join(why...))
	}
	h.states = unique(fits)
	if o.live != nil {
		i := slices.IndexFunc(h.maybe, func(v version) bool { return v.n == o.live.n })
		h.maybe = h.maybe[i+1:] // what was written clears earlier writes under way
	}
	return nil
}

// fit says why s is not what was found, or what to expect from now on.
func (s state) fit(o seen) (state, error) {
	after := state{done: s.done}
	switch v := s.live; {
	case v == nil && o.live != nil:
		return after, fmt.Errorf("version %d is there, should be none", o.live.n)
	case v == nil:
	case o.live == nil && v.ends.from != 0 && o.to >= v.ends.from:
	case o.live == nil:
		return after, fmt.Errorf("nothing is there, should be version %d", v.n)
	case v.ends.from != 0 && o.from > v.ends.to:
		return after, fmt.Errorf("version %d is there although its time has passed", v.n)
	case v.n != o.live.n || v.size != o.live.size || v.sum != o.live.sum || v.tag != o.live.tag:
		return after, fmt.Errorf("version %d is there (%d bytes, %s, tag %q), should be %d (%d bytes, %s, tag %q)",
			o.live.n, o.live.size, o.live.sum, o.live.tag, v.n, v.size, v.sum, v.tag)
	default:
		after.live = v
	}
	rest := slices.Clone(o.trash)
	for _, v := range s.trash {
		i := slices.Index(rest, v.size)
		switch {
		case i >= 0:
			rest = slices.Delete(rest, i, i+1)
			after.trash = append(after.trash, v)
		case v.due == kept:
			return after, fmt.Errorf("version %d should be in the trash", v.n)
		}
	}
	if len(rest) > 0 {
		return after, fmt.Errorf("entries in the trash that should not be there, of %v bytes", rest)
	}
	return after, nil
}

// unique leaves out states that say the same.
func unique(states []state) []state {
	told := map[string]bool{}
	return slices.DeleteFunc(states, func(s state) bool {
		text := s.String()
		again := told[text]
		told[text] = true
		return again
	})
}

func (s state) String() string {
	var trash []string
	for _, v := range s.trash {
		trash = append(trash, fmt.Sprintf("%+v", v))
	}
	sort.Strings(trash)
	if s.live == nil {
		return fmt.Sprint("none", trash, s.done)
	}
	return fmt.Sprint(*s.live, trash, s.done)
}

// names lists the keys of a bucket that were ever written, in order.
func (j *journal) names(bucket string) []name {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []name
	for at := range j.keys {
		if at.bucket == bucket {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, func(a, b name) int { return strings.Compare(a.key, b.key) })
	return out
}

// overdue lists what a run should have taken from the trash.
func (j *journal) overdue() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for at, h := range j.keys {
		for _, s := range h.states {
			for _, v := range s.trash {
				if v.due == hasToGo && len(h.states) == 1 {
					out = append(out, fmt.Sprintf("version %d of %s", v.n, at))
				}
			}
		}
	}
	return out
}
