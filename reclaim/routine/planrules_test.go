package routine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// onePageAtATime reads due objects one by one, and calls after when it has read so many pages.
type onePageAtATime struct {
	routine.PlanLedger
	pages, at int
	after     func()
}

func (l *onePageAtATime) DueObjects(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error) {
	q.Limit = 1
	p, err := l.PlanLedger.DueObjects(ctx, q)
	if l.pages++; l.pages == l.at {
		l.after()
	}
	return p, err
}

// TestAPlanIsOfOneRevisionOfTheRules: rules that are changed and applied while a plan is read may
// end objects before the place of the next page. Then the plan is refused, whether it counts
// under a limit or lists what goes, and the next one has them.
func TestAPlanIsOfOneRevisionOfTheRules(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t)
		set := func(rules ...lifecycle.Rule) {
			_, err := w.Ledger.SetRules(w.Ctx, ledger.RulesChange{Bucket: "b", Rules: rules, By: "operator"})
			w.Must(err)
			_, err = w.Ledger.ReapplyRules(w.Ctx, 100)
			w.Must(err)
		}
		for _, key := range []string{"new", "old"} {
			w.Put(key, "object "+key)
			w.Clock.Advance(24 * time.Hour)
		}
		set(lifecycle.Rule{ID: "old", Prefix: "old", Days: 1})
		w.Clock.Advance(72 * time.Hour)
		from := &onePageAtATime{PlanLedger: w.Ledger, at: at, after: func() { set(lifecycle.Rule{ID: "all", Days: 1}) }}
		e := &routine.Expire{Ledger: w.Ledger, Plans: from, Batch: ledger.Batch{Limit: 1, Limits: ledger.Limits{Rules: ledger.Limit{Ask: 100}}}}
		var keys []string
		list := func(i plan.Item) error {
			keys = append(keys, i.Key)
			return nil
		}
		err := e.Items(w.Ctx, list)
		if err == nil && from.pages <= at {
			if at < 5 {
				t.Errorf("a plan has %d pages only", at)
			}
			return
		}
		if !errors.Is(err, ledger.ErrRulesChanged) {
			t.Errorf("rules that are changed after page %d: %v, %v", at, keys, err)
		}
		keys = nil
		if err := e.Items(w.Ctx, list); err != nil || len(keys) != 2 {
			t.Errorf("the next plan has %v, %v", keys, err)
		}
	}
}
