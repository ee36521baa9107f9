package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
)

// result returns the outcome of an item.
func result(i plan.Item, o plan.Outcome, detail string) plan.Result {
	return plan.Result{Item: i, Outcome: o, Detail: detail}
}

func itemIDs(items []plan.Item) []lethe.ID {
	out := make([]lethe.ID, len(items))
	for i, item := range items {
		out[i] = lethe.ID(item.ID)
	}
	return out
}

// trashItems returns the entries that a purge would make due now.
func (s *Service) trashItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	if r.Trash == nil {
		r.Trash = &api.TrashRequest{}
	}
	return s.eachTrash(ctx, *r.Trash, func(list []ledger.TrashEntry) error {
		ids := make([]lethe.ID, len(list))
		for i, e := range list {
			ids[i] = e.ID
		}
		due, err := s.o.Ledger.TrashNamed(ctx, ids)
		if err != nil {
			return err
		}
		for _, d := range due {
			if err := yield(trashItem(r.Command, d)); err != nil {
				return err
			}
		}
		return nil
	})
}

// trashItem is a trash entry of which the undo window is given up.
func trashItem(do string, d ledger.Due) plan.Item {
	i := plan.Item{Do: do, Kind: "trash", ID: string(d.ID), Bucket: d.BucketName, Key: d.ObjectKey, Size: d.Size,
		Blobs: d.Blobs, Frees: d.BlobBytes, Why: "its undo window is given up", Due: d.At.Time()}
	if d.Refs > 1 {
		i.Refs, i.Content = d.Refs, string(d.Content)
	}
	if d.Held {
		i.Stays = predict.HeldText
	}
	return i
}

// applyTrash makes the entries due that still exist.
func (s *Service) applyTrash(ctx context.Context, items []plan.Item) (out []plan.Result, err error) {
	n, err := s.o.Objects.PurgeTrash(ctx, itemIDs(items))
	if err != nil {
		return nil, err
	}
	s.audit(ctx, "trash_purged", "plan", slog.Int("count", n), slog.Any("entries", itemIDs(items)))
	for _, i := range items {
		_, found, err := s.trashEntry(ctx, lethe.ID(i.ID))
		switch {
		case err != nil:
			return out, err
		case n == len(items) || found:
			out = append(out, result(i, plan.Done, ""))
		default:
			out = append(out, result(i, plan.Gone, "it was restored or purged"))
		}
	}
	return out, nil
}

// trashEntry finds an entry by its id.
func (s *Service) trashEntry(ctx context.Context, id lethe.ID) (ledger.TrashEntry, bool, error) {
	if len(id) < 2 {
		return ledger.TrashEntry{}, false, nil
	}
	list, err := s.o.Objects.Trash(ctx, ledger.TrashQuery{After: id[:len(id)-1], Limit: 64})
	for _, e := range list {
		if e.ID == id {
			return e, true, err
		}
	}
	return ledger.TrashEntry{}, false, err
}

// writeOff is the command that deletes the rows of dead letters.
const writeOff = "dead write-off"

// deadItems returns the dead letters that a command would change.
func (s *Service) deadItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	if r.Dead == nil {
		r.Dead = &api.DeadRequest{}
	}
	return s.eachDead(ctx, *r.Dead, func(list []ledger.DeadLetter) error {
		for _, d := range list {
			if r.Command == writeOff && s.mayLand(d) {
				continue // it would be left
			}
			i := plan.Item{Do: r.Command, Kind: "dead", ID: string(d.ID), Backend: d.Backend, Bucket: d.Bucket, Size: d.Size,
				Why: string(d.Reason) + ", " + words.Plural(int64(d.Attempts), "attempt", "attempts") + " failed", Due: d.DueAt.Time()}
			if r.Command != writeOff {
				i.Blobs, i.Frees = 1, d.Size // if its deletion succeeds this time
			}
			if err := yield(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyDead changes the items that are still dead letters.
func (s *Service) applyDead(ctx context.Context, items []plan.Item) (out []plan.Result, err error) {
	rows, err := s.o.Ledger.BlobsByID(ctx, itemIDs(items))
	if err != nil {
		return nil, err
	}
	row := map[lethe.ID]ledger.Blob{}
	for _, b := range rows {
		row[b.ID] = b
	}
	act, event := s.o.Ledger.Requeue, "dead_requeued"
	if items[0].Do == writeOff {
		act, event = s.o.Ledger.WriteOff, "dead_written_off"
	}
	for _, i := range items {
		switch b, there := row[lethe.ID(i.ID)]; {
		case !there:
			out = append(out, result(i, plan.Gone, "its row is gone"))
			continue
		case b.State != lethe.Dead:
			out = append(out, result(i, plan.Changed, "it is "+b.State.String()+" now"))
			continue
		case i.Do == writeOff && s.mayLand(ledger.DeadLetter{Blob: b}):
			out = append(out, result(i, plan.Changed, "its upload may still land until "+toTime(b.LateUntil).Format(time.RFC3339)))
			continue
		}
		n, err := act(ctx, []lethe.ID{lethe.ID(i.ID)})
		switch {
		case err != nil:
			return out, err
		case n == 0:
			out = append(out, result(i, plan.Changed, "another was faster"))
		default:
			out = append(out, result(i, plan.Done, ""))
			s.audit(ctx, event, "plan", slog.Int("count", 1), slog.String("blob", i.ID))
		}
	}
	return out, nil
}

// backendItems returns the one backend that a command is about.
func (s *Service) backendItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	list, err := s.ListBackends(ctx, api.None{})
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.ID != r.Backend {
			continue
		}
		i := plan.Item{Do: r.Command, Kind: "backend", ID: b.ID, Backend: b.ID, Seen: drainingWord(b.Draining)}
		for _, a := range b.States {
			i.Blobs += a.Blobs
			i.Size += a.Bytes
		}
		i.Why = "nothing is written there any more, and what lies there is copied elsewhere"
		if r.Command == "backend remove" {
			i.Why = "the ledger forgets it; refused while anything lies there"
		}
		return yield(i)
	}
	return s.noBackend(r.Backend)
}

func drainingWord(draining bool) string {
	if draining {
		return "draining"
	}
	return "in use"
}

// applyBackends drains or removes backends that are unchanged since the plan.
func (s *Service) applyBackends(ctx context.Context, items []plan.Item) (out []plan.Result, err error) {
	for _, i := range items {
		list, err := s.o.Ledger.Backends(ctx)
		if err != nil {
			return out, err
		}
		now := "gone"
		for _, b := range list {
			if b.ID == i.ID {
				now = drainingWord(b.Draining)
			}
		}
		switch {
		case now == "gone":
			out = append(out, result(i, plan.Gone, "the ledger knows no such backend"))
			continue
		case now != i.Seen:
			out = append(out, result(i, plan.Changed, "it was "+i.Seen+", and is "+now))
			continue
		}
		act := s.DrainBackend
		if i.Do == "backend remove" {
			act = s.RemoveBackend
		}
		if _, err := act(ctx, api.BackendRequest{ID: i.ID}); err != nil {
			return out, err
		}
		out = append(out, result(i, plan.Done, ""))
	}
	return out, nil
}

// ruleItems returns the rules that would be set, with what they would expire.
func (s *Service) ruleItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	if r.Lifecycle == nil {
		return fmt.Errorf("%w: name a bucket", api.ErrBadRequest)
	}
	b, doc, err := s.wantedRules(ctx, *r.Lifecycle)
	if err != nil {
		return err
	}
	rules, err := parseRules(doc)
	if err != nil {
		return err
	}
	i := plan.Item{Do: r.Command, Kind: "rules", ID: b.Bucket, Bucket: b.Bucket, Seen: b.Rules.Digest(), With: doc,
		Why: fmt.Sprintf("%s removed", words.Plural(int64(len(b.Rules)), "rule is", "rules are"))}
	if len(rules) > 0 {
		now, err := s.o.Ledger.LedgerTime(ctx)
		if err != nil {
			return err
		}
		f := predict.NewForecaster(slices.DeleteFunc(slices.Clone(rules), func(r lifecycle.Rule) bool { return r.Disabled }), now, 30)
		if err := s.forecast(ctx, b, f, walkedEnds{each: func(api.Event) {}}); err != nil {
			return err
		}
		i.Why, i.Size = forecastWords(f.Forecasts())
	}
	return yield(i)
}

func forecastWords(list []predict.Forecast) (text string, today int64) {
	var now, days, uploads, held predict.Amount
	for _, f := range list {
		now.Objects += f.Today.Objects
		now.Bytes += f.Today.Bytes
		days.Objects += f.Days.Objects
		uploads.Objects += f.Uploads.Objects
		uploads.Bytes += f.Uploads.Bytes
		held.Objects += f.Held.Objects + f.HeldUploads.Objects
	}
	text = fmt.Sprintf("%s would end %s today, %s within 30 days, and %s of %s",
		words.Plural(int64(len(list)), "rule", "rules"), words.Plural(now.Objects, "object", "objects"), words.Number(days.Objects),
		words.Plural(uploads.Objects, "incomplete upload", "incomplete uploads"), words.Size(uploads.Bytes))
	if held.Objects > 0 {
		text += "; " + words.Plural(held.Objects, "more is held", "more are held")
	}
	return text, now.Bytes
}

// applyRules sets rules where the planned ones are still set.
func (s *Service) applyRules(ctx context.Context, items []plan.Item) (out []plan.Result, err error) {
	for _, i := range items {
		_, err := s.setLifecycle(ctx, api.LifecycleRequest{Bucket: i.ID, Rules: i.With}, i.Seen)
		switch {
		case errors.Is(err, lethe.ErrNoSuchBucket):
			out = append(out, result(i, plan.Gone, "there is no such bucket"))
		case errors.Is(err, lethe.ErrPreconditionFailed):
			out = append(out, result(i, plan.Changed, "other rules were set since"))
		case err != nil:
			return out, err
		default:
			out = append(out, result(i, plan.Done, ""))
		}
	}
	return out, nil
}
