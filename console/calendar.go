package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// calendarDays is how far the calendar looks ahead.
const calendarDays = 30

// causes are what ends objects, in the order in which bars are stacked.
var causes = []struct{ By, Name, Class string }{
	{"ttl", "time to live", "f1"}, {"read", "last reads", "f2"}, {"idle", "idle times", "f6"}, {"rule", "rules", "f3"}, {"undo", "undo windows", "f5"}, {"abort", "incomplete uploads", "f4"},
}

// calendar is what the page of the next days shows.
type calendar struct {
	api.ForecastResult
	Bucket  string
	Columns []column
	Most    int64 // objects on the fullest day
}

// column is a day of the chart.
type column struct {
	X, Label string
	URL      string // of the day's page
	Name     string // the day and what goes, for those who cannot see it
	Parts    []cell
}

// cell is a part of a column.
type cell struct{ Y, H, Class string }

// Dimensions of the chart, in its own units.
const (
	chartHeight = 160
	columnWidth = 30
)

func (v *visit) calendar() (templ.Component, error) {
	bucket := v.r.URL.Query().Get("bucket")
	if day := v.r.URL.Query().Get("day"); day != "" {
		return v.calendarDay(day)
	}
	f, err := api.Call[api.ForecastResult](v.as(), v.h.admin, "forecast", api.ForecastRequest{Bucket: bucket, Days: calendarDays})
	if err != nil {
		return nil, err
	}
	v.sameAs(forecastOf(bucket)...)
	return calendarPage(v.frame(), calendarOf(f, bucket)), nil
}

func calendarOf(f api.ForecastResult, bucket string) calendar {
	c := calendar{ForecastResult: f, Bucket: bucket}
	for _, d := range f.Days {
		c.Most = max(c.Most, d.Objects)
	}
	today := f.Now.UTC().Truncate(24 * time.Hour)
	for i := range calendarDays {
		day := today.AddDate(0, 0, i)
		col := column{X: strconv.Itoa(i * columnWidth), Label: strconv.Itoa(day.Day())}
		for _, d := range f.Days {
			if d.Day.Equal(day) || d.Day.IsZero() && i == 0 {
				col.add(d, c.Most)
				col.URL = dayURL(d.Day, bucket, "", "", "")
			}
		}
		c.Columns = append(c.Columns, col)
	}
	return c
}

// add stacks what goes on a day onto its column.
func (c *column) add(d api.ForecastDay, most int64) {
	top := float64(chartHeight)
	if n := len(c.Parts); n > 0 { // today, after what is due already
		if y, err := strconv.ParseFloat(c.Parts[n-1].Y, 64); err == nil {
			top = y
		}
	}
	for _, cause := range causes {
		var objects int64
		for _, b := range d.By {
			if b.By == cause.By {
				objects += b.Objects
			}
		}
		if objects == 0 {
			continue
		}
		h := max(float64(objects)/float64(max(most, 1))*chartHeight, 3)
		h = min(h, top)
		top -= h
		c.Parts = append(c.Parts, cell{decimal(top), decimal(h), cause.Class})
	}
	c.Name = fmt.Sprintf("%s: %s, %s", dayName(d.Day), words.Plural(d.Objects, "object", "objects"), words.Size(d.Bytes))
}

// dayName names a day of the forecast.
func dayName(day time.Time) string {
	if day.IsZero() {
		return "due already"
	}
	return day.UTC().Format("Mon 2006-01-02")
}

// countedText says when a count was made.
func countedText(c api.UsageCount, now time.Time) string {
	switch {
	case c.Live && c.Partial:
		return "counted now, as far as one request may: there is at least so much"
	case c.Live:
		return "counted now"
	case c.At.IsZero():
		return "not counted yet: the routine usage does it"
	}
	return "counted " + when(c.At, now)
}
