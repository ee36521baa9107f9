package app

import (
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// TestHealth: an open breaker is an outage, and after its pause the backend may be tried. Only
// a shut mount guard means that the backend is not in its place.
func TestHealth(t *testing.T) {
	clock := clocktest.At(1)
	breaker := intercept.NewBreaker(intercept.BreakerOptions{Failures: 1, Pause: time.Second, Clock: clock})
	guard := &intercept.MountGuard{}
	down := blobtest.NewFaulty(memblob.New(memblob.Options{}), func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} })
	st := intercept.New(down, guard, breaker)
	s := &Store{
		Backends:    map[string]blob.Store{"main": st},
		breakers:    map[string]*intercept.Breaker{"main": breaker},
		mountGuards: map[string]*intercept.MountGuard{"main": guard},
	}
	if err := s.health("main"); err != nil {
		t.Fatalf("before the first call: %v", err)
	}
	if _, err := st.Stat(t.Context(), "store/aa/x"); !errors.Is(err, blob.ErrDown) {
		t.Fatalf("stat: %v", err)
	}
	if err := s.health("main"); !errors.Is(err, blob.ErrDown) || errors.Is(err, blob.ErrMisplaced) {
		t.Errorf("while the breaker is open: %v", err)
	}
	clock.Advance(time.Second)
	if err := s.health("main"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	guard.Shut("no disk")
	if err := s.health("main"); !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrMisplaced) {
		t.Errorf("with the guard shut: %v", err)
	}
}
