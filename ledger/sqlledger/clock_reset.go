package sqlledger

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	countHidden = register(`SELECT count(*) FROM objects WHERE due_at > ?1 AND due_at <= ?2`)
	countLonger = register(`SELECT count(*), coalesce(max(modified_at), 0) FROM objects WHERE due_at > ?1 AND modified_at > ?1 AND (ttl_at <> 0 OR rule_at <> 0)`)
	// idleFrom is the end by idleness of an object that was read at ?1 (ledger.idleEnd).
	idleFrom = fmt.Sprintf(`(?1 + idle_for + idle_for / 10 + %d)`, ledger.IdleMargin.Microseconds())
)

// These statements move what was stamped while the clock was ahead to now (?1). Whatever
// counts from there then counts from now: stale claims, silent writers, undo windows, trust
// of copies. Allowances of a person end. ?2 is the end of a late window that begins now.
// A later instant than that was stamped ahead, or is a retry that now comes sooner. The end of an
// object moves only if a read has set it: the last of its counted reads, or a read of an object
// with an idle time.
var (
	resetHigh = register(`UPDATE store SET clock_high = ?1 WHERE one = 1`)
	resetsNow = []string{
		register(`UPDATE objects SET modified_at = ?1 WHERE modified_at > ?1`),
		// The last read has ended these, so they stay gone.
		register(`UPDATE objects SET ttl_at = ?1, due_at = CASE WHEN due_at > ?1 THEN ?1 ELSE due_at END WHERE reads_left = -1 AND ttl_at > ?1`),
		// Before the trash: a deferred row stays due as long after its deletion as before.
		register(`UPDATE deferred SET due_at = due_at - (SELECT d.deleted_at - ?1 FROM trash d WHERE d.id = deferred.entry)
			WHERE entry IN (SELECT id FROM trash WHERE deleted_at > ?1)`),
		register(`UPDATE trash SET deleted_at = ?1,
				purge_at = CASE WHEN purge_at = 9223372036854775807 THEN purge_at ELSE purge_at - (deleted_at - ?1) END
			WHERE deleted_at > ?1`),
		register(`UPDATE objects SET idle_at = ` + idleFrom + `, due_at = ` + dueBy(`ttl_at`, `rule_at`, idleFrom) + `
			WHERE idle_for <> 0 AND used_at > ?1 AND idle_at > ` + idleFrom),
		register(`UPDATE objects SET used_at = ?1 WHERE used_at > ?1`),
		register(`UPDATE evictions SET kept_at = 0, kept_key = '' WHERE kept_at >= ?1`), // others may lie before it now
		register(`UPDATE trash SET modified_at = ?1 WHERE modified_at > ?1`),
		register(`UPDATE uploads SET created_at = ?1 WHERE created_at > ?1`),
		register(`UPDATE uploads SET touched_at = ?1 WHERE touched_at > ?1`),
		register(`UPDATE backends SET trusted_since = ?1 WHERE trusted_since > ?1`),
		register(`UPDATE backends SET accepted_at = ?1 WHERE accepted_at > ?1`),
		register(`UPDATE blobs SET beat_at = ?1 WHERE state = 1 AND beat_at > ?1`),
		register(`UPDATE blobs SET claimed_at = ?1 WHERE fence <> 0 AND claimed_at > ?1`),
		register(`UPDATE blobs SET died_at = ?1 WHERE died_at > ?1`),
		register(`UPDATE blobs SET verified_at = ?1 WHERE verified_at > ?1`),
		register(`UPDATE blobs SET created_at = ?1 WHERE created_at > ?1`),
		register(`UPDATE ops SET at = ?1 WHERE at > ?1`),
		register(`UPDATE runs SET started_at = ?1 WHERE started_at > ?1`),
		register(`UPDATE runs SET beat_at = ?1 WHERE beat_at > ?1`),
		register(`UPDATE runs SET finished_at = ?1 WHERE finished_at > ?1`),
		register(`UPDATE instances SET beat_at = ?1 WHERE beat_at > ?1`),
		register(`UPDATE reapplications SET started_at = ?1 WHERE started_at > ?1`),
		register(`UPDATE walks SET started_at = ?1 WHERE started_at > ?1`),
		register(`UPDATE limits SET hour = ?1 / 3600000000 WHERE hour > ?1 / 3600000000`),
		register(`UPDATE limits SET tripped_until = (?1 / 3600000000 + 1) * 3600000000 WHERE tripped_at > ?1 AND tripped_until < 9223372036854775807`),
		register(`UPDATE limits SET tripped_at = ?1 WHERE tripped_at > ?1`),
		// It is not known which of them began while the clock was ahead.
		register(`UPDATE limits SET free_until = ?1, free_n = 0 WHERE free_until > ?1`),
		register(`UPDATE admin_tokens SET created_at = ?1,
				expires_at = CASE WHEN expires_at = 0 THEN 0 ELSE expires_at - (created_at - ?1) END
			WHERE created_at > ?1`),
		register(`UPDATE findings SET first_at = ?1 WHERE first_at > ?1`),
		register(`UPDATE receipts SET at = ?1 WHERE at > ?1`),
		register(`UPDATE events SET at = ?1 WHERE at > ?1`),
		register(`UPDATE events SET due_at = ?1 WHERE due_at > ?1`),
		register(`UPDATE event_targets SET failing_since = ?1 WHERE failing_since > ?1`),
		register(`UPDATE event_targets SET rest_until = ?1 WHERE rest_until > ?1`),
	}
	// ?1 is the end of the grace of what was moved into the ledger, if that begins now.
	resetMoved = register(`UPDATE blobs SET due_at = ?1 WHERE state = 3 AND due_at > ?1 AND reason = '` + string(lethe.ReasonRebalance) + `'`)
	resetsSoon = []string{
		register(`UPDATE blobs SET due_at = ?1 WHERE state = 3 AND due_at > ?1 AND reason <> '` + string(lethe.ReasonRebalance) + `'`),
		register(`UPDATE blobs SET late_until = ?1 WHERE late_until > ?1`),
		register(`UPDATE placements SET due_at = ?1 WHERE due_at > ?1`),
	}
)

// Clock compares the ledger's clock with the machine's.
func (db *DB) Clock(ctx context.Context) (s ledger.ClockState, err error) {
	err = db.walk(ctx, "look at the clock", func(t *tx) error {
		s, err = t.clock(db.engine.ClockBehind())
		return err
	})
	return s, err
}

func (t *tx) clock(ahead time.Duration) (ledger.ClockState, error) {
	s := ledger.ClockState{Ledger: t.Now, Wall: t.Now.Add(-ahead), Ahead: ahead}
	if ahead == 0 {
		return s, nil
	}
	if err := t.Row(countHidden, s.Wall, s.Ledger).Scan(&s.Hidden); err != nil {
		return s, t.Failed(err)
	}
	var latest lethe.Time
	err := t.Row(countLonger, s.Wall).Scan(&s.Longer, &latest)
	if s.Longer > 0 {
		s.LongerBy = latest.Sub(s.Wall)
	}
	return s, t.Failed(err)
}

var confirmClock = register(`UPDATE store SET boot = ?1, boot_offset = ?2 WHERE one = 1`)

// ConfirmClock has the next process that opens the ledger take the clock as it is now for
// right, even if it was set forward (ClockAhead). This process goes on without the jump.
func (db *DB) ConfirmClock(ctx context.Context) error {
	return db.batch(ctx, "confirm the clock", func(t *tx) error {
		boot, offset := db.engine.ConfirmedClock()
		_, err := t.Send(confirmClock, boot, offset)
		return err
	})
}

// ResetClock sets the ledger's clock back to the machine's, which a person has found to be
// right. It returns the state before. Nothing expires by the reset. No other process may use
// the ledger: it would keep the time that it has seen. It fails if the clock is not ahead.
func (db *DB) ResetClock(ctx context.Context) (s ledger.ClockState, err error) {
	before := db.engine.HighestTime()
	err = db.batch(ctx, "reset the clock", func(t *tx) error {
		if s, err = t.clock(db.engine.ClockBehind()); err != nil {
			return err
		}
		if s.Ahead == 0 {
			return fmt.Errorf("the ledger's clock is not ahead of the machine's, so there is nothing to reset")
		}
		// Before the end of the transaction, as its COMMIT saves the clock.
		t.LowerClock(s.Wall)
		return t.resetTo(s.Wall)
	})
	if err != nil {
		db.engine.RaiseClock(before)
	}
	return s, err
}

func (t *tx) resetTo(now lethe.Time) error {
	soon := now.Add(max(t.db.o.LateWindow, t.db.o.ReadGrace))
	for _, query := range resetsNow {
		if _, err := t.Send(query, now); err != nil {
			return err
		}
	}
	for _, query := range resetsSoon {
		if _, err := t.Send(query, soon); err != nil {
			return err
		}
	}
	if _, err := t.Send(resetMoved, now.Add(max(t.db.o.LateWindow, t.db.o.ReadGrace, t.db.o.MovedGrace))); err != nil {
		return err
	}
	_, err := t.Send(resetHigh, now)
	return err
}
