package sim

import (
	"fmt"
	"slices"
)

// Step names an effect: a method of the ledger or of a backend.
type Step string

// Fault is what an effect meets.
type Fault string

// The faults. Not every one applies to every step: see applicable.
const (
	None        Fault = ""
	NotDone     Fault = "not-done"     // no effect, certain error
	Undone      Fault = "unknown-not"  // no effect, the caller cannot tell
	DoneError   Fault = "unknown-done" // the effect, the caller cannot tell
	Late        Fault = "late"         // the caller is told unknown, the effect lands later
	Down        Fault = "down"         // the backend is down
	Partial     Fault = "partial"      // part of a batch or of the bytes, or an answer that leaves keys out
	CrashBefore Fault = "crash-before"
	CrashAfter  Fault = "crash-after"
	Zombie      Fault = "zombie" // the actor sleeps longer than any grace, then goes on

	// Of a copy at rest; they act when somebody opens it.
	Flipped   Fault = "flipped"   // one bit is another
	Truncated Fault = "truncated" // its end is missing
	Vanished  Fault = "vanished"  // all of it is
)

// Cell is a step meeting a fault.
type Cell struct {
	Step  Step
	Fault Fault
}

// String returns "step/fault".
func (c Cell) String() string { return string(c.Step) + "/" + string(c.Fault) }

// The kinds of steps by what may happen to them.
var (
	ledgerWrites = []Step{
		"begin", "beat", "abandon", "condemn-late", "commit", "delete", "update",
		"create-upload", "commit-part", "complete", "abort",
		"restore", "purge-now", "extend-grace", "count-read", "note-reads",
		"expire", "claim", "settle", "recover", "claim-intents", "promote",
		"condemn-intent", "release-intent", "abort-stale", "purge", "prune",
		"set-rules", "reapply", "abort-ruled",
		"claim-place", "settle-place", "keep-place", "misplace", "begin-copy", "commit-copy", "trim", "move-in", "set-draining", "mark",
		"begin-walk", "save-walk", "sight", "condemn-orphans", "finish-walk",
		"add-hold", "release-hold", "return-deferred",
		"precheck", "allow", "end-trips",
		"set-epoch", "intend-epoch", "accept-epoch", "hold-backend", "doubt-clock",
		"seal", "drop-receipts",
		"requeue", "write-off",
		"claim-events", "settle-events",
	}
	ledgerReads = []Step{"resolve", "list", "outcome", "upload", "parts", "stale-uploads", "bucket", "trash", "ruled-uploads", "due-buckets", "unsealed", "event-targets"}
	blobWrites  = []Step{"put", "unlink"}
	blobReads   = []Step{"get", "read", "stat", "walk-keys"}
	latent      = []Step{"decay"}
	remote      = []Step{"send"}
)

var (
	writeFaults = []Fault{NotDone, Undone, DoneError, Late, CrashBefore, CrashAfter, Zombie}
	readFaults  = []Fault{NotDone, CrashBefore, Zombie}
	blobFaults  = []Fault{NotDone, Undone, DoneError, Late, Down, Partial, CrashBefore, CrashAfter, Zombie}
)

// applicable lists the faults that a step can meet.
func applicable(step Step) []Fault {
	switch {
	case slices.Contains(ledgerWrites, step):
		return writeFaults
	case slices.Contains(ledgerReads, step):
		return readFaults
	case slices.Contains(blobWrites, step):
		return blobFaults
	case slices.Contains(blobReads, step):
		return []Fault{NotDone, Down, CrashBefore, Zombie}
	case slices.Contains(remote, step):
		return []Fault{NotDone, Undone, DoneError, Late, Down, CrashBefore, CrashAfter, Zombie}
	case slices.Contains(latent, step):
		return []Fault{Flipped, Truncated, Vanished}
	}
	panic(fmt.Sprintf("sim: step %q has no faults listed", step))
}

// rare steps meet faults so many times more often than others, so that every
// cell of the matrix is hit in a run of ordinary length.
var rare = map[Step]uint64{
	"claim-events": 4, "settle-events": 8, "event-targets": 4, "send": 4,
	"seal": 20, "drop-receipts": 10, "unsealed": 2, "promote": 90, "release-intent": 60, "stat": 20, "condemn-intent": 4, "abort-stale": 8, "abort": 4,
	"extend-grace": 8, "due-buckets": 8, "purge-now": 6, "restore": 3, "outcome": 4, "list": 3, "complete": 2,
	"count-read": 6, "note-reads": 6, "requeue": 20, "write-off": 20, "abort-ruled": 60, "reapply": 4, "set-rules": 2,
	"condemn-late": 90, "keep-place": 60, "set-draining": 8, "mark": 8, "misplace": 6, "trim": 12, "commit-copy": 3,
	"add-hold": 6, "release-hold": 6, "return-deferred": 6,
	"precheck": 6, "allow": 12, "end-trips": 2, "intend-epoch": 16, "accept-epoch": 90, "hold-backend": 16, "doubt-clock": 4,
	"decay": 60, "begin-walk": 3, "save-walk": 6, "sight": 6, "condemn-orphans": 30, "finish-walk": 12, "walk-keys": 2,
}

// table is what a fault is drawn from at each step: what is applicable.
var table = func() map[Step][]Fault {
	m := map[Step][]Fault{}
	for _, c := range Cells() {
		m[c.Step] = append(m[c.Step], c.Fault)
	}
	for _, s := range []Step{"promote", "release-intent", "finish-walk", "intend-epoch", "accept-epoch", "accept-epoch", "requeue", "write-off", "write-off", "write-off", "condemn-late", "condemn-late", "condemn-late"} { // few of them: most zombies never wake
		m[s] = append(m[s], Zombie)
	}
	m["promote"] = append(m["promote"], Zombie, Late) // another may have finished the write meanwhile
	return m
}()

// Cells lists every applicable cell of the fault matrix in a fixed order.
func Cells() []Cell {
	var cells []Cell
	for _, steps := range [][]Step{ledgerWrites, ledgerReads, blobWrites, blobReads, latent, remote} {
		for _, s := range steps {
			for _, f := range applicable(s) {
				cells = append(cells, Cell{s, f})
			}
		}
	}
	return cells
}

// mix is splitmix64: a good hash of a counter, for decisions that must not
// depend on how many were taken before.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// draw combines a seed with what a decision is about.
func draw(seed uint64, parts ...uint64) uint64 {
	h := mix(seed)
	for _, p := range parts {
		h = mix(h ^ p)
	}
	return h
}
