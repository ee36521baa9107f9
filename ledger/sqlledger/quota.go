package sqlledger

import (
	"sync"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// roomChunk is the most bytes of a small write. A quota is exact under concurrent writes,
// which do not wait for each other while there is plenty. While plenty is free a small write
// takes the quota's lock shared: even if as many as there are connections do so, unaware of
// each other, the room is enough for all. Near the quota the lock is exclusive, so each
// write sees what the others took. The lock comes last, before the counters.
const roomChunk = 16 << 20

// quota is the lock of a quota.
type quota struct {
	t     *tx
	name  string
	alone bool // its lock was taken exclusively
}

// nearQuota remembers which quotas are nearly used up.
type nearQuota struct{ names sync.Map }

func (q *quota) isNear() bool {
	_, found := q.t.db.near.names.Load(q.name)
	return found
}

// enter locks the quota. It must be called before usage is added up.
func (q *quota) enter() error {
	if !q.t.concurrentWriters() {
		return nil
	}
	query := passGate
	if q.isNear() {
		query = closeGate
		q.alone = true
	}
	_, err := q.t.exists(query, gateOf("quota", q.name))
	return err
}

// leave returns sqldb.ErrAgain if there was not plenty and the lock was taken shared.
func (q *quota) leave(plenty bool) error {
	if !q.t.concurrentWriters() {
		return nil
	}
	names := &q.t.db.near.names
	switch {
	case plenty && q.alone:
		names.Delete(q.name)
	case !plenty && !q.alone:
		names.Store(q.name, true)
		return sqldb.ErrAgain
	}
	return nil
}

// roomy reports whether n bytes of free may be taken without regard to concurrent writes.
func roomy(free, n, connections int64) bool {
	return n <= 0 || n <= roomChunk && free/connections >= roomChunk
}
