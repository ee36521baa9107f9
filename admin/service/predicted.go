package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// predictor predicts what expire and purge take, as plans of those routines do.
func (s *Service) predictor() predict.Predictor {
	p := predict.Predictor{Ledger: s.o.Ledger, Limits: s.o.Limits, Doubt: predict.Doubt(s.o.Ledger)}
	for _, r := range s.o.Loop.Routines {
		if purge, is := r.Routine.(*routine.Purge); is {
			p.Batch = purge.Batch.Limit
		}
	}
	return p
}

// addStays adds what keeps an object whose end has come.
func (s *Service) addStays(ctx context.Context, o ledger.Object, e *api.Explanation) error {
	stays, limited, err := s.stays(ctx, e, ledger.Due{
		Named: ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID}, BucketName: o.Bucket, Size: o.Size, Held: len(e.Holds) > 0,
		Ending: ledger.Ending{At: lethe.FromTime(e.Object.DueAt), By: ledger.Cause(e.Object.EndedBy), Rule: e.Object.Rule},
	})
	e.Limited = limited
	stamp, held := o.DueAt(), holdText(*e)
	switch {
	case held != "":
		e.Stays = "it is " + held
	case e.Object.EndedBy == string(ledger.EndsByRule) && (stamp == 0 || stamp > lethe.FromTime(e.Now)) && predict.Doubt(s.o.Ledger) == "":
		e.Stays = "the rule is not applied to it yet, which the routine lifecycle does first"
	default:
		e.Stays = stays
	}
	return err
}

// addTrash adds the earlier versions of a key, with what keeps those that are due for purge.
func (s *Service) addTrash(ctx context.Context, list []ledger.TrashEntry, e *api.Explanation) error {
	rows, err := s.purges(ctx, list)
	if err != nil {
		return err
	}
	for _, entry := range list {
		out, d := trashEntry(entry), rows[entry.ID]
		out.Held = d.Held
		if out.Due = d.At <= lethe.FromTime(e.Now); out.Due {
			out.PurgeAt = toTime(d.At)
			if out.Stays, out.Limited, err = s.stays(ctx, e, d); err != nil {
				return err
			}
		}
		e.Trash = append(e.Trash, out)
	}
	return nil
}

// stays returns why a row that is due stays, or how many of those that are due like it a run takes,
// if that may not be all. It adds the limit that keeps it, or others like it.
func (s *Service) stays(ctx context.Context, e *api.Explanation, d ledger.Due) (stays, limited string, err error) {
	stays, share, err := s.predictor().One(ctx, d)
	if err != nil {
		return "", "", err
	}
	run := "expire"
	if d.By == ledger.EndsByUndo {
		run = "purge"
	}
	if share.Why != "" {
		info := limitInfo(share.State, lethe.FromTime(e.Now))
		if info.Reason = share.Why; len(e.Trips) == 0 || e.Trips[len(e.Trips)-1].Kind != info.Kind {
			e.Trips = append(e.Trips, info)
		}
	}
	takes, rest := "the next "+run+" run removes", ""
	if most := s.perRun(run); most > 0 {
		takes, rest = run+" removes", "; "+plan.PerRun(most)
	}
	switch {
	case share.Goes > 0 && stays != "":
		stays += fmt.Sprintf("; %s %d of the %d that are due like it, the oldest", takes, share.Goes, share.Due)
	case share.Goes > 0:
		limited = fmt.Sprintf("%s %d of the %d that are due like it, this one among them: %s%s", takes, share.Goes, share.Due, share.Why, rest)
	case stays == "" && rest != "":
		limited = run + " removes the row" + rest
	}
	return stays, limited, nil
}

// perRun returns how many items a run of a routine takes at least before it ends, 0 if it has no
// limit.
func (s *Service) perRun(name string) int64 {
	for _, r := range s.o.Loop.Routines {
		if r.Routine.Name() == name {
			return r.Most
		}
	}
	return 0
}

// trashText describes the earlier versions of a key.
func trashText(list []api.TrashEntry) string {
	var going, staying int64
	why, limited := "", ""
	for _, t := range list {
		switch {
		case !t.Due:
		case t.Stays == "":
			going, limited = going+1, t.Limited
		default:
			staying, why = staying+1, t.Stays
		}
	}
	text := words.Plural(int64(len(list)), "earlier version is", "earlier versions are") + " in the trash, and bytes stay until a restore or purge"
	var more []string
	switch {
	case going > 0 && limited != "":
		more = append(more, words.Plural(going, "is", "are")+" due", limited)
	case going > 0:
		more = append(more, fmt.Sprintf("purge removes %d now", going))
	}
	if staying > 0 {
		more = append(more, fmt.Sprintf("%s due and stays, as %s", words.Plural(staying, "is", "are"), why))
	}
	return strings.Join(append([]string{text}, more...), "; ")
}
