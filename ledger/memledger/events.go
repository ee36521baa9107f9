package memledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// events are what is to be delivered.
type events struct {
	taken   []event  // by the transaction
	rows    []*event // by number
	last    int64
	targets map[string]*ledger.EventTarget
}

// event is a row, with its claim.
type event struct {
	ledger.Event
	bucket lethe.ID
	worker string // of the last claim
	fence  int64
}

// happened notes an event, if a rule of the bucket tells of it.
func (db *DB) happened(b *bucket, kind notification.Kind, o ledger.Object, why lethe.Reason) {
	rules, err := notification.Decode(b.Notify)
	if err != nil {
		panic(err) // it was encoded here
	}
	r := rules.For(kind, o.Key)
	if r == nil {
		return
	}
	db.events.taken = append(db.events.taken, event{bucket: b.ID, Event: ledger.Event{Target: r.Target, At: db.now, DueAt: db.now, Event: notification.Event{
		Kind: kind, Rule: r.ID, Owner: b.Owner, Bucket: b.called(), Key: o.Key, Version: o.ID, Size: o.Size, ETag: o.ETag, Reason: why, By: db.receipts.by,
	}}})
}

// storeEvents stores the events of the transaction. Those of a key keep their order.
func (db *DB) storeEvents() {
	slices.SortStableFunc(db.events.taken, func(a, b event) int {
		return cmp.Or(compareIDs(a.bucket, b.bucket), strings.Compare(a.Key, b.Key))
	})
	for _, e := range db.events.taken {
		db.events.last++
		e.No = db.events.last
		db.events.rows = append(db.events.rows, &e)
	}
	db.events.taken = nil
}

// SetNotifications replaces the notification rules of a bucket: ErrNoSuchBucket.
func (db *DB) SetNotifications(ctx context.Context, c ledger.NotificationChange) error {
	var err error
	gone := db.inBucket(ctx, c.Bucket, func(b *bucket) {
		if err = b.meant(c.Into); err != nil {
			return
		}
		b.Notify = c.Rules.Encode()
		for _, name := range c.Rules.Targets() {
			if db.events.targets[name] == nil {
				db.events.targets[name] = &ledger.EventTarget{Name: name}
			}
		}
	})
	return cmp.Or(gone, err)
}

// Notifications returns the notification rules of a bucket: ErrNoSuchBucket.
func (db *DB) Notifications(ctx context.Context, name string) (rules notification.Rules, err error) {
	gone := db.inBucket(ctx, name, func(b *bucket) { rules, err = notification.Decode(b.Notify) })
	return rules, cmp.Or(gone, err)
}

// ClaimEvents claims events of a target that are due, and of each key only as its next ones.
func (db *DB) ClaimEvents(ctx context.Context, c ledger.EventClaim) (ledger.ClaimedEvents, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.ClaimedEvents{}, err
	}
	defer db.leave()
	out := ledger.ClaimedEvents{Now: db.now}
	due := func(e *event) bool { return e.Target == c.Target && !e.Dead && e.DueAt <= db.now }
	to := db.events.targets[c.Target]
	if to == nil || to.RestUntil > db.now || !slices.ContainsFunc(db.events.rows, due) {
		return out, nil
	}
	limit := c.Limit
	out.Failures = to.Failures
	if to.Failures > 0 && to.RestUntil > 0 {
		limit = 1
	}
	db.fence++
	out.Fence = db.fence
	type place struct {
		bucket lethe.ID
		key    string
	}
	waits := map[place]bool{}
	for _, e := range db.events.rows {
		at := place{e.bucket, e.Key}
		if e.Target != c.Target || e.Dead || limit > 0 && len(out.Events) == limit {
			continue
		}
		if !due(e) || waits[at] {
			waits[at] = true
			continue
		}
		e.worker, e.fence, e.DueAt = c.Worker, out.Fence, db.now.Add(c.Lease)
		out.Events = append(out.Events, e.Event)
	}
	return out, nil
}

// SettleEvents records what became of claimed events, and how the target fares.
func (db *DB) SettleEvents(ctx context.Context, s ledger.EventSettlement) (ledger.EventsSettled, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.EventsSettled{}, err
	}
	defer db.leave()
	to := db.events.targets[s.Target]
	if to == nil {
		return ledger.EventsSettled{Fenced: len(s.Results)}, nil
	}
	var out ledger.EventsSettled
	kept := map[int64]bool{}
	for _, r := range s.Results {
		e := db.event(r.No)
		if e == nil || e.Target != s.Target || e.fence != s.Fence || e.fence == 0 || e.Dead {
			continue
		}
		db.settleEvent(e, r)
		if kept[r.No] = r.Outcome != ledger.EventDelivered; !kept[r.No] {
			out.Delivered++
		}
	}
	why := out.Count(s.Results, func(no int64) bool { return kept[no] })
	switch {
	case out.Delivered > 0:
		to.Delivered += int64(out.Delivered)
		to.Failures, to.FailingSince, to.RestUntil = 0, 0, s.RestUntil
	case out.Failed+out.Dead > 0:
		to.Failures++
		to.RestUntil, to.LastError = s.RestUntil, why
		to.FailingSince = cmp.Or(to.FailingSince, db.now)
	}
	return out, nil
}

// settleEvent changes or removes one row.
func (db *DB) settleEvent(e *event, r ledger.EventResult) {
	e.fence, e.DueAt = 0, db.now
	e.LastError = cmp.Or(r.Error, e.LastError)
	switch r.Outcome {
	case ledger.EventDelivered:
		db.dropEvents(func(o *event) bool { return o == e })
	case ledger.EventFailed:
		e.DueAt = r.RetryAt
		e.Attempts++
	case ledger.EventDead:
		e.Dead = true
		e.Attempts++
	}
}

// event returns the row with a number, nil if there is none.
func (db *DB) event(no int64) *event {
	if i := slices.IndexFunc(db.events.rows, func(e *event) bool { return e.No == no }); i >= 0 {
		return db.events.rows[i]
	}
	return nil
}

func (db *DB) dropEvents(which func(*event) bool) (n int) {
	before := len(db.events.rows)
	db.events.rows = slices.DeleteFunc(db.events.rows, which)
	return before - len(db.events.rows)
}

// EventTargets returns the state of every target that a bucket has named, by name.
func (db *DB) EventTargets(ctx context.Context) (out []ledger.EventTarget, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	for _, to := range db.events.targets {
		t := *to
		for _, e := range db.events.rows {
			switch {
			case e.Target != t.Name:
			case e.Dead:
				t.Dead++
			default:
				t.Waiting++
				t.Oldest = cmp.Or(t.Oldest, e.At)
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b ledger.EventTarget) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Events returns a page of the events of a target that wait, or were given up.
func (db *DB) Events(ctx context.Context, q ledger.EventQuery) (out []ledger.Event, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	for _, e := range db.events.rows {
		if e.Target == q.Target && e.Dead == q.Dead && e.No > q.After && (q.Limit <= 0 || len(out) < q.Limit) {
			out = append(out, e.Event)
		}
	}
	return out, nil
}

// selected returns a condition for dead letters.
func selected(s ledger.EventSelection) func(*event) bool {
	return func(e *event) bool {
		return e.Target == s.Target && e.Dead && (s.Numbers == nil || slices.Contains(s.Numbers, e.No))
	}
}

// RequeueEvents has dead letters delivered again, and returns how many.
func (db *DB) RequeueEvents(ctx context.Context, s ledger.EventSelection) (n int, err error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	chosen := selected(s)
	for _, e := range db.events.rows {
		if chosen(e) {
			e.Dead, e.Attempts, e.DueAt = false, 0, e.At
			n++
		}
	}
	return n, nil
}

// DropEvents removes dead letters, and returns how many.
func (db *DB) DropEvents(ctx context.Context, s ledger.EventSelection) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	return db.dropEvents(selected(s)), nil
}

// TrimEvents removes up to a batch of what a target has beyond its bound: dead letters, then
// what waits longest and is not being sent. It returns how many, and counts them as lost.
func (db *DB) TrimEvents(ctx context.Context, trim ledger.EventTrim) (int64, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	to := db.events.targets[trim.Target]
	if to == nil {
		return 0, nil
	}
	var beyond int64
	for _, e := range db.events.rows {
		if e.Target == trim.Target {
			beyond++
		}
	}
	beyond = max(0, min(beyond-trim.Most, int64(trim.Limit)))
	var lost int64
	for _, dead := range []bool{true, false} {
		lost += int64(db.dropEvents(func(e *event) bool {
			if e.Target != trim.Target || e.Dead != dead || e.fence != 0 && e.DueAt > db.now || beyond <= 0 {
				return false
			}
			beyond--
			return true
		}))
	}
	to.Lost += lost
	return lost, nil
}
