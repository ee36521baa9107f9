package sim

// Kind is what a seed's world has beside clients, workers and faults: a set of bits.
type Kind uint

// The kinds of worlds.
const (
	Placed     Kind = 1 << iota // placement over three backends, one of which may drain
	Replicated                  // more than one copy of each content
	Pounced                     // a backend is lost just while a worker looks
	Lurked                      // a backend is lost while its copy alone is unread
	Held                        // holds are set and released
	Reconciled                  // backends are compared with the ledger
	Sealed                      // receipts of deletion are sealed and dropped
	Limited                     // deletions are limited, and the limits change
	Paired                      // the guard is at work, epochs and clocks go wrong
	Capped                      // one run takes only so much
	Buried                      // persons look after the dead letters
	Rated                       // deletes a second are limited
	Dwelt                       // a reader stands still until what it has to read was moved
	Decaying                    // copies at rest decay unannounced
	Composed                    // uploads are composed of copies; where copies decay, so do parts
	Counted                     // reads of some objects are counted
	Told                        // buckets tell what becomes of their objects
	Keyed                       // access keys limit how long objects live
	Idle                        // some objects are kept only as long as they are read
	Evicting                    // a bucket makes room when it is full
)

// Kinds tells what the world of a seed has, without running it: a search for what
// is rare need not pass through worlds in which it cannot be.
func Kinds(seed uint64) Kind {
	w := &World{cfg: Config{Seed: seed}}
	var out Kind
	for kind, has := range map[Kind]bool{
		Placed: w.placed(), Replicated: w.replicas() > 1, Pounced: w.pounces(),
		Lurked: w.placed() && w.lurks(), Held: w.holding(), Reconciled: w.reconciled(), Sealed: w.sealing(),
		Limited: w.limited(), Paired: w.paired(), Capped: w.capped(), Dwelt: w.dwells(), Buried: w.buries(), Rated: w.rated(), Decaying: w.decays(), Composed: w.composes(), Counted: w.counts(), Told: w.tells(), Keyed: w.keyed(), Idle: w.idles(), Evicting: w.evicts(),
	} {
		if has {
			out |= kind
		}
	}
	return out
}
