package lifecycle

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Forecast is what one rule would end.
type Forecast struct {
	Rule Rule
	// Today is what would go up to the next midnight in UTC, what is over already
	// included; Days what would go within the days asked for, today's included.
	Today, Days Amount
	// Uploads is how many incomplete uploads it would give up within the days.
	Uploads int64
	// Examples are the first objects met that would go within the days.
	Examples []Example
}

// Amount is a number of objects and their bytes.
type Amount struct{ Objects, Bytes int64 }

// Example is an object that would go.
type Example struct {
	Facts Facts
	At    lethe.Time
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
}

// NewForecaster makes a forecaster for so many days from now.
func NewForecaster(rules Rules, now lethe.Time, days int) *Forecaster {
	f := &Forecaster{today: midnightAfter(now, 0), until: now.Add(time.Duration(days) * day)}
	f.rules, _ = rules.Succeed(nil, 0)
	for i := range f.rules {
		f.out = append(f.out, Forecast{Rule: f.rules[i]})
		f.rules[i].Disabled = false
		f.rules[i].Number = int64(i) + 1
	}
	return f
}

// Object adds an object, and when its client lets it end; 0 for never.
func (f *Forecaster) Object(o Facts, ttl lethe.Time) {
	s := f.rules.Stamp(o)
	if s.Rule == 0 || s.At > f.until || ttl != 0 && ttl <= s.At {
		return
	}
	r := &f.out[s.Rule-1]
	r.Days.add(o.Size)
	if s.At <= f.today {
		r.Today.add(o.Size)
	}
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, Example{o, s.At})
	}
}

func (a *Amount) add(bytes int64) {
	a.Objects++
	a.Bytes += bytes
}

// Upload adds an incomplete upload.
func (f *Forecaster) Upload(key string, begun lethe.Time) {
	if r, at := f.rules.Aborts(key, begun); r != nil && at <= f.until {
		f.out[r.Number-1].Uploads++
	}
}

// Forecasts are the outcome, in the order of the rules.
func (f *Forecaster) Forecasts() []Forecast { return f.out }
