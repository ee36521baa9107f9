package app

import (
	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe/object/importer"
)

// importers makes objects of what is foreign on a backend, at the pace at which
// backends are listed for reconcile, and at which placement copies: one pace for
// all imports.
func (s *Store) importers() func(backend string) (*importer.Importer, error) {
	c := s.Config.Reclaim.Reconcile
	o := importer.Options{Objects: s.Objects, Store: s.Identity.ID, Workers: c.Workers, Bytes: s.copyRate}
	if c.RatePerSecond > 0 {
		o.Call = rate.NewLimiter(rate.Limit(c.RatePerSecond), c.RatePerSecond).Wait
	}
	return func(backend string) (*importer.Importer, error) {
		o := o
		o.Backend, o.Source = backend, s.Backends[backend]
		return importer.New(o)
	}
}
