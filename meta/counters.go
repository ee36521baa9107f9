package meta

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// counters collects what a transaction adds to and takes from the totals; the
// writer flushes it when the transaction's function has succeeded, so that each
// counter is touched once and in one order.
type counters struct {
	blobs   map[blobCounter]sum
	buckets map[lethe.ID]sum
	moves   moves             // for those who count them
	places  map[lethe.ID]bool // contents that placement has to look at
	gone    []receipt.Receipt
}

type blobCounter struct {
	backend string
	state   lethe.State
}

type sum struct{ n, bytes int64 }

func (s sum) plus(n, bytes int64) sum { return sum{s.n + n, s.bytes + bytes} }

// blob adds n blobs of together bytes; both may be negative. State 0 is none.
func (c *counters) blob(backend string, state lethe.State, n, bytes int64) {
	if state == 0 {
		return
	}
	if c.blobs == nil {
		c.blobs = map[blobCounter]sum{}
	}
	k := blobCounter{backend, state}
	c.blobs[k] = c.blobs[k].plus(n, bytes)
}

// move takes blobs from one state to another.
func (c *counters) move(m Move) {
	c.blob(m.Backend, m.From, -m.Blobs, -m.Bytes)
	c.blob(m.Backend, m.To, m.Blobs, m.Bytes)
	c.moves.add(m)
}

// bucket adds n objects of together bytes; both may be negative.
func (c *counters) bucket(id lethe.ID, n, bytes int64) {
	if c.buckets == nil {
		c.buckets = map[lethe.ID]sum{}
	}
	c.buckets[id] = c.buckets[id].plus(n, bytes)
}

var (
	addBlobCounter   = register(addBlobCounters(`(?2, ?3, ?1, ?4, ?5)`))
	moveBlobCounter  = register(addBlobCounters(`(?2, ?3, ?1, ?4, ?5), (?6, ?7, ?1, ?8, ?9)`))
	addBucketCounter = register(`INSERT INTO bucket_counters (bucket_id, slot, n, bytes) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (bucket_id, slot) DO UPDATE SET n = bucket_counters.n + excluded.n, bytes = bucket_counters.bytes + excluded.bytes`)
)

func addBlobCounters(rows string) string {
	return `INSERT INTO blob_counters (backend, state, slot, n, bytes) VALUES ` + rows + `
		ON CONFLICT (backend, state, slot) DO UPDATE SET n = blob_counters.n + excluded.n, bytes = blob_counters.bytes + excluded.bytes`
}

// flush writes the net changes, buckets before backends, each sorted.
func (c *counters) flush(t *tx) error {
	if err := c.flushPlaces(t); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.buckets)) {
		if s := c.buckets[id]; s != (sum{}) {
			if _, err := t.exec(addBucketCounter, id, t.slot(), s.n, s.bytes); err != nil {
				return err
			}
		}
	}
	err := c.flushBlobs(t)
	if err == nil {
		err = c.flushReceipts(t)
	}
	*c = counters{moves: c.moves}
	return err
}

// flushBlobs writes two states with one statement: a blob that moves leaves one and
// enters one.
func (c *counters) flushBlobs(t *tx) error {
	maps.DeleteFunc(c.blobs, func(_ blobCounter, s sum) bool { return s == sum{} })
	keys := slices.SortedFunc(maps.Keys(c.blobs), func(a, b blobCounter) int {
		return cmp.Or(cmp.Compare(a.backend, b.backend), cmp.Compare(a.state, b.state))
	})
	for some := range slices.Chunk(keys, 2) {
		query, args := addBlobCounter, []any{t.slot()}
		if len(some) == 2 {
			query = moveBlobCounter
		}
		for _, k := range some {
			args = append(args, k.backend, int(k.state), c.blobs[k].n, c.blobs[k].bytes)
		}
		if _, err := t.exec(query, args...); err != nil {
			return err
		}
	}
	return nil
}

// slot chooses the stripe of this transaction.
func (t *tx) slot() int { return int(t.now % lethe.Time(t.db.dialect.slots)) }
