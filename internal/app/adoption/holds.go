package adoption

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// AddHold sets a hold, as adopt.Holder does. One that cannot cover anything is
// refused.
func (a *Adoption) AddHold(ctx context.Context, h adopt.Hold) (adopt.Hold, adopt.UnderWay, error) {
	k, err := a.kindOf(h.Collection)
	if err == nil {
		err = covers(h, a.Description.Collections[h.Collection])
	}
	if err == nil {
		err = a.DB.Install(ctx)
	}
	if err != nil {
		return h, adopt.UnderWay{}, err
	}
	return k.holder().AddHold(ctx, h)
}

// Known reports whether the row or the object of a hold on records exists now:
// otherwise it may be misspelled. For other holds it returns true.
func (a *Adoption) Known(ctx context.Context, h adopt.Hold) (bool, error) {
	if c := a.Description.Collections[h.Collection]; c.Kind == adopt.OfFolders || c.Kind == adopt.OfKeys || h.Scope != adopt.HoldRow && h.Scope != adopt.HoldObject {
		return true, nil
	}
	facts, err := a.Explain(ctx, h.Collection, h.Key)
	return slices.ContainsFunc(facts, func(f sqladopt.Fact) bool { return f.At == 0 && f.What != h.Why() }), err
}

// covers returns an error for a hold that cannot cover anything of its
// collection.
func covers(h adopt.Hold, c adopt.Collection) error {
	records := c.Kind != adopt.OfFolders && c.Kind != adopt.OfKeys
	below := strings.HasPrefix(h.Key, c.Prefix)
	switch {
	case h.Scope == adopt.HoldRow && !records:
		return fmt.Errorf("collection %s has no rows that go: hold its objects", h.Collection)
	case (h.Scope == adopt.HoldObject || h.Scope == adopt.HoldPrefix) && records && !c.HasObjects():
		return fmt.Errorf("collection %s has no objects: hold its rows", h.Collection)
	case h.Scope == adopt.HoldObject && !below, h.Scope == adopt.HoldPrefix && !below && !strings.HasPrefix(c.Prefix, h.Key):
		return fmt.Errorf("no object of %s can be held by %q: give the whole key, which begins with %q", h.Collection, h.Key, c.Prefix)
	}
	return nil
}

// ReleaseHold removes a hold. It fails with adopt.ErrNoSuchHold.
func (a *Adoption) ReleaseHold(ctx context.Context, h adopt.Hold) error {
	installed, err := a.DB.Installed(ctx)
	if err != nil {
		return err
	}
	if !installed {
		return adopt.ErrNoSuchHold
	}
	k, err := a.kindOf(h.Collection)
	if err != nil {
		return err
	}
	return k.holder().ReleaseHold(ctx, h)
}
