package predict

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// Forecast is what one rule would end, or the objects' own times to live. Held objects are
// counted separately.
type Forecast struct {
	Rule lifecycle.Rule
	// Today is what would go up to the next midnight in UTC, including what is overdue. Days
	// is what would go within the days asked for, including today's. Held is what would go
	// within the days and stays while it is held.
	Today, Days, Held Amount
	// HeldToday is how many of the held ones are due today. A limit counts them, too, when they
	// become due.
	HeldToday int64
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
	Key      string
	Size     int64
	Modified lethe.Time
	At       lethe.Time
}

// UploadExample is an incomplete upload that would be aborted.
type UploadExample struct {
	Upload ledger.OverdueUpload
	At     lethe.Time
}

// maxExamples bounds the examples of a rule.
const maxExamples = 5

// Forecaster adds up what rules would end, by the code that ends objects. Disabled rules
// count as enabled, as a forecast should precede enabling them.
type Forecaster struct {
	rules           lifecycle.Rules
	now             lethe.Time
	today, until    lethe.Time
	out             []Forecast
	ttl, read, idle Forecast
	abandoned       Forecast             // of uploads alone
	later, held     map[lethe.Time]int64 // objects that rules end after today, by when; and held ones
}

// NewForecaster returns a forecaster for a number of days in UTC, the one of now included.
func NewForecaster(rules lifecycle.Rules, now lethe.Time, days int) *Forecaster {
	f := &Forecaster{today: lifecycle.Midnight(now), until: (lifecycle.Midnight(now) - 1).Add(time.Duration(days-1) * 24 * time.Hour), now: now, later: map[lethe.Time]int64{}, held: map[lethe.Time]int64{}}
	f.until = max(f.until, f.today)
	f.rules, _ = rules.Succeed(nil, 0)
	for i := range f.rules {
		f.out = append(f.out, Forecast{Rule: f.rules[i]})
		f.rules[i].Disabled = false
		f.rules[i].Number = int64(i) + 1
	}
	return f
}

// Ends returns when and by what an object ends, and whether within the days.
func (f *Forecaster) Ends(o ledger.Object) (e ledger.Ending, within bool) {
	e = o.EndsAt(f.now, f.rules)
	return e, e.At != 0 && e.At <= f.until
}

// Aborts returns when and by what an upload is aborted, and whether within the days. At is when it
// counts as abandoned.
func (f *Forecaster) Aborts(u ledger.OverdueUpload) (e ledger.Ending, within bool) {
	e = u.Ends(f.rules)
	return e, e.At <= f.until
}

// Object adds an object. held reports whether a hold keeps it.
func (f *Forecaster) Object(o ledger.Object, held bool) {
	end, within := f.Ends(o)
	if !within {
		return
	}
	r := &f.ttl
	switch end.By {
	case ledger.EndsByRule:
		r = &f.out[f.rules.Stamp(o.Facts()).Rule-1]
	case ledger.EndsByRead:
		r = &f.read
	case ledger.EndsByIdle:
		r = &f.idle
	}
	if held {
		if r.Held.add(o.Size); end.At <= f.today {
			r.HeldToday++
		} else if end.By == ledger.EndsByRule {
			f.held[lifecycle.Midnight(end.At-1)]++
		}
		return
	}
	r.Days.add(o.Size)
	if end.At <= f.today {
		r.Today.add(o.Size)
	} else if end.By == ledger.EndsByRule {
		f.later[lifecycle.Midnight(end.At-1)]++
	}
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, Example{o.Key, o.Size, o.ModifiedAt, end.At})
	}
}

func (a *Amount) add(bytes int64) {
	a.Objects++
	a.Bytes += bytes
}

// Upload adds an incomplete upload. At is when it counts as abandoned.
func (f *Forecaster) Upload(u ledger.OverdueUpload) {
	end, within := f.Aborts(u)
	if !within {
		return
	}
	r := &f.abandoned
	if end.Rule != "" {
		rule, _ := f.rules.Aborts(u.Upload.Key, u.Upload.CreatedAt)
		r = &f.out[rule.Number-1]
	}
	if u.Held {
		r.HeldUploads.add(u.Bytes)
		return
	}
	r.Uploads.add(u.Bytes)
	if end.At <= f.today {
		r.UploadsToday.add(u.Bytes)
	}
	if len(r.UploadExamples) < maxExamples {
		r.UploadExamples = append(r.UploadExamples, UploadExample{u, end.At})
	}
}

// Forecasts returns what the rules would end, in their order.
func (f *Forecaster) Forecasts() []Forecast { return f.out }

// TTL returns what goes by its own time to live, before any rule ends it.
func (f *Forecaster) TTL() Forecast { return f.ttl }

// Read returns what goes because its last permitted read has happened.
func (f *Forecaster) Read() Forecast { return f.read }

// Idle returns what goes because it is not read for its idle time.
func (f *Forecaster) Idle() Forecast { return f.idle }

// Abandoned returns the uploads that are aborted as abandoned, before any rule aborts them.
func (f *Forecaster) Abandoned() Forecast { return f.abandoned }

// Peak returns the midnight after today at which most objects of all rules go at once, how many,
// and how many more are held then; 0 if none.
func (f *Forecaster) Peak() (at lethe.Time, objects, held int64) {
	for when, n := range f.later {
		if n > objects || n == objects && when < at {
			at, objects = when, n
		}
	}
	return at, objects, f.held[at]
}

// Midnight returns the end of today, in UTC.
func (f *Forecaster) Midnight() lethe.Time { return f.today }
