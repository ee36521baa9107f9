package service

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/predict"
)

// maxDays is how far a simulation looks ahead at most.
const maxDays = 36_500

// SimulateLifecycle returns what rules would expire, and changes nothing: the
// given rules, or those of the bucket. It reads the bucket's objects.
func (s *Service) SimulateLifecycle(ctx context.Context, r api.LifecycleRequest, each func(api.Event)) (api.Simulation, error) {
	out := api.Simulation{Limits: []api.Verdict{}}
	rules, err := parseRules(r.Rules)
	if err != nil {
		return out, err
	}
	b, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return out, err
	}
	if rules == nil {
		rules = b.Rules
	}
	if r.Days == 0 {
		r.Days = 30
	}
	if r.Days < 1 || r.Days > maxDays {
		return out, fmt.Errorf("%w: look 1 to %d days ahead", api.ErrBadRequest, maxDays)
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return out, err
	}
	f := predict.NewForecaster(rules, now, r.Days)
	if err := s.forecast(ctx, b, f, walkedEnds{each, r.All}); err != nil {
		return out, err
	}
	out.Rules = forecastsOf(f.Forecasts())
	own := forecastsOf([]predict.Forecast{f.TTL(), f.Read(), f.Idle(), f.Abandoned()})
	out.TTL, out.Read, out.Idle, out.Abandoned = own[0].Ends, own[1].Ends, own[2].Ends, own[3].Uploads
	out.Limits, err = s.verdicts(ctx, b, f)
	return out, err
}

// walkedEnds is where a forecast reports: how far it has come, and what goes if all is asked for.
type walkedEnds struct {
	each func(api.Event)
	all  bool
}

func (w walkedEnds) report(e ledger.Ending, row api.ForecastRow) {
	row.EndsAt, row.By, row.Rule = toTime(e.At), string(e.By), e.Rule
	w.each(api.Event{Ends: &row})
}

// forecast feeds a forecaster with all objects and incomplete uploads of a
// bucket.
func (s *Service) forecast(ctx context.Context, b ledger.BucketRules, f *predict.Forecaster, to walkedEnds) error {
	if err := s.forecastObjects(ctx, b, f, to); err != nil {
		return err
	}
	return s.forecastUploads(ctx, b.Bucket, f, to)
}

func (s *Service) forecastObjects(ctx context.Context, b ledger.BucketRules, f *predict.Forecaster, to walkedEnds) error {
	q, done := ledger.UsageQuery{Bucket: b.Bucket, Limit: 1000}, int64(0)
	for {
		_, list, err := s.o.Ledger.UsageObjects(ctx, q)
		if err != nil {
			return err
		}
		for _, o := range list {
			f.Object(o.Object, o.Held)
			if e, within := f.Ends(o.Object); to.all && within {
				to.report(e, api.ForecastRow{Bucket: b.Bucket, Key: o.Key, Size: o.Size, Held: o.Held})
			}
			q.AfterKey = o.Key
		}
		done += int64(len(list))
		to.each(api.Event{Progress: &api.Progress{What: "simulate", Done: done, Total: b.Objects}})
		if len(list) < q.Limit {
			return nil
		}
	}
}

func (s *Service) forecastUploads(ctx context.Context, bucket string, f *predict.Forecaster, to walkedEnds) error {
	q, stale := ledger.UploadQuery{Bucket: bucket, Limit: 1000}, s.stale()
	for {
		list, err := s.o.Ledger.OpenUploads(ctx, q)
		if err != nil {
			return err
		}
		for _, u := range list {
			u.SetStale(stale)
			f.Upload(u)
			if e, within := f.Aborts(u); to.all && within {
				to.report(e, api.ForecastRow{Bucket: bucket, Key: u.Upload.Key, Size: u.Bytes, Held: u.Held})
			}
			q.AfterKey, q.AfterUpload = u.Upload.Key, u.Upload.ID
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}

// stale is when an upload counts as abandoned.
func (s *Service) stale() ledger.Stale {
	u := s.usage()
	return ledger.Stale{Age: u.Safety.MultipartStale, On: u.StaleOn}
}

func forecastsOf(list []predict.Forecast) []api.Forecast {
	out := []api.Forecast{}
	for _, f := range list {
		one := api.Forecast{
			Rule:    api.Rule{ID: f.Rule.ID, Disabled: f.Rule.Disabled, Text: f.Rule.String()},
			Ends:    api.Ends{Today: api.Amount(f.Today), Days: api.Amount(f.Days), Held: api.Amount(f.Held)},
			Uploads: api.UploadForecast{Today: uploadsOf(f.UploadsToday), Days: uploadsOf(f.Uploads), Held: uploadsOf(f.HeldUploads)},
		}
		for _, e := range f.Examples {
			one.Examples = append(one.Examples, api.Example{Key: e.Key, Size: e.Size, ModifiedAt: toTime(e.Modified), EndsAt: toTime(e.At)})
		}
		for _, e := range f.UploadExamples {
			one.Uploads.Examples = append(one.Uploads.Examples, api.UploadExample{
				Key: e.Upload.Upload.Key, ID: string(e.Upload.Upload.ID), Bytes: e.Upload.Bytes, BegunAt: toTime(e.Upload.Upload.CreatedAt), EndsAt: toTime(e.At),
			})
		}
		out = append(out, one)
	}
	return out
}

func uploadsOf(a predict.Amount) api.UploadAmount {
	return api.UploadAmount{Uploads: a.Objects, Bytes: a.Bytes}
}

// verdicts evaluates the rules' deletion limit, with its present setting and
// counts, by the code that enforces it.
func (s *Service) verdicts(ctx context.Context, b ledger.BucketRules, f *predict.Forecaster) ([]api.Verdict, error) {
	out := []api.Verdict{}
	bucket, err := s.o.Objects.Bucket(ctx, b.Bucket)
	if err != nil {
		return out, err
	}
	list, err := s.o.Ledger.LimitStates(ctx)
	if err != nil {
		return out, err
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return out, err
	}
	limit, has := ledger.LimitState{Kind: ledger.LimitRules, Subject: string(bucket.ID)}, b.Objects
	for _, g := range list {
		switch {
		case g.Subject != limit.Subject:
		case g.Kind == limit.Kind:
			limit = g
		case g.Kind == limit.Kind.Sibling():
			has += g.Taken(now)
		}
	}
	due, held := int64(0), int64(0)
	for _, r := range f.Forecasts() {
		due += r.Today.Objects
		held += r.HeldToday
	}
	out = append(out, s.verdict(limit, now, held, api.Verdict{At: toTime(f.Midnight()), Due: due, Has: has}))
	if when, most, kept := f.Peak(); most > 0 {
		out = append(out, s.verdict(limit, max(when, now), kept, api.Verdict{At: toTime(when), Due: most, Has: b.Objects - due}))
	}
	return out, nil
}

func (s *Service) verdict(g ledger.LimitState, when lethe.Time, held int64, v api.Verdict) api.Verdict {
	share := s.predictor().Share(when, g, v.Has, v.Due, held)
	v.Goes, v.Why = share.Goes, share.Why
	return v
}
