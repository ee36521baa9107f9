package sim

// Shrink reduces a failing run to the faults and operations without which it
// does not fail, and returns the shortest run that it found; it tries at most
// limit runs.
func Shrink(failing Result, limit int) Result {
	best := failing
	for progress := true; progress && limit > 0; {
		progress = false
		for _, cut := range cuts(best) {
			if limit--; limit < 0 {
				break
			}
			if r := Run(cut); r.Err != nil && smaller(r, best) {
				best, progress = r, true
				break
			}
		}
	}
	best.Config.Keep = true
	return Run(best.Config)
}

// smaller orders runs by what a reader has to understand: faults, then
// operations, then effects.
func smaller(a, b Result) bool {
	if len(a.Faults) != len(b.Faults) {
		return len(a.Faults) < len(b.Faults)
	}
	if a.Ops != b.Ops {
		return a.Ops < b.Ops
	}
	return a.Effects < b.Effects
}

// cuts lists the ways to leave something more out of a run.
func cuts(r Result) []Config {
	var out []Config
	for i := range r.Config.Clients * r.Config.Ops {
		if !r.Config.NoOp[i] {
			c := r.Config
			c.NoOp = with(r.Config.NoOp, i)
			out = append(out, c)
		}
	}
	for i := range len(r.Faults) + len(r.Config.NoFault) {
		if !r.Config.NoFault[i] {
			c := r.Config
			c.NoFault = with(r.Config.NoFault, i)
			out = append(out, c)
		}
	}
	return out
}

func with(set map[int]bool, i int) map[int]bool {
	more := make(map[int]bool, len(set)+1)
	for k := range set {
		more[k] = true
	}
	more[i] = true
	return more
}
