package crash_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

// whole says of which deletions without an answer a part was done, once all keys
// were observed; a deletion is one transaction, whatever the number of its keys.
// Then nothing is left open of those before.
func (j *journal) whole() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for batch, keys := range j.batches {
		errs = append(errs, j.agree(batch, keys))
	}
	clear(j.batches)
	for _, h := range j.keys {
		for i := range h.states {
			h.states[i].done = nil
		}
		h.states = unique(h.states)
	}
	return errors.Join(errs...)
}

// agree says whether some keys show that the deletion was done, and others that
// it was not. A key under which there was nothing, or which may have ended by
// itself, shows neither.
func (j *journal) agree(batch int, keys []name) error {
	var gone, there []name
	for _, at := range keys {
		states := j.keys[at].states
		done := func(s state) bool { return slices.Contains(s.done, batch) }
		switch {
		case !slices.ContainsFunc(states, done):
			there = append(there, at)
		case !slices.ContainsFunc(states, func(s state) bool { return !done(s) }):
			gone = append(gone, at)
		}
	}
	if len(gone) > 0 && len(there) > 0 {
		return fmt.Errorf("a deletion of %v was done by half: gone are %v, there %v", keys, gone, there)
	}
	return nil
}

// TestHalfDoneBatchesAreSeen holds the journal to seeing what it is for: of keys
// deleted in one request without an answer all are gone or none.
func TestHalfDoneBatchesAreSeen(t *testing.T) {
	for _, bucket := range []string{plainBucket, undoBucket} {
		for gone := range 8 { // a bit for each key
			j, keys := newJournal(), []name{{bucket, "a"}, {bucket, "b"}, {bucket, "c"}, {bucket, "never"}}
			found := map[name]seen{}
			for i, at := range keys[:3] {
				v := version{n: i + 1, size: int64(i)}
				j.put(at, v, acked)
				o := seen{live: &v}
				if gone>>i&1 == 1 {
					o = seen{}
					if bucket == undoBucket {
						o.trash = []int64{v.size}
					}
				}
				found[at] = o
			}
			j.remove(keys, unknown)
			for _, at := range keys {
				must(t, j.observe(at, found[at]))
			}
			err := j.whole()
			if whole := gone == 0 || gone == 7; whole != (err == nil) || !whole && !strings.Contains(err.Error(), "by half") {
				t.Errorf("%s, gone %03b: %v", bucket, gone, err)
			}
			must(t, j.whole()) // said once
		}
	}
}

// A key that may have ended by itself shows nothing of its batch, unless the trash
// does.
func TestEndedKeysOfABatch(t *testing.T) {
	for trash, want := range map[bool]string{false: "", true: "by half"} {
		j, keys := newJournal(), []name{{undoBucket, "a"}, {undoBucket, "b"}}
		stays, ends := version{n: 1, size: 1}, version{n: 2, size: 2, ends: window{1, lethe.Forever}}
		j.put(keys[0], stays, acked)
		j.put(keys[1], ends, acked)
		j.remove(keys, unknown)
		ended := seen{from: 2, to: 3}
		if trash {
			ended.trash = []int64{ends.size}
		}
		must(t, j.observe(keys[0], seen{live: &stays, from: 2, to: 3}))
		must(t, j.observe(keys[1], ended))
		if err := j.whole(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("in the trash %t: %v", trash, err)
		}
	}
}
