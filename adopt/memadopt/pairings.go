package memadopt

import (
	"context"
	"maps"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Pairings are the records of prefixes, of a database in a place. They are safe for
// concurrent use.
type Pairings struct {
	clock lethe.Clock
	place string

	mu   sync.Mutex
	rows map[string]pairing // by the name of bucket and prefix
}

// pairing is a record, and the place of the database that wrote it.
type pairing struct {
	adopt.Paired
	written string
}

var _ adopt.PairingRows = (*Pairings)(nil)

// NewPairings returns the records of a new database.
func NewPairings(clock lethe.Clock, place string) *Pairings {
	return &Pairings{clock: clock, place: place, rows: map[string]pairing{}}
}

// Copy returns those of a copy of the database.
func (p *Pairings) Copy(place string) *Pairings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Pairings{clock: p.clock, place: place, rows: maps.Clone(p.rows)}
}

// Paired implements adopt.PairingRows.
func (p *Pairings) Paired(_ context.Context, place string) (adopt.Paired, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[place]
	r.Now, r.Elsewhere = p.clock.Now(), r.written != "" && r.written != p.place
	return r.Paired, nil
}

// BeginEpoch implements adopt.PairingRows.
func (p *Pairings) BeginEpoch(_ context.Context, place string, seen adopt.Epoch, nonce string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[place]
	if r.Epoch != seen || r.Next != "" {
		return lethe.ErrFenced
	}
	r.Next, r.written = nonce, p.place
	p.rows[place] = r
	return nil
}

// ConfirmEpoch implements adopt.PairingRows.
func (p *Pairings) ConfirmEpoch(_ context.Context, place string, seen adopt.Paired) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[place]
	if r.Epoch != seen.Epoch || r.Next != seen.Next || seen.Next == "" {
		return lethe.ErrFenced
	}
	last := adopt.Epoch{Number: r.Number + 1, Nonce: r.Next}
	p.rows[place] = pairing{adopt.Paired{Epoch: last, At: p.clock.Now()}, r.written}
	return nil
}

// AcceptEpoch implements adopt.PairingRows.
func (p *Pairings) AcceptEpoch(_ context.Context, place string, last adopt.Epoch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows[place] = pairing{adopt.Paired{Epoch: last}, p.place}
	return nil
}
