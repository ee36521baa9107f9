//go:build !failpoints

package failpoint

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
)

// Enabled says that the process can be made to kill itself.
const Enabled = false

// BeatEvery is how often a run shows that it lives; 0 is the engine's own.
const BeatEvery = 0

// Clock returns c.
func Clock(c lethe.Clock) lethe.Clock { return c }

// WrapLedger returns l.
func WrapLedger(l Ledger) Ledger { return l }

// WrapStore returns s.
func WrapStore(s blob.Store) blob.Store { return s }

// WrapCache returns c.
func WrapCache(c cache.Cache) cache.Cache { return c }

// Putting does nothing.
func Putting(_, _ string) {}

// Step runs a step of opening a data folder.
func Step(_ string, effect func() error) error { return effect() }
