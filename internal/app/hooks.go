package app

import (
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Hooks let tests of a whole process intercept its effects. The zero value does
// nothing.
type Hooks struct {
	// Step runs a step of opening.
	Step func(name string, do func() error) error
	// Transactions intercepts the ledger's transactions.
	Transactions sqlledger.Watch
	// Backend and Cache wrap what was opened.
	Backend func(blob.Store) blob.Store
	Cache   func(cache.Cache) cache.Cache
	// Put is called at the stages of a put into a folder: see fsblob.Options.OnPut.
	Put func(key, reached string)
	// RunBeat is the interval of a run's heartbeat; 0: as configured.
	RunBeat time.Duration
}

func (h Hooks) withDefaults() Hooks {
	if h.Step == nil {
		h.Step = func(_ string, do func() error) error { return do() }
	}
	if h.Backend == nil {
		h.Backend = func(s blob.Store) blob.Store { return s }
	}
	if h.Cache == nil {
		h.Cache = func(c cache.Cache) cache.Cache { return c }
	}
	return h
}
