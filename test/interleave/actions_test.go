package interleave_test

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
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
	// eager: it looks before it holds, so that it may be refused for what it saw before or
	// for what it sees then, by one of these for another. Each says that the claim, or what
	// was claimed, is not the caller's any more, and the caller leaves it. Which rows come of
	// it is compared.
	eager []error
	// replays: what another has done under the same operation it answers as done, where it
	// is refused in order, because it had looked before. The object has to be that which
	// the other answers.
	replays bool
	// glances: it reads the object that it copies before it holds its content. If the object
	// goes in between, the content never has as many references as in any order, and stays
	// open where an order closes it. Below its most references it may be either; an
	// invariant holds that at its most it is closed.
	glances bool
	// closes: when it has answered, whatever ends later has seen it (docs/protocol.md, rule 21).
	closes bool
	// awaits: it sees the operation that was recorded before it began (docs/protocol.md, rule 7).
	awaits bool
}

// act is a method under way.
type act struct {
	ctx  context.Context
	db   *sqlledger.DB
	f    *fixture
	slot int // of the actor
	ids  *ledgertest.IDs
	// claimed notes the fence of a claim, so that rows that carry it are known for this
	// actor's.
	claimed func(fence int64)
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
	return slices.Concat(commits(), inlines(), uploads(), objects(), evictions(), intents(), queue(), marked(), placed(), moved(), backends(), buckets(), rules(), walks(), lists())
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

// lost are the errors of a claim that another has taken over or ended.
var lost = []error{lethe.ErrFenced, lethe.ErrContentGone, lethe.ErrReaped, lethe.ErrPreconditionFailed}

func none(err error) (any, error) { return nil, err }

// idsOf lists the names of blobs.
func idsOf(blobs []ledger.Blob) []string {
	out := []string{}
	for _, b := range blobs {
		out = append(out, string(b.ID))
	}
	return out
}
