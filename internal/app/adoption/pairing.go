package adoption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// pairing returns that of the database with the objects of a collection.
func (a *Adoption) pairing(ctx context.Context, name string) (*adopt.Pairing, error) {
	store, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	a.buckets.mu.Lock()
	defer a.buckets.mu.Unlock()
	p := a.buckets.pairings[name]
	if p == nil {
		p = &adopt.Pairing{
			Place: a.placeOf(name), Rows: a.DB, Store: store, Boot: a.o.Boot, Worker: a.o.Worker,
			Nonce: func() string { return string(lethe.RandomID(a.o.Clock.Now())) },
		}
		if a.buckets.pairings == nil {
			a.buckets.pairings = map[string]*adopt.Pairing{}
		}
		a.buckets.pairings[name] = p
	}
	return p, nil
}

// placeOf names bucket and prefix of a collection. The service is left out, as instances may
// have several names for it, unless the description has two buckets of that name.
func (a *Adoption) placeOf(name string) string {
	c := a.Description.Collections[name]
	return a.place(c, c.Prefix)
}

// place names a prefix in the bucket of a collection.
func (a *Adoption) place(c adopt.Collection, prefix string) string {
	b := a.Description.Buckets[c.Bucket]
	if b.Path != "" {
		return filepath.Clean(b.Path) + "/" + prefix
	}
	place := b.Bucket + "/" + prefix
	for _, other := range a.Description.Buckets {
		if other.Bucket == b.Bucket && !b.Same(other) {
			return b.Service() + "/" + place
		}
	}
	return place
}

// guarded returns the bucket of a collection below a prefix for what changes it: nothing is
// changed unless the objects belong to this database.
func (a *Adoption) guarded(ctx context.Context, name, prefix string) (bucket, error) {
	store, err := a.below(ctx, name, prefix)
	if err != nil {
		return nil, err
	}
	p, err := a.pairing(ctx, name)
	if err != nil {
		return nil, err
	}
	whole, ok := store.(blob.Store)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return hookedBucket{intercept.New(whole, p), store}, nil
}

// epochEvery is the time from one epoch to the next while an instance runs.
const epochEvery = time.Minute

// pairingRoutine moves the epochs of collections that reclaim on, whether they delete or not,
// and keeps the record of what this instance works on.
type pairingRoutine struct{ a *Adoption }

// Name implements reclaim.Routine.
func (pairingRoutine) Name() string { return "pairing" }

// Plan implements reclaim.Routine.
func (pairingRoutine) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass implements reclaim.Routine.
func (r pairingRoutine) Pass(string) reclaim.Step {
	return func(ctx context.Context, _ reclaim.Add) (bool, error) {
		reclaiming := func(name string) bool { return r.a.reclaims(name) && !r.a.suspended.has(name) }
		errs := []error{r.a.beginWork(ctx, reclaiming)}
		for _, name := range r.a.withObjects() {
			if !reclaiming(name) {
				continue
			}
			p, err := r.a.pairing(ctx, name)
			if err == nil {
				err = p.Admit(ctx)
			}
			errs = append(errs, err)
		}
		return false, errors.Join(errs...)
	}
}

// withObjects returns the collections that have objects.
func (a *Adoption) withObjects() []string {
	return slices.DeleteFunc(a.Description.Names(), func(name string) bool { return a.Description.Collections[name].Bucket == "" })
}

// checkPairing finds out whether the objects of a collection may belong to another database.
func (a *Adoption) checkPairing(ctx context.Context, name string) ([]adopt.Finding, error) {
	p, err := a.pairing(ctx, name)
	if err != nil {
		return nil, err
	}
	switch _, err = p.Look(ctx); {
	case errors.Is(err, adopt.ErrUnpaired):
		return []adopt.Finding{{Problem: true, What: err.Error(),
			Do: "give a copy of the database a bucket of its own. If its rows are those of these objects, stop every other that reclaims there, and then:\nlethe adopt accept"}}, nil
	case errors.Is(err, adopt.ErrNoEpoch):
		return []adopt.Finding{{Problem: true, What: err.Error(), Do: "look at that object, and remove it by hand"}}, nil
	case err != nil:
		return nil, err
	}
	return nil, nil
}

// Unpaired returns why objects of collections, of all if none is named, may belong to another
// database, and why that could not be found out, by collection. What no run has paired, or is to
// pair, is left out.
func (a *Adoption) Unpaired(ctx context.Context, only []string) (map[string]error, error) {
	out := map[string]error{}
	for _, name := range a.withObjects() {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		p, err := a.pairing(ctx, name)
		if err != nil {
			return nil, err
		}
		seen, err := a.DB.Paired(ctx, p.Place)
		if err != nil {
			return nil, err
		}
		if seen.Number == 0 && !a.reclaims(name) {
			continue
		}
		if _, err := p.Look(ctx); err != nil {
			out[name] = err
		}
	}
	return out, nil
}

// Accept gives the objects of those collections to this database, and returns which: its operator
// says that its rows are theirs.
func (a *Adoption) Accept(ctx context.Context, only []string) (given []string, err error) {
	unpaired, err := a.Unpaired(ctx, only)
	if err == nil {
		err = a.DB.Install(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(unpaired)) {
		p, err := a.pairing(ctx, name)
		if err == nil {
			err = p.Accept(ctx)
		}
		if err != nil {
			return given, fmt.Errorf("%s: %w", name, err)
		}
		given = append(given, name)
	}
	return given, nil
}

// leave removes the epochs of this database from its buckets, except from those of the given
// collections.
func (a *Adoption) leave(ctx context.Context, except map[string]error) error {
	for _, name := range a.withObjects() {
		if except[name] != nil {
			continue
		}
		p, err := a.pairing(ctx, name)
		if err != nil {
			return err
		}
		seen, err := a.DB.Paired(ctx, p.Place)
		if err == nil && seen.Number > 0 {
			err = p.Leave(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// theirs returns the first reason why buckets may belong to another database.
func theirs(unpaired map[string]error) error {
	for _, name := range slices.Sorted(maps.Keys(unpaired)) {
		return fmt.Errorf("%s: %w: \"lethe adopt accept\" takes it over, --forget leaves it as it is", name, unpaired[name])
	}
	return nil
}
