package service

import (
	"context"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

const (
	// answerTime is how long a status waits for the other instances: they look for a
	// question twice a second, and give their backends probeTime.
	answerTime = 3 * time.Second
	// answerLook is how often it looks whether they have answered.
	answerLook = 100 * time.Millisecond
)

// question is what other instances were asked: how they are now.
type question struct {
	numbers map[string]int64 // by instance
	over    <-chan time.Time // when nobody waits any more
}

// answered reports whether an instance has answered the question, or was not asked.
func (q question) answered(i ledger.Instance) bool { return i.Info.Answered >= q.numbers[i.ID] }

// askInstances asks the other instances that are not silent. It writes nothing if there are
// none. A ledger that takes no question is one whose last reports have to do.
func (s *Service) askInstances(ctx context.Context) (q question) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTime)
	defer cancel()
	list, err := s.o.Ledger.Instances(ctx, silentAfter)
	others := slices.ContainsFunc(list, func(i ledger.Instance) bool { return i.ID != s.o.Loop.Worker })
	if err != nil || !others {
		return q
	}
	if q.numbers, err = s.o.Ledger.AskInstances(ctx, s.o.Loop.Worker, silentAfter); err == nil {
		q.over = time.After(answerTime)
	}
	return q
}

// heard lists the instances once all have answered, or have had the time for it.
func (s *Service) heard(ctx context.Context, q question) ([]ledger.Instance, error) {
	for {
		list, err := s.o.Ledger.Instances(ctx, instancesShown)
		if waits := slices.ContainsFunc(list, func(i ledger.Instance) bool { return !q.answered(i) }); err != nil || !waits {
			return list, err
		}
		select {
		case <-q.over:
			return list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(answerLook):
		}
	}
}
