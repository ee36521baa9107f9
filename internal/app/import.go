package app

import (
	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe/object/importer"
)

// importers makes importers of foreign keys on a backend. Their listings are
// limited like those of reconcile, their bytes like the copies of placement. All
// imports share one limit.
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
