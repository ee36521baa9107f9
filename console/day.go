package console

import (
	"cmp"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
)

// shownDay bounds the rows of a day that a page lists.
const shownDay = 200

// theDay is what the page of one day of the calendar shows.
type theDay struct {
	Name             string
	Day              time.Time // zero: what is due already
	Bucket, By, Rule string    // what the page is confined to
	After            string
	Sum              api.ForecastDay // what the forecast has of it
	Counted          string
	Rows             api.ForecastRows
}

// dayURL is the page of a day, or of what goes then of one bucket and by one cause.
func dayURL(day time.Time, bucket, by, rule, after string) string {
	return link("/calendar", "day", dayText(day), "bucket", bucket, "by", by, "rule", rule, "after", after)
}

func causeURL(day time.Time, b api.ForecastCause) string {
	return dayURL(day, b.Bucket, b.By, b.Rule, "")
}

// dayText names a day in addresses and commands.
func dayText(day time.Time) string {
	if day.IsZero() {
		return "due"
	}
	return day.UTC().Format(time.DateOnly)
}

// causeText says what ends objects.
func causeText(by, rule string) string {
	switch {
	case rule != "" && by == "abort":
		return "incomplete uploads, by rule " + rule
	case by == "rule":
		return "rule " + cmp.Or(rule, "(unnamed)")
	case by == "read":
		return "last reads"
	case by == "idle":
		return "idle time"
	case by == "undo":
		return "end of undo windows"
	case by == "abort":
		return "incomplete uploads"
	}
	return "time to live"
}

// bucketText names the bucket of a cause. The trash of deleted buckets has none.
func bucketText(b api.ForecastCause) string { return cmp.Or(b.Bucket, "deleted buckets") }

// calendarDay lists what goes on a day.
func (v *visit) calendarDay(text string) (templ.Component, error) {
	q := v.r.URL.Query()
	d := theDay{Bucket: q.Get("bucket"), By: q.Get("by"), Rule: q.Get("rule"), After: q.Get("after")}
	if text != "due" {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, &api.Error{Code: "bad_request", Message: "write a day such as 2031-01-31, or due"}
		}
		d.Day = at
	}
	d.Name = dayName(d.Day)
	ctx := v.as()
	rows, err := api.Call[api.ForecastRows](ctx, v.h.admin, "forecast/day",
		api.ForecastDayRequest{Day: d.Day, Bucket: d.Bucket, By: d.By, Rule: d.Rule, After: d.After, Limit: shownDay})
	if err != nil {
		return nil, err
	}
	f, err := api.Call[api.ForecastResult](ctx, v.h.admin, "forecast", api.ForecastRequest{Bucket: d.Bucket, Days: calendarDays})
	if err != nil {
		return nil, err
	}
	for _, one := range f.Days {
		if one.Day.Equal(d.Day) {
			d.Sum = one
		}
	}
	d.Rows, d.Counted = rows, countedText(f.UsageCount, f.Now)
	v.nav, v.title = "/calendar", "Calendar: "+d.Name
	v.sameAs(d.command()...)
	return dayPage(v.frame(), d), nil
}

// forecastOf is the command of the forecast of a bucket; empty: of all.
func forecastOf(bucket string) []string {
	if bucket == "" {
		return []string{"forecast"}
	}
	return []string{"forecast", "s3://" + bucket}
}

// command lists the same in a shell.
func (d theDay) command() []string {
	out := append(forecastOf(d.Bucket), "--day", dayText(d.Day))
	if d.By != "" {
		out = append(out, "--by", d.By)
	}
	if d.Rule != "" {
		out = append(out, "--rule", d.Rule)
	}
	return out
}

// all is the page of the whole day.
func (d theDay) all() string { return dayURL(d.Day, "", "", "", "") }

// page is the page of these rows that begins after a mark.
func (d theDay) page(after string) string { return dayURL(d.Day, d.Bucket, d.By, d.Rule, after) }

// shown reports whether the page is confined to a cause.
func (d theDay) shown(b api.ForecastCause) bool {
	return b.Bucket == d.Bucket && b.By == d.By && b.Rule == d.Rule
}

// confined says what the page is confined to; empty: nothing.
func (d theDay) confined() string {
	text := d.Bucket
	if d.By != "" {
		text = cmp.Or(text, "all buckets") + ", " + causeText(d.By, d.Rule)
	}
	return text
}
