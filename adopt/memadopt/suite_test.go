package memadopt_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

func TestSuite(t *testing.T) {
	adopttest.Run(t, func(_ *testing.T, v adopttest.Variant) adopttest.Site {
		a := &app{}
		a.Pass(365 * 24 * time.Hour)
		a.db = memadopt.New(memadopt.Options{
			Clock: a, Grace: adopt.DefaultGrace, Keep: v.Keep, Uncounted: v.Uncounted, Quarantine: v.Quarantine, Shared: v.Shared,
			Copies: func(r memadopt.Row) []string {
				copies := []string{adopttest.CopyOf(r.Key)}
				if v.ByContent {
					copies = append(copies, adopttest.CopyByContent(r.Content))
				}
				return copies
			},
		})
		return adopttest.Site{Records: a.db, Contents: a.db, Cached: a.db, Holder: a.db, Taker: a.db, Ender: a.db, Quarantine: a.db.Quarantine(), Troubles: a.db.Troubles(), App: a}
	})
}

func TestOwnedSuite(t *testing.T) {
	adopttest.RunOwned(t, func(_ *testing.T, folders bool) adopttest.OwnedSite {
		a := owner{&app{}}
		a.Pass(365 * 24 * time.Hour)
		a.db = memadopt.New(memadopt.Options{Clock: a, Grace: adopt.DefaultGrace, Owns: []string{adopttest.Owned(folders)}, Prefix: "files/"})
		return adopttest.OwnedSite{Contents: a.db, Holder: a.db, Taker: a.db, App: a}
	})
}

func TestPairings(t *testing.T) {
	a := &app{}
	a.Pass(time.Hour)
	first := memadopt.NewPairings(a, "here")
	adopttest.RunPairings(t, first)
	for place, elsewhere := range map[string]bool{"here": false, "there": true} {
		second := first.Copy(place)
		if p, err := second.Paired(t.Context(), "other/"); err != nil || p.Elsewhere != elsewhere {
			t.Errorf("a copy %s: %+v, %v", place, p, err)
		}
	}
}

// owner is an application whose rows own objects.
type owner struct{ *app }

func (o owner) Insert(_ context.Context, key, name string, in time.Duration) error {
	return refused(o.db.Insert(key, name, o.end(in)))
}

func (o owner) Rename(_ context.Context, key, name string) error {
	return refused(o.db.Move(key, name))
}

// app is an application whose clock has an offset.
type app struct {
	db  *memadopt.DB
	now atomic.Int64
}

func (a *app) Now() lethe.Time { return lethe.Time(a.now.Load()) }

func (a *app) Pass(d time.Duration) { a.now.Add(d.Microseconds()) }

func (a *app) end(in time.Duration) lethe.Time {
	if in == adopttest.Never {
		return 0
	}
	return a.Now().Add(in)
}

func content(name string) memadopt.Content {
	return memadopt.Content{Key: name, Object: adopttest.ObjectOf(name)}
}

func refused(err error) error {
	if errors.Is(err, memadopt.ErrRefused) {
		return fmt.Errorf("%w: %w", adopttest.ErrRefused, err)
	}
	return err
}

func (a *app) Put(_ context.Context, r adopttest.Row) error {
	return refused(a.db.Create(r.Key, content(r.Content), a.end(r.In)))
}

func (a *app) Extend(_ context.Context, key string, in time.Duration) error {
	return a.db.Extend(key, a.end(in))
}

func (a *app) Replace(_ context.Context, key, name string) error {
	return refused(a.db.Replace(key, content(name)))
}

func (a *app) Delete(_ context.Context, key string) error { return a.db.Delete(key) }

func (a *app) Refer(_ context.Context, r adopttest.Row) error {
	a.db.Refer(memadopt.Row{Key: r.Key, Content: r.Content, End: a.end(r.In), Status: memadopt.Live})
	return nil
}

func (a *app) SetCount(_ context.Context, name string, n int64) error {
	if a.db.SetCount(name, n) {
		return nil
	}
	const first = "the first row of "
	err := errors.Join(a.db.Create(first+name, content(name), 0), a.db.Delete(first+name))
	a.db.SetCount(name, n)
	return err
}

func (a *app) Forget(_ context.Context, name string) error {
	if !a.db.Forget(name) {
		return fmt.Errorf("%s is not there, or is referred to", name)
	}
	return nil
}

func (a *app) Pin(_ context.Context, key string, pinned bool) error {
	a.db.Pin(key, pinned)
	return nil
}

func (a *app) Lock(_ context.Context, name string) (func(), error) { return a.db.Lock(name) }

func (a *app) State(_ context.Context, key string) (adopttest.State, error) {
	for _, r := range a.db.Snapshot().Rows {
		if r.Key == key {
			return map[memadopt.Status]adopttest.State{
				memadopt.Live: adopttest.Live, memadopt.Claimed: adopttest.Claimed, memadopt.Deleted: adopttest.Deleted,
			}[r.Status], nil
		}
	}
	return adopttest.Absent, nil
}

func (a *app) Count(_ context.Context, name string) (int64, bool, error) {
	for _, c := range a.db.Snapshot().Contents {
		if c.Key == name {
			return c.Count, true, nil
		}
	}
	return 0, false, nil
}
