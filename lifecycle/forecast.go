package lifecycle

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Forecast is what one rule would end. Held objects are counted separately.
type Forecast struct {
	Rule Rule
	// Today is what would go up to the next midnight in UTC, including what is overdue. Days
	// is what would go within the days asked for, including today's. Held is what would go
	// within the days and stays while it is held.
	Today, Days, Held Amount
	// Uploads are incomplete uploads that it would abort, with the bytes of their stored
	// parts.
	UploadsToday, Uploads, HeldUploads Amount
	// Examples are the first objects found that would go within the days.
	Examples       []Example
	UploadExamples []UploadExample
}

// Amount is a number of objects or uploads, and their bytes.
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

// UploadExample is an incomplete upload that would be aborted.
type UploadExample struct {
	Upload Upload
	At     lethe.Time
}

// maxExamples bounds the examples of a rule.
const maxExamples = 5

// Forecaster adds up what rules would end, by the code that ends objects. Disabled rules
// count as enabled, as a forecast should precede enabling them.
type Forecaster struct {
	rules        Rules
	today, until lethe.Time
	out          []Forecast
	later        map[lethe.Time]int64 // objects that end after today, by when
}

// NewForecaster returns a forecaster for a number of days from now.
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

// Object adds an object with its client's time to live, 0 for none. held reports whether a
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

// Upload adds an incomplete upload. held reports whether a hold keeps it.
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

// Forecasts returns the result, in the order of the rules.
func (f *Forecaster) Forecasts() []Forecast { return f.out }

// Peak returns the midnight after today at which most objects of all rules go at once, and
// how many; 0 if none.
func (f *Forecaster) Peak() (at lethe.Time, objects int64) {
	for when, n := range f.later {
		if n > objects || n == objects && when < at {
			at, objects = when, n
		}
	}
	return at, objects
}

// Midnight returns the end of today, in UTC.
func (f *Forecaster) Midnight() lethe.Time { return f.today }
