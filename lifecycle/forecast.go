package lifecycle

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Forecast is what one rule would end. What a hold keeps is counted apart.
type Forecast struct {
	Rule Rule
	// Today is what would go up to the next midnight in UTC, what is over already
	// included; Days what would go within the days asked for, today's included. Held
	// is what would go within the days, and stays as long as holds keep it.
	Today, Days, Held Amount
	// Uploads are incomplete uploads that it would give up, with the bytes of their
	// stored parts.
	UploadsToday, Uploads, HeldUploads Amount
	// Examples are the first met that would go within the days.
	Examples       []Example
	UploadExamples []UploadExample
}

// Amount is a number of objects, or of uploads, and their bytes.
type Amount struct{ Objects, Bytes int64 }

// Example is an object that would go.
type Example struct {
	Facts Facts
	At    lethe.Time
}

// Upload is an incomplete upload.
type Upload struct {
	Key   string
	ID    lethe.ID
	Begun lethe.Time
	Bytes int64 // of its stored parts
}

// UploadExample is an incomplete upload that would be given up.
type UploadExample struct {
	Upload Upload
	At     lethe.Time
}

// maxExamples bounds those of a rule.
const maxExamples = 5

// Forecaster adds up what rules would end, by the code that stamps objects.
// Disabled rules are taken as if they were enabled: that is what one wants to know
// before one enables them.
type Forecaster struct {
	rules        Rules
	today, until lethe.Time
	out          []Forecast
	later        map[lethe.Time]int64 // objects that end after today, by when
}

// NewForecaster makes a forecaster for so many days from now.
func NewForecaster(rules Rules, now lethe.Time, days int) *Forecaster {
	f := &Forecaster{today: midnightAfter(now, 0), until: now.Add(time.Duration(days) * day), later: map[lethe.Time]int64{}}
	f.rules, _ = rules.Succeed(nil, 0)
	for i := range f.rules {
		f.out = append(f.out, Forecast{Rule: f.rules[i]})
		f.rules[i].Disabled = false
		f.rules[i].Number = int64(i) + 1
	}
	return f
}

// Object adds an object, when its client lets it end, 0 for never, and whether a
// hold keeps it.
func (f *Forecaster) Object(o Facts, ttl lethe.Time, held bool) {
	s := f.rules.Stamp(o)
	if s.Rule == 0 || s.At > f.until || ttl != 0 && ttl <= s.At {
		return
	}
	r := &f.out[s.Rule-1]
	if held {
		r.Held.add(o.Size)
		return
	}
	r.Days.add(o.Size)
	if s.At <= f.today {
		r.Today.add(o.Size)
	} else {
		f.later[midnightAfter(s.At-1, 0)]++
	}
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, Example{o, s.At})
	}
}

func (a *Amount) add(bytes int64) {
	a.Objects++
	a.Bytes += bytes
}

// Upload adds an incomplete upload, and whether a hold keeps it.
func (f *Forecaster) Upload(u Upload, held bool) {
	rule, at := f.rules.Aborts(u.Key, u.Begun)
	if rule == nil || at > f.until {
		return
	}
	r := &f.out[rule.Number-1]
	if held {
		r.HeldUploads.add(u.Bytes)
		return
	}
	r.Uploads.add(u.Bytes)
	if at <= f.today {
		r.UploadsToday.add(u.Bytes)
	}
	if len(r.UploadExamples) < maxExamples {
		r.UploadExamples = append(r.UploadExamples, UploadExample{u, at})
	}
}

// Forecasts are the outcome, in the order of the rules.
func (f *Forecaster) Forecasts() []Forecast { return f.out }

// Peak is the midnight after today at which the most objects of all rules would go
// at once, and how many; 0 if none.
func (f *Forecaster) Peak() (at lethe.Time, objects int64) {
	for when, n := range f.later {
		if n > objects || n == objects && when < at {
			at, objects = when, n
		}
	}
	return at, objects
}

// Midnight is the end of today, in UTC.
func (f *Forecaster) Midnight() lethe.Time { return f.today }
