package adopt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// failing has one row; one of its steps fails.
type failing struct {
	Records
	settle   error
	released int
}

func (f *failing) Claim(context.Context, int) (Claim, error) {
	return Claim{At: 1, Rows: []Row{{Key: "a", Copies: []string{"copy of a"}}}}, nil
}

func (f *failing) Settle(context.Context, Claim, time.Duration) (Settled, error) {
	return Settled{}, f.settle
}

func (f *failing) Release(ctx context.Context, c Claim) (int, error) {
	f.released += len(c.Rows)
	return len(c.Rows), ctx.Err()
}

type brokenCache struct{ err error }

func (c brokenCache) Drop(context.Context, []string) error { return c.err }

// Rows that could not be settled are due again at once, even if the run was
// cancelled.
func TestExpireReleases(t *testing.T) {
	down := errors.New("down")
	for what, c := range map[string]struct{ cache, database error }{"the cache": {cache: down}, "the database": {database: down}} {
		f := &failing{settle: c.database}
		e := &Expire{Collection: "pastes", Records: f, Copies: brokenCache{c.cache}, Batch: 1}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		more, err := e.Pass("")(ctx, func(string, int64) {})
		if more || !errors.Is(err, down) || errors.Is(err, context.Canceled) || f.released != 1 {
			t.Errorf("%s is down: more %v, %v, %d rows released", what, more, err, f.released)
		}
	}
}

// stubborn is rows in the order in which they ended. Settle keeps some as held, and the
// database refuses to claim, take or settle others. Claim and Take know of the holds that
// match.
type stubborn struct {
	Records
	rows          []string
	held, refused map[string]bool
	blind         bool // holds match no row
	rotates       bool // rows that lived again come last
	holds         map[string]bool
	steps         int
}

func (s *stubborn) due(limit int) (out []Row) {
	s.steps++
	for _, key := range s.rows {
		if len(out) < limit && (s.blind || !s.holds[key]) {
			out = append(out, Row{Key: key})
		}
	}
	return out
}

func (s *stubborn) refusal(rows []Row) error {
	for _, r := range rows {
		if s.refused[r.Key] {
			return &Refusal{Rows: rows, Err: errors.New("closed")}
		}
	}
	return nil
}

func (s *stubborn) Claim(_ context.Context, limit int) (Claim, error) {
	rows := s.due(limit)
	return Claim{At: 1, Rows: rows}, s.refusal(rows)
}

func (s *stubborn) Settle(_ context.Context, c Claim, _ time.Duration) (out Settled, _ error) {
	for _, r := range c.Rows {
		others := slices.DeleteFunc(slices.Clone(s.rows), func(key string) bool { return key == r.Key })
		if s.held[r.Key] {
			if s.holds[r.Key], out.Held = true, out.Held+1; s.rotates {
				s.rows = append(others, r.Key)
			}
			continue
		}
		s.rows, out.Gone = others, out.Gone+1
	}
	return out, nil
}

func (s *stubborn) Take(ctx context.Context, limit int, _ time.Duration) (Settled, error) {
	rows := s.due(limit)
	if err := s.refusal(rows); err != nil {
		return Settled{}, err
	}
	return s.Settle(ctx, Claim{Rows: rows}, 0)
}

func (s *stubborn) AddHold(_ context.Context, h Hold) (Hold, UnderWay, error) {
	s.holds[h.Key] = true
	return h, UnderWay{}, nil
}

// A pass ends where holds do not keep their rows from being claimed, and says so. Where they
// do, all other rows go.
func TestPassesEnd(t *testing.T) {
	const rows = "abcdefgh"
	for _, c := range []struct {
		what, held, refused, left string
		batch                     int
		take, blind, rotates      bool
	}{
		{what: "refused claims", refused: "adh", left: "adh", batch: 8},
		{what: "refused, and not held", refused: "adh", blind: true, batch: 8},
		{what: "rows that may not be taken", refused: "adh", left: "adh", batch: 8, take: true},
		{what: "rows that may not be taken, and are not held", refused: "adh", blind: true, batch: 8, take: true},
		{what: "held at the end of a claim", held: "abcd", left: "abcd", batch: 2},
		{what: "held, and claimed again", held: "abcd", blind: true, batch: 2},
		{what: "held, and claimed again in another order", held: rows, blind: true, rotates: true, batch: 2},
		{what: "held, and others go with them", held: "a", left: "a", blind: true, batch: 8},
	} {
		s := &stubborn{rows: strings.Split(rows, ""), held: map[string]bool{}, refused: map[string]bool{}, holds: map[string]bool{}, blind: c.blind, rotates: c.rotates}
		for _, key := range rows {
			s.held[string(key)], s.refused[string(key)] = strings.ContainsRune(c.held, key), strings.ContainsRune(c.refused, key)
		}
		pass := (&Expire{Records: s, Holds: s, Batch: c.batch}).Pass("")
		if c.take {
			pass = (&Take{Records: s, Holds: s, Batch: c.batch}).Pass("")
		}
		var err error
		for more := true; more && err == nil && s.steps < 50; {
			more, err = pass(t.Context(), func(string, int64) {})
		}
		if s.steps == 50 || c.left == "" && (err == nil || !strings.Contains(err.Error(), "row a is claimed again")) ||
			c.left != "" && (err != nil || strings.Join(s.rows, "") != c.left) {
			t.Errorf("%s: after %d steps %q are left, %v", c.what, s.steps, s.rows, err)
		}
	}
}
