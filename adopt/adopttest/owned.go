package adopttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// OwnedSite is a collection of rows that own what Owned says, empty at first, with
// adopt.DefaultGrace and a guard.
type OwnedSite struct {
	adopt.Contents
	adopt.Holder
	Taker adopt.Taker
	App   Owner
}

// Owner is an application whose rows have a name each. Each method is one transaction:
// ErrRefused.
type Owner interface {
	Insert(ctx context.Context, key, name string, in time.Duration) error
	Rename(ctx context.Context, key, name string) error
	Delete(ctx context.Context, key string) error
	Pass(d time.Duration)
}

// Owned is the template of what a row owns: one object, or all below a folder.
func Owned(folders bool) string {
	if folders {
		return "files/{name}/"
	}
	return "files/{name}"
}

// RunOwned runs the suite of rows that own objects, or folders.
func RunOwned(t *testing.T, open func(t *testing.T, folders bool) OwnedSite) {
	for kind, folders := range map[string]bool{"objects": false, "folders": true} {
		tests := map[string]func(o *owned){
			"what a row leaves behind goes":            ownedLeft,
			"what another row names stays":             ownedShared,
			"what is condemned cannot be named":        ownedRefused,
			"what is named again after a mark goes":    ownedAgain,
			"a hold keeps what is owned":               ownedHeld,
			"a hold tells which deletes are under way": ownedUnderWay,
		}
		if folders {
			tests["no folder lies in that of another row"] = ownedNested
			tests["what names no folder unmistakably stays"] = ownedOdd
		}
		for name, run := range tests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				site := open(t, folders)
				run(&owned{&world{T: t, ctx: t.Context(), Site: Site{Contents: site.Contents, Holder: site.Holder, Taker: site.Taker}}, site.App, folders})
			})
		}
	}
}

// owned is a test of an OwnedSite.
type owned struct {
	*world
	app     Owner
	folders bool
}

// keys are the keys that names stand for.
func (o *owned) keys(names ...string) (out []string) {
	for _, n := range names {
		out = append(out, strings.ReplaceAll(Owned(o.folders), "{name}", n))
	}
	return out
}

// marked marks what is due, which has to be what these names stand for.
func (o *owned) marked(names ...string) adopt.Marked {
	o.Helper()
	o.app.Pass(grace.Unreferenced + margin)
	m := o.mark()
	var got []string
	for _, c := range m.Contents {
		got = append(got, c.Object)
	}
	slices.Sort(got)
	equal(o.world, "marked", got, o.keys(names...))
	return m
}

func (o *owned) insert(names ...string) {
	o.Helper()
	for _, n := range names {
		o.must(o.app.Insert(o.ctx, "of "+n, n, Never))
	}
}

func (o *owned) delete(names ...string) {
	o.Helper()
	for _, n := range names {
		o.must(o.app.Delete(o.ctx, "of "+n))
	}
}

func ownedLeft(o *owned) {
	o.insert("deleted", "renamed", "stays", "stay", "größer")
	o.must(o.app.Insert(o.ctx, "of expired", "expired", -time.Second))
	if out := must(o.Taker.Take(o.ctx, 9, 0))(o.world); out.Gone != 1 {
		o.Errorf("taken %+v", out)
	}
	o.delete("deleted", "größer")
	o.must(o.app.Rename(o.ctx, "of renamed", "anew"))
	m := o.marked("deleted", "expired", "größer", "renamed")
	o.confirm(m.Fence, adopt.Confirmed{Gone: 4}, gone(o.keys("deleted", "expired", "größer", "renamed")...)...)
	o.marked()
}

func ownedShared(o *owned) {
	o.insert("x")
	o.must(o.app.Insert(o.ctx, "too", "x", Never))
	o.must(o.app.Delete(o.ctx, "too"))
	o.marked()
	o.must(o.app.Insert(o.ctx, "another", "y", Never))
	o.must(o.app.Rename(o.ctx, "of x", "y"))
	o.must(o.app.Delete(o.ctx, "another"))
	o.marked("x")
}

func ownedRefused(o *owned) {
	o.insert("x", "y")
	o.delete("x")
	m := o.marked("x")
	refused := func(when string) {
		o.Helper()
		if err := o.app.Insert(o.ctx, "late", "x", Never); !errors.Is(err, ErrRefused) {
			o.Errorf("a row that names x, %s: %v", when, err)
		}
		if err := o.app.Rename(o.ctx, "of y", "x"); !errors.Is(err, ErrRefused) {
			o.Errorf("a row that is renamed to x, %s: %v", when, err)
		}
	}
	refused("condemned")
	o.must(o.app.Rename(o.ctx, "of y", "y"))
	o.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone(o.keys("x")...)...)
	refused("gone")
	o.app.Pass(grace.LongestWrite + margin)
	equal(o.world, "marks ended", must(o.Unmark(o.ctx, 9))(o.world), 1)
	o.insert("x")
}

func ownedAgain(o *owned) {
	o.insert("deleted", "renamed")
	o.delete("deleted", "renamed")
	o.over(o.marked("deleted", "renamed"))
	o.insert("deleted", "renamed")
	o.delete("deleted")
	o.must(o.app.Rename(o.ctx, "of renamed", "anew"))
	o.marked("deleted", "renamed")
}

func ownedHeld(o *owned) {
	held, other := o.keys("x")[0], o.keys("xy")[0]
	if o.folders {
		held += "below/it"
	}
	o.insert("x", "xy")
	o.hold(adopt.HoldObject, held)
	o.delete("x", "xy")
	m := o.marked("xy")
	equal(o.world, "held", m.Held, 1)
	o.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone(other)...)
	o.release(adopt.HoldObject, held)
	o.app.Pass(adopt.HeldRest)
	o.marked("x")
}

func ownedUnderWay(o *owned) {
	o.insert("größe", "größer")
	o.delete("größe", "größer")
	o.marked("größe", "größer")
	under := func(scope adopt.HoldScope, key string, want int) {
		o.Helper()
		equal(o.world, "under way of "+key, o.hold(scope, key).Objects, want)
	}
	key := o.keys("größe")[0]
	under(adopt.HoldPrefix, "files/größe", 2)
	under(adopt.HoldPrefix, "files/klein", 0)
	under(adopt.HoldObject, key, 1)
	below := 0
	if o.folders {
		below = 1
	}
	under(adopt.HoldObject, "files/größe/ß", below)
	under(adopt.HoldObject, "files/größ", 0)
}

func ownedNested(o *owned) {
	o.insert("a", "b")
	for what, err := range map[string]error{"inserted": o.app.Insert(o.ctx, "new", "a/b", Never), "renamed": o.app.Rename(o.ctx, "of b", "a/b")} {
		if err == nil || !strings.Contains(err.Error(), "has no slash") || errors.Is(err, ErrRefused) {
			o.Errorf("a folder in that of another row is %s: %v", what, err)
		}
	}
	o.delete("b")
	o.marked("b")
}

func ownedOdd(o *owned) {
	o.insert("", "..", "good")
	o.delete("", "..", "good")
	equal(o.world, "outside", len(o.marked("good").Outside), 2)
}
