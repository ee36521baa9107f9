package sim

import "maps"

// met is a fault that an effect met, where, and the bits that decided the rest.
type met struct {
	at    spot
	fault Fault
	bits  uint64
}

// orders is in how many orders of the actors a shorter run is tried.
const orders = 8

// Shrink reduces a failing run to the faults and operations without which it
// does not fail in the same way, and returns the shortest run that it found; it
// tries at most limit runs. A run that breaks something else is another failure,
// however short.
func Shrink(failing Result, limit int) Result {
	best := failing
	best.Config.NoOp = maps.Clone(failing.Config.NoOp)
	if best.Config.NoOp == nil {
		best.Config.NoOp = map[int]bool{}
	}
	for i := failing.lingered; i < lingers; i++ { // a shorter run has no more of them
		best.Config.NoOp[failing.Config.Clients*failing.Config.Ops+i] = true
	}
	try := func(c Config) bool {
		for range orders {
			if limit--; limit < 0 {
				return false
			}
			if r := Run(c); r.Violation == failing.Violation && smaller(r, best) {
				best = r
				return true
			}
			c.order++
		}
		return false
	}
	for n := len(best.met) + best.Config.Clients*best.Config.Ops + lingers; n > 0 && limit > 0; {
		shorter := false
		for _, cut := range cuts(best, n) {
			if shorter = try(cut); shorter {
				break
			}
		}
		if !shorter {
			n /= 2
		}
	}
	best.Config.Keep = true
	return Run(best.Config)
}

// smaller orders runs by what a reader has to understand: faults, then
// operations, then effects.
func smaller(a, b Result) bool {
	if len(a.met) != len(b.met) {
		return len(a.met) < len(b.met)
	}
	if a.Ops != b.Ops {
		return a.Ops < b.Ops
	}
	return a.Effects < b.Effects
}

// cuts lists the ways to leave n operations, or n faults, out of a run. Its other
// faults stay where they are.
func cuts(r Result, n int) []Config {
	pinned := map[spot]met{}
	for _, m := range r.met {
		pinned[m.at] = m
	}
	var ops []int
	for i := range r.Config.Clients*r.Config.Ops + lingers {
		if !r.Config.NoOp[i] {
			ops = append(ops, i)
		}
	}
	var out []Config
	for i := 0; i < len(ops); i += n {
		c := r.Config
		c.pinned, c.NoOp = pinned, maps.Clone(r.Config.NoOp)
		for _, op := range ops[i:min(i+n, len(ops))] {
			c.NoOp[op] = true
		}
		out = append(out, c)
	}
	for i := 0; i < len(r.met); i += n {
		c := r.Config
		c.pinned = maps.Clone(pinned)
		for _, m := range r.met[i:min(i+n, len(r.met))] {
			delete(c.pinned, m.at)
		}
		out = append(out, c)
	}
	return out
}
