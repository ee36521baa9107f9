package adoption

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// AddHold sets a hold, as adopt.Holder does. One that could cover nothing is refused.
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

// covers refuses a hold that can cover nothing of its collection.
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

// LiftHold ends a hold: adopt.ErrNoSuchHold.
func (a *Adoption) LiftHold(ctx context.Context, h adopt.Hold) error {
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
	return k.holder().LiftHold(ctx, h)
}
