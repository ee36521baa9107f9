package sqlledger

import (
	"sync"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// A quota is exact, also while many take room at once, without making them wait
// for each other as long as there is plenty: who takes a little (at most
// roomChunk) of what is roomy passes the quota's gate together with others. Even if
// as many as there can be connections do so at once, none of which sees what the
// others take, it is enough for all. Near the quota one passes at a time, and so
// sees all that was taken. The gate is passed last, before the counters.
const roomChunk = 16 << 20

// quota is the lock of a quota.
type quota struct {
	t     *tx
	name  string
	alone bool // its gate was passed alone
}

// tightness remembers what was found near its quota.
type tightness struct{ names sync.Map }

func (q *quota) tight() bool {
	_, found := q.t.db.pg.tight.names.Load(q.name)
	return found
}

// enter is to be called before what is taken is added up.
func (q *quota) enter() error {
	if !q.t.crowded() {
		return nil
	}
	query := passGate
	if q.tight() {
		query = closeGate
		q.alone = true
	}
	_, err := q.t.exists(query, gateOf("quota", q.name))
	return err
}

// leave reports whether there was plenty: sqldb.ErrAgain if the gate should have been
// passed alone.
func (q *quota) leave(plenty bool) error {
	if !q.t.crowded() {
		return nil
	}
	names := &q.t.db.pg.tight.names
	switch {
	case plenty && q.alone:
		names.Delete(q.name)
	case !plenty && !q.alone:
		names.Store(q.name, true)
		return sqldb.ErrAgain
	}
	return nil
}

// roomy reports whether so much may be taken of what is free without looking at what
// others take.
func roomy(free, n, connections int64) bool {
	return n <= 0 || n <= roomChunk && free/connections >= roomChunk
}
