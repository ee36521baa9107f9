package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// hold sets a hold, or releases one that may exist.
func (h *history) hold() {
	x := ledger.Hold{Bucket: h.bucketName(), Scope: ledger.HoldScope(1 + h.number(3)), Key: h.key(), Reason: "why", By: "me"}
	if x.Scope == ledger.HoldPrefix && h.chance(2) {
		x.Key = ""
	}
	if h.chance(2) {
		ask(h, fmt.Sprintf("hold %+v", x), func(l Ledger) (ledger.Hold, error) { return l.AddHold(h.ctx, x) })
	} else {
		list, _ := ask(h, "holds", func(l Ledger) ([]ledger.Hold, error) { return l.Holds(h.ctx, ledger.HoldQuery{}) })
		if len(list) > 0 && !h.chance(4) {
			x = pick(h, list)
		}
		ask(h, fmt.Sprintf("release %+v", x), func(l Ledger) (any, error) { return nil, l.ReleaseHold(h.ctx, x) })
	}
	if strings.Contains(x.Key, "\x00") {
		return // no place to go on from
	}
	q := ledger.HoldQuery{Bucket: h.one("", x.Bucket), After: x, Limit: h.number(3)}
	ask(h, "holds after", func(l Ledger) ([]ledger.Hold, error) { return l.Holds(h.ctx, q) })
	ask(h, "holds on "+x.Key, func(l Ledger) (int, error) {
		list, err := l.HoldsOn(h.ctx, x.Bucket, x.Key)
		return len(list), err
	})
}

func (h *history) returnDeferred() {
	limit := h.number(4)
	ask(h, fmt.Sprint("return deferred ", limit), func(l Ledger) (ledger.ReturnedRows, error) { return l.ReturnDeferred(h.ctx, limit) })
}

func (h *history) limit() ledger.Limit {
	if h.chance(2) {
		return ledger.Limit{}
	}
	return ledger.Limit{Share: h.number(3) * 30, Floor: int64(h.number(2)), Ask: int64(h.number(3)), PerHour: int64(h.number(4))}
}

// cutting returns a limit that lets only some rows go. A ledger may choose among rows due at
// the same time, so two of them may differ.
func (h *history) cutting() ledger.Limit {
	if l := h.limit(); h.apart == 0 {
		return l
	}
	return ledger.Limit{}
}

// limited expires, purges or claims within limits, or allows what is beyond them.
func (h *history) limited() {
	b := h.batch()
	b.Limits = ledger.Limits{Rules: h.cutting(), TTL: h.cutting(), Purge: h.cutting()}
	switch h.number(6) {
	case 0:
		b.Limits.Rules, b.Limits.TTL = h.limit(), h.limit()
		ask(h, fmt.Sprintf("precheck %+v", b.Limits), func(l Ledger) ([]ledger.LimitState, error) { return l.PrecheckLimits(h.ctx, b.Limits) })
	case 1:
		ask(h, fmt.Sprintf("purge within %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Purge(h.ctx, b) })
	case 2:
		r := ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: h.most(4), Deletes: h.cutting()}
		c, err := ask(h, fmt.Sprintf("claim within %+v", r), func(l Ledger) (ledger.Claimed, error) { return l.ClaimCondemned(h.ctx, r) })
		if err == nil && len(c.Blobs) > 0 {
			h.claims = append(h.claims, c)
		}
	case 3:
		h.allow()
		b.Limits = ledger.Limits{Rules: h.limit(), TTL: h.limit(), Purge: h.limit(), Deletes: h.limit()}
		ask(h, fmt.Sprintf("end trips %+v", b.Limits), func(l Ledger) ([]ledger.LimitState, error) { return l.EndTrips(h.ctx, b.Limits) })
	case 4:
		id, why := h.one("", disk), h.one("", "skew")
		ask(h, "doubt the clock of "+id, func(l Ledger) (string, error) { return l.DoubtClock(h.ctx, id, why) })
	default:
		ask(h, fmt.Sprintf("expire within %+v", b), func(l Ledger) (ledger.Reclaimed, error) { return l.Expire(h.ctx, b) })
	}
	ask(h, "limits", func(l Ledger) ([]ledger.LimitState, error) { return l.LimitStates(h.ctx) })
}

// allow sets an allowance for a limit that has tripped.
func (h *history) allow() {
	list, _ := ask(h, "limits", func(l Ledger) ([]ledger.LimitState, error) { return l.LimitStates(h.ctx) })
	g := pick(h, list)
	if g.Kind == "" || g.Kind == ledger.LimitClock {
		return
	}
	a := ledger.Allowance{Kind: g.Kind, Subject: g.Subject}
	if !h.chance(3) {
		a.Until, a.N = h.clock.Now().Add(time.Duration(h.number(3))*time.Minute), int64(h.number(4))-1
	}
	ask(h, fmt.Sprintf("allow %+v", a), func(l Ledger) (any, error) { return nil, l.AllowBeyondLimit(h.ctx, a) })
}

// changeHold changes the hold of a backend as seen now or earlier.
func (h *history) changeHold() {
	seen := ledger.Backend{ID: h.one(disk, "nowhere"), Held: h.one("", "", "restored"), Intended: int64(h.number(3)), Epoch: int64(h.number(2))}
	list, err := ask(h, "backends", func(l Ledger) ([]ledger.Backend, error) { return l.Backends(h.ctx) })
	if err == nil && h.chance(2) {
		seen = pick(h, list)
	}
	why := pick(h, []ledger.BackendHold{{}, {For: ledger.HeldForAbsence, Reason: "emptied"}, {For: ledger.HeldForLedger, Reason: "emptied"}})
	ask(h, "change hold", func(l Ledger) (any, error) { return nil, l.ChangeHold(h.ctx, seen, why) })
}
