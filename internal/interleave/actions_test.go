package interleave_test

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/metatest"
)

// action is a method of the ledger with what it is called with.
type action struct {
	// name is the method, and what of it.
	name string
	// changes and reads are the rows of the fixture that it does so to, in words that
	// all actions have in common.
	changes, reads string
	run            func(a *act) (any, error)
	// passes: it passes by what others hold, so that it may take less than in any order;
	// it is run once more when all have ended, and answers a list of what it took.
	passes bool
	// eager: it looks before it holds, so that what it is refused for may be what others
	// have done in part; one refusal is as good as another.
	eager bool
	// closes: when it has answered, whatever ends later has seen it (design rule 21).
	closes bool
	// awaits: it sees the operation that was recorded before it began (design rule 7).
	awaits bool
}

// act is a method under way.
type act struct {
	ctx  context.Context
	db   *meta.DB
	f    *fixture
	slot int // of the actor
	ids  *metatest.IDs
}

func (a *act) op() lethe.ID { return a.f.op[a.slot] }
func (a *act) id() lethe.ID { return lethe.NewID(a.f.now, a.ids) }

// other is the slot of the one that this is paired with.
func (a *act) other() int { return a.slot ^ 1 }

// method is the name of the method.
func (x action) method() string {
	name, _, _ := strings.Cut(x.name, " ")
	return name
}

func words(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// meets says that two actions share rows which one of them changes.
func (x action) meets(y action) bool {
	in := func(list []string, of action) bool {
		return slices.ContainsFunc(list, func(w string) bool {
			return slices.Contains(words(of.changes), w) || slices.Contains(words(of.reads), w)
		})
	}
	return in(words(x.changes), y) || in(words(y.changes), x)
}

// actions are all of them.
func actions() []action {
	return slices.Concat(commits(), uploads(), objects(), intents(), queue(), marked(), placed(), backends(), buckets(), rules(), walks(), lists())
}

// named finds an action.
func named(name string) (action, bool) {
	for _, x := range actions() {
		if x.name == name {
			return x, true
		}
	}
	return action{}, false
}

func none(err error) (any, error) { return nil, err }

// idsOf lists the names of blobs.
func idsOf(blobs []meta.Blob) []string {
	out := []string{}
	for _, b := range blobs {
		out = append(out, string(b.ID))
	}
	return out
}
