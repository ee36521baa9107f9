package sqlledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/receipt"
)

// counters collects a transaction's changes of the totals, and other rows that are written
// once at its end. They are flushed when the transaction's function has succeeded.
type counters struct {
	totals
	moves  moves             // for subscribers of OnMoves
	places map[lethe.ID]bool // contents that placement must look at
	gone   []receipt.Receipt
	events []eventRow
}

// move counts blobs that go from one state to another.
func (c *counters) move(m ledger.Move) {
	c.blob(m.Backend, m.From, -m.Blobs, -m.Bytes)
	c.blob(m.Backend, m.To, m.Blobs, m.Bytes)
	c.moves.add(m)
}

// flush writes everything, the totals last, as others wait for their rows. In a group, the
// group writes the totals.
func (c *counters) flush(t *tx) error {
	if err := c.flushPlaces(t); err != nil {
		return err
	}
	if err := c.flushReceipts(t); err != nil {
		return err
	}
	if err := c.flushEvents(t); err != nil {
		return err
	}
	if err := t.Aborted(); err != nil { // the rest would be rolled back
		return err
	}
	if t.Group != nil {
		t.Group.(*common).add(c.totals)
	} else if err := c.write(t.Tx); err != nil {
		return err
	}
	*c = counters{moves: c.moves}
	return nil
}

// totals are the changes of counters by a transaction, or a group of them.
type totals struct {
	blobs   map[blobCounter]sum
	buckets map[lethe.ID]sum
}

type blobCounter struct {
	backend string
	state   lethe.State
}

type sum struct{ n, bytes int64 }

func (s sum) plus(n, bytes int64) sum { return sum{s.n + n, s.bytes + bytes} }

// blob adds n blobs with a total of bytes; both may be negative. State 0 is none.
func (c *totals) blob(backend string, state lethe.State, n, bytes int64) {
	if state == 0 {
		return
	}
	if c.blobs == nil {
		c.blobs = map[blobCounter]sum{}
	}
	k := blobCounter{backend, state}
	c.blobs[k] = c.blobs[k].plus(n, bytes)
}

// bucket adds n objects with a total of bytes; both may be negative.
func (c *totals) bucket(id lethe.ID, n, bytes int64) {
	if c.buckets == nil {
		c.buckets = map[lethe.ID]sum{}
	}
	c.buckets[id] = c.buckets[id].plus(n, bytes)
}

// add adds other changes.
func (c *totals) add(o totals) {
	for k, s := range o.blobs {
		c.blob(k.backend, k.state, s.n, s.bytes)
	}
	for id, s := range o.buckets {
		c.bucket(id, s.n, s.bytes)
	}
}

func (c totals) empty() bool { return len(c.blobs) == 0 && len(c.buckets) == 0 }

var (
	addBlobCounter   = register(addBlobCounters(`(?1, ?2, ` + engine.Slot + `, ?3, ?4)`))
	moveBlobCounter  = register(addBlobCounters(`(?1, ?2, ` + engine.Slot + `, ?3, ?4), (?5, ?6, ` + engine.Slot + `, ?7, ?8)`))
	addBucketCounter = register(`INSERT INTO bucket_counters (bucket_id, slot, n, bytes) VALUES (?1, ` + engine.Slot + `, ?2, ?3)
		ON CONFLICT (bucket_id, slot) DO UPDATE SET n = bucket_counters.n + excluded.n, bytes = bucket_counters.bytes + excluded.bytes`)
)

func addBlobCounters(rows string) string {
	return `INSERT INTO blob_counters (backend, state, slot, n, bytes) VALUES ` + rows + `
		ON CONFLICT (backend, state, slot) DO UPDATE SET n = blob_counters.n + excluded.n, bytes = blob_counters.bytes + excluded.bytes`
}

// write writes the net changes, so that each counter is written once and in one order:
// buckets before backends, each sorted.
func (c *totals) write(t *engine.Tx) error {
	for _, id := range slices.Sorted(maps.Keys(c.buckets)) {
		if s := c.buckets[id]; s != (sum{}) {
			if _, err := t.Send(addBucketCounter, id, s.n, s.bytes); err != nil {
				return err
			}
		}
	}
	return c.writeBlobs(t)
}

// writeBlobs writes two states with one statement: a blob that changes state leaves one and
// enters one.
func (c *totals) writeBlobs(t *engine.Tx) error {
	maps.DeleteFunc(c.blobs, func(_ blobCounter, s sum) bool { return s == sum{} })
	keys := slices.SortedFunc(maps.Keys(c.blobs), func(a, b blobCounter) int {
		return cmp.Or(cmp.Compare(a.backend, b.backend), cmp.Compare(a.state, b.state))
	})
	for some := range slices.Chunk(keys, 2) {
		query, args := addBlobCounter, []any(nil)
		if len(some) == 2 {
			query = moveBlobCounter
		}
		for _, k := range some {
			args = append(args, k.backend, int(k.state), c.blobs[k].n, c.blobs[k].bytes)
		}
		if _, err := t.Send(query, args...); err != nil {
			return err
		}
	}
	return nil
}

// common are the totals of the members of a group, which share one row for each counter.
// They are written once for all, before COMMIT, or before a member reads the counters.
type common struct {
	totals
	wrote totals // by the current member, which may still be rolled back
	// ruled are the buckets that members have read, by name. A statement that may change one
	// empties it.
	ruled map[string]ruled
}

func newCommon() engine.Group { return &common{} }

// Runs implements engine.Group.
func (c *common) Runs(query string) bool {
	if len(c.ruled) > 0 && !strings.HasPrefix(query, "SELECT") && strings.Contains(query, "buckets") {
		clear(c.ruled)
	}
	return !c.empty() && strings.Contains(query, "_counters")
}

// Flush implements engine.Group.
func (c *common) Flush(t *engine.Tx) error {
	all := c.totals
	c.totals = totals{}
	c.wrote.add(all)
	return all.write(t)
}

// Kept implements engine.Group.
func (c *common) Kept() { c.wrote = totals{} }

// Undone implements engine.Group.
func (c *common) Undone() {
	c.add(c.wrote)
	c.wrote = totals{}
	clear(c.ruled)
}

// Reasons of moves that are not reasons to condemn.
const (
	moveConfirmed  lethe.Reason = "confirmed"
	moveAttempts   lethe.Reason = "attempts"
	moveRequeued   lethe.Reason = "requeued"
	moveWrittenOff lethe.Reason = "written_off"
	movePromoted   lethe.Reason = "promoted"
)

// OnMoves sets the function that receives the moves of each transaction after its COMMIT. It
// must return fast, and may be called from several goroutines at once. Call OnMoves before
// the ledger is used.
func (db *DB) OnMoves(fn func([]ledger.Move)) { db.moved = fn }

// moves sums up the blobs and bytes of a transaction's moves.
type moves map[ledger.Move]sum

func (m *moves) add(v ledger.Move) {
	if *m == nil {
		*m = moves{}
	}
	n, bytes := v.Blobs, v.Bytes
	v.Blobs, v.Bytes = 0, 0
	(*m)[v] = (*m)[v].plus(n, bytes)
}

// publish reports the moves once their transaction is committed.
func (c *counters) publish(moved func([]ledger.Move)) {
	if moved != nil && len(c.moves) > 0 {
		moved(c.moves.list())
	}
}

func (m moves) list() []ledger.Move {
	out := make([]ledger.Move, 0, len(m))
	for v, s := range m {
		v.Blobs, v.Bytes = s.n, s.bytes
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b ledger.Move) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
