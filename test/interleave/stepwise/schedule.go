package stepwise

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Schedule says which of those who can go on goes on.
type Schedule interface {
	// Next returns one of the actors that can.
	Next(t *Trace, can []int) int
	String() string
}

// Interrupted runs the actors by their order, but for the first: after so many of its
// statements it goes on only where nobody else can.
type Interrupted struct {
	Order []int
	After int
}

// Next implements Schedule.
func (s Interrupted) Next(t *Trace, can []int) int {
	if first := s.Order[0]; len(t.Actors[first].Statements) < s.After && slices.Contains(can, first) {
		return first
	}
	for _, a := range s.Order[1:] {
		if slices.Contains(can, a) {
			return a
		}
	}
	return can[0]
}

// String names the schedule.
func (s Interrupted) String() string {
	return fmt.Sprintf("actor %d interrupted after %d statements by %v", s.Order[0], s.After, s.Order[1:])
}

// Serial is actors that ran one after the other.
type Serial struct {
	Order   []int
	Lengths []int // the statements of each actor
}

// interruptions are schedules in which the first of each order is interrupted once by
// the others: all, or as many as the flags say.
func interruptions(orders []Serial, number uint64) (out []Schedule) {
	for _, o := range orders {
		for after := 1; after < o.Lengths[o.Order[0]]; after++ {
			out = append(out, Interrupted{o.Order, after})
		}
	}
	dice := rand.New(rand.NewPCG(*Seed, number))
	dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if *schedules > 0 && len(out) > *schedules {
		out = out[:*schedules]
	}
	return out
}

// Orders are the permutations of so many.
func Orders(n int) (out [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, o := range Orders(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(o), at, n-1))
		}
	}
	return out
}

// shuffled draws who goes on, and mostly stays with him who went on last.
type shuffled struct {
	seed uint64
	dice *rand.Rand
	last int
}

// Shuffled is a schedule that is drawn by a seed.
func Shuffled(seed uint64) Schedule {
	return &shuffled{seed: seed, dice: rand.New(rand.NewPCG(seed, 11)), last: -1}
}

func (s *shuffled) Next(_ *Trace, can []int) int {
	if !slices.Contains(can, s.last) || s.dice.IntN(3) == 0 {
		s.last = can[s.dice.IntN(len(can))]
	}
	return s.last
}

// String names the schedule.
func (s *shuffled) String() string { return fmt.Sprintf("shuffled by seed %d", s.seed) }
