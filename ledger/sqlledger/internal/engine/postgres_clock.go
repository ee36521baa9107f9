package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// clockFresh is how long the last reading of the server's clock is used to decide
	// whether it ran back.
	clockFresh = 5 * time.Second
	// clockAsk is the longest time of a query for the server's time.
	clockAsk = 2 * time.Second
)

// serverClock is the database's clock (docs/protocol.md, rule 10), read at the beginning of
// every transaction. It never runs backwards: neither behind the times this process has
// used, nor behind store.clock_high. That is at most clockStep behind any time used.
type serverClock struct {
	fake  *ledgerClock // replaces the clock in tests
	jump  ledger.Jump
	high  atomic.Int64 // highest time ever used
	wall  atomic.Int64 // last reading
	seen  atomic.Int64 // when it was read, by the monotonic clock
	saved atomic.Int64 // store.clock_high at the last reading
	busy  atomic.Bool  // the highest time is being saved
	noted atomic.Bool  // this process has saved its mark
}

func (c *serverClock) set(fake lethe.Clock) {
	if fake != nil {
		c.fake = &ledgerClock{wall: fake}
	}
}

// read returns the time from the row that the beginning of a transaction returned.
func (c *serverClock) read(row []string) (lethe.Time, error) {
	if len(row) != 2 {
		return 0, fmt.Errorf("%w: the ledger has no row in its table store", lethe.ErrCorrupt)
	}
	wall, err := strconv.ParseInt(row[0], 10, 64)
	if err != nil {
		return 0, err
	}
	saved, err := strconv.ParseInt(row[1], 10, 64)
	if err != nil {
		return 0, err
	}
	c.saved.Store(saved)
	if c.fake != nil {
		raise(&c.fake.high, saved)
		return c.fake.now(), nil
	}
	c.wall.Store(wall)
	c.seen.Store(int64(lethe.Monotonic{}.Now()))
	return lethe.Time(raise(&c.high, max(int64(c.jump.Corrected(lethe.Time(wall))), saved))), nil
}

// from is read for a row that is scanned.
func (c *serverClock) from(r sqldb.Scanner) (lethe.Time, error) {
	row := make([]string, 2)
	err := r.Scan(&row[0], &row[1])
	if errors.Is(err, sql.ErrNoRows) {
		row, err = nil, nil
	}
	if err != nil {
		return 0, err
	}
	return c.read(row)
}

// raise raises v to at least to, and returns it.
func raise(v *atomic.Int64, to int64) int64 {
	for {
		have := v.Load()
		if to <= have {
			return have
		}
		if v.CompareAndSwap(have, to) {
			return to
		}
	}
}

// ClockBehind implements database. It uses a recent reading, else asks the server. If that fails
// there is no removal by age either.
func (p *Server) ClockBehind() time.Duration {
	c := &p.clock
	if c.fake != nil {
		return c.fake.behind()
	}
	if (lethe.Monotonic{}).Now().Sub(lethe.Time(c.seen.Load())) > clockFresh {
		ctx, cancel := context.WithTimeout(context.Background(), clockAsk)
		defer cancel()
		_ = p.View(ctx, Batch, func(*Tx) error { return nil })
	}
	d := lethe.Time(c.high.Load()).Sub(lethe.Time(c.wall.Load()))
	if d <= clockSlack {
		return 0
	}
	return d
}

// save stores the highest time now and then, in its own transaction: transactions would
// queue for a row that each of them changed. After a failure, the next write tries again.
func (p *Server) save(ctx context.Context, s *sqldb.Session, now lethe.Time) {
	c := &p.clock
	if c.noted.Load() && now.Sub(lethe.Time(c.saved.Load())) < clockStep || !c.busy.CompareAndSwap(false, true) {
		return
	}
	defer c.busy.Store(false)
	mark := ""
	if boot, offset := c.jump.Mark(); boot != "" {
		mark = fmt.Sprintf(", boot = '%s', boot_offset = %d", strings.ReplaceAll(boot, "'", "''"), offset)
	}
	text := fmt.Sprintf("UPDATE %s.store SET clock_high = %d%s WHERE one = 1 AND clock_high < %d", sqldb.Quoted(p.o.Schema), now, mark, now)
	if _, err := s.Script(ctx, text); err == nil {
		c.saved.Store(int64(now))
		c.noted.Store(true)
	}
}

// ClockAhead implements database.
func (p *Server) ClockAhead() time.Duration {
	p.ClockBehind() // asks the server, if the last reading is old
	return p.clock.jump.Ahead()
}

func (p *Server) leap() *ledger.Jump { return &p.clock.jump }

func (p *Server) highest() *atomic.Int64 {
	if p.clock.fake != nil {
		return &p.clock.fake.high
	}
	return &p.clock.high
}

func (p *Server) lower(to lethe.Time) {
	high := p.highest()
	p.clock.saved.Store(high.Load())
	high.Store(int64(to))
}
