package memadopt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// exchanged is a bucket in the place of which another may be put.
type exchanged struct {
	*bucket
	before func() // each put, if set
}

func (e *exchanged) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if before := e.before; before != nil {
		e.before = nil
		before()
	}
	return e.bucket.Put(ctx, key, r, size)
}

// While a process puts an epoch, another one puts, finds and confirms it. Then another bucket takes
// the place of theirs, and the put gets into that: it does not belong to the database.
func TestPairingOfABucketThatIsExchangedDuringAPut(t *testing.T) {
	clock := newClock()
	rows := memadopt.NewPairings(clock, "here")
	store := &exchanged{bucket: &bucket{clock: clock, objects: map[string]lethe.Time{}}}
	nonces := 0
	process := func() *adopt.Pairing {
		return &adopt.Pairing{Place: "b/p/", Rows: rows, Store: store, Boot: clock, Nonce: func() string { nonces++; return fmt.Sprint(nonces) }}
	}
	first, second := process(), process()
	for range 3 {
		for _, p := range []*adopt.Pairing{first, second} {
			if err := p.Admit(t.Context()); err != nil {
				t.Fatal(err)
			}
			clock.Pass(time.Minute)
		}
	}
	if len(store.objects) != 2 {
		t.Errorf("below the prefix are %v, want the last epoch and the one before it", store.keys())
	}
	store.before = func() {
		if err := first.Admit(t.Context()); err != nil {
			t.Error(err)
		}
		store.bucket = &bucket{clock: clock, objects: map[string]lethe.Time{}}
	}
	if err := second.Admit(t.Context()); !errors.Is(err, adopt.ErrUnpaired) {
		t.Errorf("in another bucket: %v", err)
	}
	if len(store.objects) != 1 {
		t.Errorf("in the other bucket are %v, want the epoch that was put late", store.keys())
	}
	if err := second.Accept(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := first.Admit(t.Context()); err != nil {
			t.Errorf("once an operator has accepted it: %v", err)
		}
		clock.Pass(time.Minute)
	}
}

// An earlier build kept only the last epoch. Its pairing goes on, and has the one before it from the
// next on; instances of both builds may move it on by turns.
func TestPairingOfAnEarlierBuild(t *testing.T) {
	clock, ctx := newClock(), t.Context()
	rows := memadopt.NewPairings(clock, "here")
	store := &bucket{clock: clock, objects: map[string]lethe.Time{}}
	const place = "b/p/"
	earlier := func(nonce string) {
		t.Helper()
		seen, err := rows.Paired(ctx, place)
		if err != nil {
			t.Fatal(err)
		}
		begin := rows.BeginEpoch(ctx, place, seen.Epoch, nonce)
		seen.Next = nonce
		clear(store.objects)
		store.objects[fmt.Sprintf(".lethe/epoch/%019d-%s", seen.Number+1, nonce)] = clock.Now()
		if err := errors.Join(begin, rows.ConfirmEpoch(ctx, place, seen)); err != nil {
			t.Fatal(err)
		}
	}
	nonces := 0
	p := &adopt.Pairing{Place: place, Rows: rows, Store: store, Boot: clock, Nonce: func() string { nonces++; return fmt.Sprint("n", nonces) }}
	for _, nonce := range []string{"a", "b", "c"} {
		earlier(nonce)
	}
	for turn := range 2 {
		for range 2 { // a look, and the next epoch
			if err := p.Admit(ctx); err != nil {
				t.Fatalf("after an earlier build, turn %d: %v", turn, err)
			}
			clock.Pass(time.Minute)
		}
		if nonces == 0 || len(store.objects) != 2 {
			t.Errorf("below the prefix are %v, want the last epoch and the one before it", store.keys())
		}
		earlier(fmt.Sprint("d", turn))
	}
	clock.Pass(time.Minute)
	if err := p.Admit(ctx); err != nil { // begins the next, which the earlier build ends
		t.Fatal(err)
	}
	for _, key := range store.keys()[:1] {
		delete(store.objects, key)
	}
	clock.Pass(time.Minute)
	if err := p.Admit(ctx); !errors.Is(err, adopt.ErrUnpaired) || !strings.Contains(err.Error(), "or an instance of an earlier Lethe that works beside this one took that away") {
		t.Errorf("without the one before it: %v", err)
	}
}
