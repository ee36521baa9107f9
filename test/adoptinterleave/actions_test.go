package adoptinterleave_test

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// actions are all of them.
func actions() (out []action) {
	for _, s := range sites {
		switch {
		case s.name == "guarded":
			out = append(out, s.guard()...)
		case s.owning:
			out = append(out, slices.Concat(s.claims(), s.marks(), s.holds(), s.owners())...)
		case s.status:
			out = append(out, slices.Concat(s.claims(), s.marks(), s.holds(), s.finds(), s.writers())...)
		default:
			out = append(out, slices.Concat(s.takes(), s.marks(), s.finds(), s.writers())...)
		}
	}
	return slices.Concat(out, folders(), keys(), quarantine())
}

// do makes an action of a method of the site's collection.
func (s site) do(name string, on []string, run func(a *act, c *sqladopt.Collection) (any, error)) action {
	return action{name: s.name + ": " + name, site: s.name, on: on, run: func(a *act) (any, error) { return run(a, a.collections[s.name]) }}
}

// pass makes one of a method that passes by what others hold.
func (s site) pass(name string, on []string, run func(a *act, c *sqladopt.Collection) ([]string, error)) action {
	x := s.do(name, on, func(a *act, c *sqladopt.Collection) (any, error) { return run(a, c) })
	x.passes = true
	return x
}

// some is so many of what a method does not name.
func some(n int, err error) ([]string, error) { return slices.Repeat([]string{"one"}, n), err }

// claim is the fixture's.
func claim(at time.Duration, codes ...string) adopt.Claim {
	c := adopt.Claim{At: base.Add(at)}
	for _, code := range codes {
		c.Rows = append(c.Rows, adopt.Row{Key: code, Copies: []string{"copy:" + code}})
	}
	return c
}

// claims are what becomes of rows that have ended.
func (s site) claims() []action {
	held := []string{"held two", "held solo", "held again", "held tried", "held extended", "held stuck"}
	settle := func(c adopt.Claim) func(a *act, on *sqladopt.Collection) (any, error) {
		return func(a *act, on *sqladopt.Collection) (any, error) { return on.Settle(a.ctx, c, 10*time.Second) }
	}
	list := []action{
		s.pass("Claim", []string{"last"}, func(a *act, c *sqladopt.Collection) (codes []string, err error) {
			got, err := c.Claim(a.ctx, 100)
			for _, r := range got.Rows {
				codes = append(codes, r.Key)
			}
			return codes, err
		}),
		s.do("Settle", append([]string{"two", "solo", "again", "tried", "stuck"}, held...), settle(claim(claimed, held...))),
		s.do("Settle late", []string{"stuck"}, settle(claim(stuck, "stuck"))),
		s.do("Release", held, func(a *act, c *sqladopt.Collection) (any, error) { return c.Release(a.ctx, claim(claimed, held...)) }),
		s.pass("Recover", []string{"stuck"}, func(a *act, c *sqladopt.Collection) ([]string, error) {
			return some(c.Recover(a.ctx, 2*time.Hour, 100))
		}),
		s.pass("Recover early", append([]string{"stuck"}, held...), func(a *act, c *sqladopt.Collection) ([]string, error) {
			return some(c.Recover(a.ctx, time.Minute, 100))
		}),
		s.do("Dropped", []string{"copies"}, func(a *act, c *sqladopt.Collection) (any, error) {
			list, err := c.DropAgain(a.ctx, 100)
			var ids []int64
			for _, again := range list {
				ids = append(ids, again.ID)
			}
			if err != nil {
				return nil, err
			}
			return nil, c.Dropped(a.ctx, ids)
		}),
	}
	if s.owning {
		return list
	}
	return append(list, s.pass("End", append([]string{"two", "solo", "again", "tried", "stuck"}, held...), func(a *act, c *sqladopt.Collection) (out []string, err error) {
		settled, marked, err := c.End(a.ctx, claim(claimed, held...), adopt.EndRequest{Again: 10 * time.Second, Late: graces.Late})
		if err == nil && settled.Gone == 0 { // it is run once more: Mark takes what it has passed by
			marked, err = c.Mark(a.ctx, adopt.MarkRequest{Limit: 100, Late: graces.Late})
		}
		a.fenced(marked.Fence)
		for _, x := range marked.Contents {
			out = append(out, x.Object)
		}
		return append(out, slices.Repeat([]string{"row"}, settled.Gone)...), err
	}))
}

// takes are what becomes of rows without a status.
func (s site) takes() []action {
	return []action{s.pass("Take", []string{"last", "held again", "one", "again"}, func(a *act, c *sqladopt.Collection) ([]string, error) {
		got, err := c.Take(a.ctx, 100, 10*time.Second)
		return slices.Repeat([]string{"row"}, got.Gone), err
	})}
}

// graces of marks.
var graces = adopt.Grace{Late: 15 * time.Minute, LongestWrite: 5 * time.Minute}

// marks are what becomes of contents.
func (s site) marks() []action {
	confirm := func(fence int64, o adopt.Outcome) func(a *act, c *sqladopt.Collection) (any, error) {
		return func(a *act, c *sqladopt.Collection) (any, error) {
			return c.Confirm(a.ctx, fence, []adopt.Outcome{o}, graces)
		}
	}
	return []action{
		s.mark(),
		s.do("Confirm", []string{"marked"}, confirm(marker, adopt.Outcome{Content: "marked"})),
		s.do("Confirm as failed", []string{"marked"}, confirm(marker, adopt.Outcome{Content: "marked", Failed: "no result", Unseen: true})),
		s.do("Confirm late", []string{"silent"}, confirm(silentMarker, adopt.Outcome{Content: "silent"})),
		s.do("Confirm late as failed", []string{"silent"}, confirm(silentMarker, adopt.Outcome{Content: "silent", Failed: "no result", Unseen: true})),
		s.pass("Unmark", []string{"over"}, func(a *act, c *sqladopt.Collection) ([]string, error) { return some(c.Unmark(a.ctx, 100)) }),
	}
}

func (s site) mark() action {
	mark := s.pass("Mark", []string{"zero", "silent", "kept", "again", "forgotten", "born"}, func(a *act, c *sqladopt.Collection) (out []string, err error) {
		got, err := c.Mark(a.ctx, adopt.MarkRequest{Limit: 100, Late: graces.Late})
		a.fenced(got.Fence)
		for _, x := range got.Contents {
			out = append(out, x.Object)
		}
		for _, key := range got.Drifted {
			out = append(out, key+" drifted")
		}
		return out, err
	})
	// A content that had a reference when it was looked at waits no more. If that was about
	// to go, Find finds the content.
	mark.before = func(a *act) error {
		_, _, err := a.collections[s.name].Find(a.ctx, "", 100, 0)
		return err
	}
	return mark
}

// finds are what looks at all contents.
func (s site) finds() []action {
	out := []action{s.do("Find", []string{"found", "zero", "marked", "over", "last", "held solo", "held again", "again", "keep"}, func(a *act, c *sqladopt.Collection) (any, error) {
		_, next, err := c.Find(a.ctx, "", 100, time.Hour)
		return next, err
	})}
	if s.counted {
		out = append(out, s.do("Recount", []string{"drift"}, func(a *act, c *sqladopt.Collection) (any, error) {
			drifts, _, err := c.Recount(a.ctx, "", 100, sqladopt.RepairAll)
			return drifts, err
		}))
	}
	return out
}

// holds are what keeps things.
func (s site) holds() []action {
	object := "content/zero"
	if s.owning {
		object = "zero"
	}
	return []action{
		s.hold("Hold all", adopt.Hold{Scope: adopt.HoldCollection}, "last", "held two", "zero"),
		s.hold("Hold the row last", adopt.Hold{Scope: adopt.HoldRow, Key: "last"}, "last"),
		s.hold("Hold the row held two", adopt.Hold{Scope: adopt.HoldRow, Key: "held two"}, "held two"),
		s.hold("Hold the object zero", adopt.Hold{Scope: adopt.HoldObject, Key: object}, "zero"),
	}
}

func (s site) hold(name string, h adopt.Hold, on ...string) action {
	x := s.do(name, on, func(a *act, c *sqladopt.Collection) (any, error) {
		_, _, err := c.AddHold(a.ctx, h)
		return nil, err
	})
	x.closes = true
	return x
}

// guard is what installs and removes the guard, and what goes by it, and what sets and
// releases holds.
func (s site) guard() []action {
	on := []string{"zero"}
	return []action{
		s.mark(),
		s.do("InstallGuard", on, func(a *act, c *sqladopt.Collection) (any, error) { return nil, c.InstallGuard(a.ctx) }),
		s.do("RemoveGuard", on, func(a *act, c *sqladopt.Collection) (any, error) { return nil, c.RemoveGuard(a.ctx) }),
		s.hold("Hold", adopt.Hold{Scope: adopt.HoldObject, Key: "other"}, "holds"),
		s.do("Release", []string{"holds"}, func(a *act, c *sqladopt.Collection) (any, error) {
			return nil, c.ReleaseHold(a.ctx, adopt.Hold{Scope: adopt.HoldObject, Key: "kept"})
		}),
	}
}

// known is a folder of the fixture.
func known(name string, state adopt.FolderState) adopt.KnownFolder {
	f := adopt.KnownFolder{Name: name, State: state}
	if state >= adopt.FolderMarked {
		f.MarkedAt, f.MarkerAt = base.Add(ended), base.Add(ended)
	}
	return f
}

// folders are what becomes of folders without a row.
func folders() []action {
	do := func(name string, on []string, run func(a *act) (any, error)) action {
		return action{name: "folders: " + name, site: "folders", on: on, run: run}
	}
	return []action{
		do("Note", []string{"new", "rows"}, func(a *act) (any, error) {
			return nil, a.folders.Note(a.ctx, adopt.FolderView{Now: base, Rows: 2}, []string{"new", "seen"})
		}),
		do("Condemn", []string{"seen", "condemned"}, func(a *act) (any, error) { return a.folders.Condemn(a.ctx, []string{"seen", "condemned"}, 1) }),
		do("Marked", []string{"condemned"}, func(a *act) (any, error) {
			return nil, a.folders.Marked(a.ctx, []adopt.KnownFolder{{Name: "condemned", MarkerAt: base.Add(stuck)}})
		}),
		do("Forget seen", []string{"seen"}, func(a *act) (any, error) { return nil, a.folders.Forget(a.ctx, known("seen", adopt.FolderSeen)) }),
		do("Forget condemned", []string{"condemned"}, func(a *act) (any, error) {
			return nil, a.folders.Forget(a.ctx, known("condemned", adopt.FolderMarking))
		}),
		do("Forget marked", []string{"marked"}, func(a *act) (any, error) { return nil, a.folders.Forget(a.ctx, known("marked", adopt.FolderMarked)) }),
		do("Proceed", []string{"marked"}, func(a *act) (any, error) { return a.folders.Proceed(a.ctx, known("marked", adopt.FolderMarked), 1) }),
		do("Purged", []string{"purging"}, func(a *act) (any, error) {
			k := known("purging", adopt.FolderPurging)
			k.Purged = 3
			return nil, a.folders.Purged(a.ctx, k, []string{"purging/x"})
		}),
		do("Gone", []string{"purging"}, func(a *act) (any, error) { return nil, a.folders.Gone(a.ctx, known("purging", adopt.FolderPurging)) }),
	}
}

// keys are what becomes of objects that no row names.
func keys() []action {
	do := func(name string, on []string, run func(a *act) (any, error)) action {
		return action{name: "keys: " + name, site: "keys", on: on, run: run}
	}
	see := func(orphans ...string) func(a *act) (any, error) {
		return func(a *act) (any, error) {
			s := adopt.Seeing{Retention: time.Hour, Most: 10}
			for _, key := range orphans {
				s.Orphans = append(s.Orphans, adopt.OrphanObject{Key: key, Size: 1, Modified: 1})
			}
			return a.keys.See(a.ctx, s)
		}
	}
	return []action{
		do("See", []string{"old", "older", "new"}, see("new", "old", "older")),
		do("See the other way", []string{"old", "older", "new"}, see("older", "old", "new")),
		do("Gone", []string{"old"}, func(a *act) (any, error) { return nil, a.keys.Gone(a.ctx, []string{"old"}) }),
		do("End", []string{"old", "older"}, func(a *act) (any, error) { return nil, a.keys.End(a.ctx, 2, base) }),
	}
}
