package reclaim

// Pressure is how much slower than at full speed reclaiming goes, and what asks for
// it.
type Pressure struct {
	// Pace is 0 at full speed, and 4 at the slowest, which keeps about a third.
	Pace int
	// By names what asks for the most: "clients", "clients elsewhere", "database";
	// empty at full speed.
	By string
	// Requests are those for which the clients of this instance wait, where they ask
	// for the most: if for both kinds, then reads.
	Requests Kind
}

// Shared is what instances that work on one ledger tell each other: clients wait
// at one, while another reclaims.
type Shared struct {
	// Pace is what this instance's clients ask for, of those that reclaim.
	Pace int `json:"pace,omitempty"`
	// Reclaiming: it has reclaimed something since it told the last time.
	Reclaiming bool `json:"reclaiming,omitempty"`
}

// foreign is what other instances tell.
type foreign struct {
	pace pace // the slowest that their clients ask for
	busy bool // one of them reclaims
}

// Share answers what other instances should know, and begins anew.
func (g *Governor) Share() (s Shared) {
	if g == nil {
		return s
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
	s = Shared{Pace: int(max(g.reads.pace, g.writes.pace)), Reclaiming: g.worked || g.active > 0}
	g.worked = false
	return s
}

// Heed takes what the other instances told last; who is not there any more tells
// nothing.
func (g *Governor) Heed(others []Shared) {
	if g == nil {
		return
	}
	var f foreign
	if g.Deaf {
		others = nil
	}
	for _, s := range others {
		f.pace = max(f.pace, min(pace(s.Pace), slowestPace))
		f.busy = f.busy || s.Reclaiming
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.other = f
	g.asked()
}

// asked is the slowest pace that anything asks for, and not the sum: politeness to
// several must not let reclaiming starve.
func (g *Governor) asked() pace {
	g.turn()
	p, now := pace(0), Pressure{}
	for _, a := range []struct {
		by       string
		requests Kind
		pace     pace
	}{
		{"clients", Reads, g.reads.pace}, {"clients", Writes, g.writes.pace},
		{"clients elsewhere", "", g.other.pace}, {"database", "", g.Database.now()},
	} {
		if a.pace > p {
			p, now = a.pace, Pressure{int(a.pace), a.by, a.requests}
		}
	}
	if now != g.told {
		g.told = now
		if g.Changed != nil {
			g.Changed(now)
		}
	}
	return p
}

// Pressure answers the pace of now, and what asks for it.
func (g *Governor) Pressure() Pressure {
	if g == nil {
		return Pressure{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked()
	return g.told
}
