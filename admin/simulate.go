package admin

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// Simulation is what each rule would expire, and how the limits would decide
// about all rules together.
type Simulation struct {
	Rules []Forecast `json:"rules"`
	// Limits are the verdicts of reclaim.guards.rules on what expires today,
	// and on the later day on which the most would at once.
	Limits []Verdict `json:"limits"`
}

// Forecast is what a rule would expire. What a hold keeps is counted
// separately, of all that would expire within the days asked for.
type Forecast struct {
	Rule
	Today    Amount    `json:"today"` // up to the next midnight in UTC
	Days     Amount    `json:"days"`  // within the days asked for, today included
	Held     Amount    `json:"held"`
	Examples []Example `json:"examples,omitempty"`
	// Uploads are the incomplete uploads that it would abort.
	Uploads UploadForecast `json:"uploads"`
}

// Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Example is an object that a rule would expire.
type Example struct {
	Key        string    `json:"key"`
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
	EndsAt     time.Time `json:"ends_at"`
}

// UploadForecast is what a rule would abort of incomplete uploads.
type UploadForecast struct {
	Today    UploadAmount    `json:"today"`
	Days     UploadAmount    `json:"days"`
	Held     UploadAmount    `json:"held"`
	Examples []UploadExample `json:"examples,omitempty"`
}

// UploadAmount is a number of incomplete uploads and the bytes of their stored parts.
type UploadAmount struct {
	Uploads int64 `json:"uploads"`
	Bytes   int64 `json:"bytes"`
}

// UploadExample is an incomplete upload that a rule would abort.
type UploadExample struct {
	Key     string    `json:"key"`
	ID      string    `json:"id"`
	Bytes   int64     `json:"bytes"`
	BegunAt time.Time `json:"begun_at"`
	EndsAt  time.Time `json:"ends_at"`
}

// Verdict is the decision of the rules' deletion limit on objects of a bucket
// that are due at once: how many would be deleted within the hour.
type Verdict struct {
	At   time.Time `json:"at"` // the midnight by which they are due
	Due  int64     `json:"due"`
	Has  int64     `json:"has"` // objects in the bucket then, as far as is known now
	Goes int64     `json:"goes"`
	Why  string    `json:"why,omitempty"` // the others would not; empty: all go
}

// SimulateLifecycle returns what rules would expire, and changes nothing: the
// given rules, or those of the bucket. It reads the bucket's objects.
func (s *Service) SimulateLifecycle(ctx context.Context, r LifecycleRequest, each func(Event)) (Simulation, error) {
	out := Simulation{Limits: []Verdict{}}
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
	if r.Days <= 0 {
		r.Days = 30
	}
	f := lifecycle.NewForecaster(rules, s.o.Clock.Now(), r.Days)
	if err := s.forecast(ctx, b, f, each); err != nil {
		return out, err
	}
	out.Rules = forecastsOf(f.Forecasts())
	out.Limits, err = s.verdicts(ctx, b, f)
	return out, err
}

// forecast feeds a forecaster with all objects and incomplete uploads of a
// bucket.
func (s *Service) forecast(ctx context.Context, b ledger.BucketRules, f *lifecycle.Forecaster, each func(Event)) error {
	if err := s.forecastObjects(ctx, b, f, each); err != nil {
		return err
	}
	return s.forecastUploads(ctx, b.Bucket, f)
}

func (s *Service) forecastObjects(ctx context.Context, b ledger.BucketRules, f *lifecycle.Forecaster, each func(Event)) error {
	q, done := ledger.ListQuery{Bucket: b.Bucket, Limit: 1000}, int64(0)
	for {
		page, err := s.o.Ledger.List(ctx, q)
		if err != nil {
			return err
		}
		keys := make([]string, len(page.Objects))
		for i, o := range page.Objects {
			keys[i] = o.Key
		}
		held, err := s.o.Ledger.HeldKeys(ctx, b.Bucket, keys)
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			f.Object(lifecycle.Facts{Key: o.Key, Tags: o.Tags, Size: o.Size, Modified: o.ModifiedAt}, o.TTLAt, held[o.Key])
		}
		done += int64(len(page.Objects))
		each(Event{Progress: &Progress{What: "simulate", Done: done, Total: b.Objects}})
		if q.After = page.Next; !page.More {
			return nil
		}
	}
}

func (s *Service) forecastUploads(ctx context.Context, bucket string, f *lifecycle.Forecaster) error {
	q := ledger.UploadQuery{Bucket: bucket, Limit: 1000}
	for {
		list, err := s.o.Ledger.OpenUploads(ctx, q)
		if err != nil {
			return err
		}
		for _, u := range list {
			f.Upload(lifecycle.Upload{Key: u.Upload.Key, ID: u.Upload.ID, Begun: u.Upload.CreatedAt, Bytes: u.Bytes}, u.Held)
			q.AfterKey, q.AfterUpload = u.Upload.Key, u.Upload.ID
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}

func forecastsOf(list []lifecycle.Forecast) []Forecast {
	out := []Forecast{}
	for _, f := range list {
		one := Forecast{
			Rule:  Rule{f.Rule.ID, f.Rule.Disabled, f.Rule.String()},
			Today: Amount(f.Today), Days: Amount(f.Days), Held: Amount(f.Held),
			Uploads: UploadForecast{Today: uploadsOf(f.UploadsToday), Days: uploadsOf(f.Uploads), Held: uploadsOf(f.HeldUploads)},
		}
		for _, e := range f.Examples {
			one.Examples = append(one.Examples, Example{e.Facts.Key, e.Facts.Size, toTime(e.Facts.Modified), toTime(e.At)})
		}
		for _, e := range f.UploadExamples {
			one.Uploads.Examples = append(one.Uploads.Examples, UploadExample{e.Upload.Key, string(e.Upload.ID), e.Upload.Bytes, toTime(e.Upload.Begun), toTime(e.At)})
		}
		out = append(out, one)
	}
	return out
}

func uploadsOf(a lifecycle.Amount) UploadAmount { return UploadAmount{a.Objects, a.Bytes} }

// verdicts evaluates the rules' deletion limit, with its present setting and
// counts, by the code that enforces it.
func (s *Service) verdicts(ctx context.Context, b ledger.BucketRules, f *lifecycle.Forecaster) ([]Verdict, error) {
	out := []Verdict{}
	bucket, err := s.o.Objects.Bucket(ctx, b.Bucket)
	if err != nil {
		return out, err
	}
	list, err := s.o.Ledger.Guards(ctx)
	if err != nil {
		return out, err
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return out, err
	}
	guard := ledger.Guard{Kind: ledger.GuardRules, Subject: string(bucket.ID)}
	for _, g := range list {
		if g.Kind == guard.Kind && g.Subject == guard.Subject {
			guard = g
		}
	}
	due := int64(0)
	for _, r := range f.Forecasts() {
		due += r.Today.Objects
	}
	out = append(out, s.verdict(guard, now, Verdict{At: toTime(f.Midnight()), Due: due, Has: b.Objects}))
	if when, most := f.Peak(); most > 0 {
		has := b.Objects - due
		out = append(out, s.verdict(guard, max(when, now), Verdict{At: toTime(when), Due: most, Has: has}))
	}
	return out, nil
}

func (s *Service) verdict(g ledger.Guard, when lethe.Time, v Verdict) Verdict {
	v.Goes, v.Why = g.Foretell(when, s.o.Limits.Rules, v.Has, v.Due)
	return v
}
