package adoptsim

import (
	"fmt"
	"time"
)

// names is how many other names each paste may have.
const names = 3

func nameOf(paste string, i int) string { return fmt.Sprintf("%s-%d", paste, i) }

// rename is an instance of the application that gives other names to pastes once they are
// claimed, and caches what it has written.
func rename(a *actor) {
	for {
		a.sleepUntil(func() bool { return a.w.claimed() != "" }, time.Hour)
		if key := a.w.claimed(); key != "" {
			a.rename(key)
		}
		a.sleep(a.between(time.Second, 5*time.Minute))
	}
}

// rename drops the copy under the old name, and fills one under the new name, at once with
// its transaction.
func (a *actor) rename(key string) {
	w, name := a.w, nameOf(key, a.rng.IntN(names))
	_, err := write(w, "rename", key, func() (struct{}, error) {
		p := w.oracle.pastes[key]
		err := w.db.Rename(key, name)
		if err == nil {
			w.forgetName(p.number)
			w.cache[nameKey(name)] = entry{copyOf: p.number}
			w.counts["renamed"]++
		}
		return struct{}{}, err
	})
	w.note("%s: rename %s to %s: %v", a.name, key, name, err)
}

// forgetName drops the copies of a paste under its other names.
func (w *world) forgetName(number int) {
	for i := range pastes {
		for j := range names {
			if k := nameKey(nameOf(fmt.Sprintf("p%d", i), j)); w.cache[k].copyOf == number {
				delete(w.cache, k)
			}
		}
	}
}
