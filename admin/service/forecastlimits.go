package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// limitedKind is a kind of limit and the name of its bucket; empty: it is of the store.
type limitedKind struct {
	kind   ledger.LimitKind
	bucket string
}

// forecastLimits is what limits would stop, by the code that enforces them.
type forecastLimits struct {
	f      *forecast
	p      predict.Predictor
	states map[limitedKind]ledger.LimitState
	// now is what limits keep of what is due already; nil if there is too much to read.
	now *[]predict.Share
	// trash counts the trash of the whole store by day, if its limit is set.
	trash map[lethe.Time]int64
	gone  map[string]int64 // by bucket, on the days before
}

// errTooMany ends a reading that would take too long.
var errTooMany = errors.New("too many rows for an answer")

// limits reads what decides about limits. What is due already is read row by row: a plan shows the
// same. Of a store without limits only what deleted buckets have is added.
func (f *forecast) limits(ctx context.Context) (*forecastLimits, error) {
	l := &forecastLimits{f: f, p: f.service.predictor(), states: map[limitedKind]ledger.LimitState{}, gone: map[string]int64{}}
	list, err := f.service.o.Ledger.LimitStates(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range list {
		l.states[limitedKind{g.Kind, g.Name}] = g
	}
	left := f.service.o.MaxCounted
	lost := map[usage.Due]usage.Due{}
	shares, err := l.p.Shares(ctx, f.only.ID, func(d ledger.Due) error {
		if left--; left < 0 {
			return errTooMany
		}
		if d.BucketName == "" && d.By != ledger.EndsByUndo {
			addLost(lost, d)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errTooMany) {
		return nil, err
	}
	if err == nil {
		l.now = &shares
		for _, d := range lost {
			f.add("", d)
		}
	}
	if l.p.Limits.Purge.On() {
		err = l.countTrash(ctx, &left)
	}
	if errors.Is(err, errTooMany) {
		err = nil
	}
	return l, err
}

// addLost adds an object of a bucket that was deleted, which is due.
func addLost(lost map[usage.Due]usage.Due, d ledger.Due) {
	k := usage.Due{By: d.By, Rule: d.Rule}
	sum, known := lost[k]
	if !known {
		sum = k
	}
	sum.Add(usage.Amount{Objects: 1, Bytes: d.Size})
	if d.Refs <= 1 {
		sum.Freed += d.BlobBytes
	} else {
		sum.AtLeast = true
	}
	lost[k] = sum
}

// countTrash counts the trash of the store by day.
func (l *forecastLimits) countTrash(ctx context.Context, left *int) error {
	days := map[lethe.Time]int64{}
	err := l.p.Trash(ctx, l.f.until-1, func(d predict.Due) error {
		if *left--; *left < 0 {
			return errTooMany
		}
		if !d.Held {
			days[lethe.FromTime(d.At.Time().Truncate(24*time.Hour))]++
		}
		return nil
	})
	if err == nil {
		l.trash = days
	}
	return err
}

// of returns the limits that would stop some of a day, and counts what goes.
func (l *forecastLimits) of(d *forecastDay) (out []api.ForecastLimit) {
	if d.at == 0 && l.now != nil {
		for _, s := range *l.now {
			out = append(out, api.ForecastLimit{Kind: string(s.State.Kind), Bucket: s.State.Name, Due: s.Due, Goes: s.Goes, Why: s.Why})
		}
		l.leave(d)
		return out
	}
	due, held := map[limitedKind]int64{}, map[limitedKind]int64{}
	var order []limitedKind
	for _, c := range d.By {
		at := limitedKind{ledger.Cause(c.By).Limit(), c.Bucket}
		if at.kind == ledger.LimitPurge {
			at.bucket = ""
		}
		if at.kind != "" && !slices.Contains(order, at) {
			order = append(order, at)
		}
		due[at] += c.Objects
		if d.at != 0 { // of what is due already it may be set aside
			held[at] += c.Held.Objects
		}
	}
	for _, at := range order {
		if all := l.trash[d.at]; at.kind == ledger.LimitPurge && all > 0 {
			due[at] = all
		}
		b := l.f.buckets[at.bucket]
		g, known := l.states[at]
		if !known {
			g = ledger.LimitState{Kind: at.kind, Subject: string(b.ID)}
		}
		if s := l.p.Share(max(d.at, l.f.now), g, b.Objects-l.gone[at.bucket], due[at], held[at]); s.Why != "" {
			out = append(out, api.ForecastLimit{Kind: string(at.kind), Bucket: at.bucket, Due: s.Due, Goes: s.Goes, Why: s.Why})
		}
	}
	l.leave(d)
	return out
}

// leave counts what goes on a day.
func (l *forecastLimits) leave(d *forecastDay) {
	for _, c := range d.By {
		if c.By != string(ledger.EndsByUndo) {
			l.gone[c.Bucket] += c.Objects
		}
	}
}
