package adopttest

import (
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// KeySite is one collection of keys, empty at first.
type KeySite struct {
	adopt.KeyRows
	adopt.Holder
	App Names
}

// RunKeys runs the suite of rows that name keys.
func RunKeys(t *testing.T, open func(t *testing.T) KeySite) {
	for name, run := range map[string]func(k *keys){
		"streams keys in the order of their bytes":     streamKeys,
		"tells which are named":                        namedKeys,
		"an orphan is condemned after the retention":   seeOrphans,
		"an object that was put anew begins again":     seeAnew,
		"what is named by now is no orphan":            seeNamed,
		"condemns the first, up to the most":           seeMost,
		"what is gone is forgotten":                    goneKeys,
		"what was not seen by a run is forgotten":      endKeys,
		"what a run that did not end saw is on record": notEnded,
		"a count is not put back by an older run":      endLate,
		"a hold keeps an orphan":                       heldOrphan,
		"a hold tells which orphans are being deleted": heldOrphans,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := open(t)
			run(&keys{&world{T: t, ctx: t.Context(), Site: Site{Holder: site.Holder}}, site.KeyRows, site.App})
		})
	}
}

// keys is a test of a KeySite.
type keys struct {
	*world
	adopt.KeyRows
	app Names
}

func (k *keys) insert(names ...string) {
	k.Helper()
	for _, n := range names {
		k.must(k.app.Insert(k.ctx, n))
	}
}

// stream returns all keys, when they were read, and how many there were at the last run.
func (k *keys) stream() (list []string, at lethe.Time, last int64) {
	k.Helper()
	at, last, err := k.Stream(k.ctx, func(key string) error {
		list = append(list, key)
		return nil
	})
	k.must(err)
	return list, at, last
}

const keyRetention = time.Hour

func orphan(key string, modified lethe.Time) adopt.OrphanObject {
	return adopt.OrphanObject{Key: key, Size: 3, Modified: modified}
}

// sees looks at orphans and demands which are condemned.
func (k *keys) sees(most int, list []adopt.OrphanObject, orphans int, condemned ...string) {
	k.Helper()
	seen := must(k.See(k.ctx, adopt.Seeing{Orphans: list, Retention: keyRetention, Most: most}))(k.world)
	equal(k.world, "orphans", seen.Orphans, orphans)
	if !slices.Equal(seen.Condemned, condemned) {
		k.Errorf("condemned %q, want %q", seen.Condemned, condemned)
	}
}

func (k *keys) onRecord(want int64) {
	k.Helper()
	equal(k.world, "on record", must(k.Known(k.ctx))(k.world).Due, want)
}

func streamKeys(k *keys) {
	want := []string{"A/z", "a", "a b", "a%", "a+b", "a/b", "a0", "aB", "b", "ä", "\U0001F600"}
	for _, i := range []int{5, 0, 10, 3, 8, 1, 9, 2, 7, 4, 6} {
		k.insert(want[i])
	}
	got, began, last := k.stream()
	equal(k.world, "keys", got, want)
	equal(k.world, "rows of no run", last, 0)
	k.must(k.End(k.ctx, 11, began))
	k.app.Pass(time.Hour)
	_, at, last := k.stream()
	equal(k.world, "rows of the last run", last, 11)
	if passed := at.Sub(began); passed < time.Hour || passed > 2*time.Hour {
		k.Errorf("an hour is %v by the database's clock", passed)
	}
}

func namedKeys(k *keys) {
	k.insert("a", "b", "b", "c")
	k.must(k.app.Remove(k.ctx, "c"))
	got := must(k.Named(k.ctx, []string{"c", "b", "x", "a"}))(k.world)
	slices.Sort(got)
	equal(k.world, "named", got, []string{"a", "b"})
}

func seeOrphans(k *keys) {
	list := []adopt.OrphanObject{orphan("x", 1), orphan("y", 2)}
	k.sees(9, list, 2)
	k.app.Pass(keyRetention - time.Minute)
	k.sees(9, append(list, orphan("z", 3)), 3)
	k.app.Pass(time.Minute)
	for range 2 { // until it is gone
		k.sees(9, append(list, orphan("z", 3)), 3, "x", "y")
	}
	k.onRecord(3)
}

func seeAnew(k *keys) {
	k.sees(9, []adopt.OrphanObject{orphan("x", 1), orphan("y", 1)}, 2)
	k.app.Pass(keyRetention)
	anew := []adopt.OrphanObject{orphan("x", 2), orphan("y", 1)}
	k.sees(9, anew, 2, "y")
	k.app.Pass(keyRetention)
	k.sees(9, anew, 2, "x", "y")
	anew[1].Size++ // by a program that sets the time of what was there before
	k.sees(9, anew, 2, "x")
}

func seeNamed(k *keys) {
	list := []adopt.OrphanObject{orphan("x", 1), orphan("y", 1)}
	k.sees(9, list, 2)
	k.insert("x")
	k.app.Pass(keyRetention)
	k.sees(9, list, 1, "y")
	k.onRecord(1)
	k.must(k.app.Remove(k.ctx, "x"))
	k.sees(9, list, 2, "y")
}

func seeMost(k *keys) {
	list := []adopt.OrphanObject{orphan("b", 1), orphan("a", 1), orphan("c", 1)}
	k.sees(9, list, 3)
	k.app.Pass(keyRetention)
	k.sees(2, list, 3, "a", "b")
	k.sees(0, list, 3)
	k.sees(-1, list, 3)
}

func goneKeys(k *keys) {
	list := []adopt.OrphanObject{orphan("x", 1), orphan("y", 1)}
	k.sees(9, list, 2)
	k.must(k.Gone(k.ctx, nil))
	k.must(k.Gone(k.ctx, []string{"x", "unknown"}))
	k.onRecord(1)
	k.app.Pass(keyRetention)
	k.sees(9, list, 2, "y")
}

func endKeys(k *keys) {
	list := []adopt.OrphanObject{orphan("x", 1), orphan("y", 1)}
	k.sees(9, list, 2)
	k.app.Pass(keyRetention)
	_, at, _ := k.stream()
	k.sees(9, list[:1], 1, "x")
	k.must(k.End(k.ctx, 1, at))
	k.onRecord(1)
	k.sees(9, list, 2, "x")
}

func notEnded(k *keys) {
	k.sees(9, []adopt.OrphanObject{orphan("x", 1)}, 1)
	since := must(k.Known(k.ctx))(k.world).Oldest
	k.app.Pass(keyRetention)
	k.sees(9, []adopt.OrphanObject{orphan("y", 1)}, 1)
	equal(k.world, "on record", must(k.Known(k.ctx))(k.world), adopt.Backlog{Due: 2, Oldest: since})
}

// A worker that stood still does not put back what it counted before another.
func endLate(k *keys) {
	_, old, _ := k.stream()
	k.app.Pass(time.Hour)
	_, at, _ := k.stream()
	k.must(k.End(k.ctx, 7, at))
	k.must(k.End(k.ctx, 3, old))
	_, _, last := k.stream()
	equal(k.world, "rows of the last run", last, 7)
}

func heldOrphan(k *keys) {
	list := []adopt.OrphanObject{orphan("a/x", 1), orphan("a/y", 1), orphan("b", 1)}
	k.sees(9, list, 3)
	k.app.Pass(keyRetention)
	for _, c := range []struct {
		hold adopt.Hold
		want []string
	}{
		{adopt.Hold{Scope: adopt.HoldCollection}, nil},
		{adopt.Hold{Scope: adopt.HoldPrefix, Key: "a/"}, []string{"b"}},
		{adopt.Hold{Scope: adopt.HoldObject, Key: "a/x"}, []string{"a/y", "b"}},
		{adopt.Hold{Scope: adopt.HoldObject, Key: "a"}, []string{"a/x", "a/y", "b"}},
	} {
		k.hold(c.hold.Scope, c.hold.Key)
		seen := must(k.See(k.ctx, adopt.Seeing{Orphans: list, Retention: keyRetention, Most: 9}))(k.world)
		if !slices.Equal(seen.Condemned, c.want) || seen.Orphans != 3 {
			k.Errorf("with %s it is %+v, want %q", c.hold, seen, c.want)
		}
		equal(k.world, "held", seen.Held, 3-len(c.want))
		k.release(c.hold.Scope, c.hold.Key)
	}
	k.onRecord(3)
}

func heldOrphans(k *keys) {
	list := []adopt.OrphanObject{orphan("x", 1), orphan("y", 1)}
	k.sees(9, list, 2)
	equal(k.world, "under way of what waits", k.hold(adopt.HoldObject, "x"), adopt.UnderWay{})
	k.release(adopt.HoldObject, "x")
	k.hold(adopt.HoldObject, "y")
	k.app.Pass(keyRetention)
	look := adopt.Seeing{Orphans: list, Retention: keyRetention, Most: 9, Look: true}
	equal(k.world, "a look would condemn", must(k.See(k.ctx, look))(k.world).Condemned, []string{"x"})
	equal(k.world, "under way of what was looked at", k.hold(adopt.HoldCollection, ""), adopt.UnderWay{})
	k.release(adopt.HoldCollection, "")
	k.sees(9, list, 2, "x")
	_, now, _ := k.stream()
	under := k.hold(adopt.HoldCollection, "")
	if left := under.Until.Sub(now); under.Objects != 1 || left < grace.Landed()-time.Minute || left > grace.Landed()+time.Minute {
		k.Errorf("under way are %+v, until %v from now", under, left)
	}
	k.sees(9, []adopt.OrphanObject{orphan("x", 2)}, 1) // the delete may take what was put since
	equal(k.world, "under way of what was put anew", k.hold(adopt.HoldObject, "x").Objects, 1)
	k.app.Pass(grace.Landed() + time.Minute)
	equal(k.world, "under way at last", k.hold(adopt.HoldObject, "x"), adopt.UnderWay{})
}
