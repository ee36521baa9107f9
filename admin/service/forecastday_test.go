package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// rowsOf reads all pages of a day, so many rows at a time.
func (c *counting) rowsOf(r api.ForecastDayRequest, limit int) (out []string) {
	c.Helper()
	r.Limit = limit
	for range 100 {
		p, err := c.ForecastDay(c.Context(), r)
		if err != nil {
			c.Fatal(err)
		}
		for _, row := range p.Rows {
			out = append(out, strings.TrimRight(fmt.Sprintf("%s/%s %s %s", row.Bucket, row.Key, row.By, row.Rule), " "))
		}
		if !p.More {
			return out
		}
		r.After = p.Next
	}
	c.Fatal("the pages do not end")
	return nil
}

// The rows of each day and cause are as many as the forecast counts, on pages of any size.
func TestForecastDayHasWhatTheForecastCounts(t *testing.T) {
	c := newCounting(t)
	c.fill("a", "ttl", 2, 2*day)
	c.fill("a", "logs/", 3, 0)
	c.fill("b", "due", 1, time.Minute)
	c.fill("b", "kept", 1, 2*day)
	c.rules("a", 1)
	if _, err := c.db.AddHold(c.Context(), ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "kept00"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.ConfigureBucket(c.Context(), "a", ledger.BucketSettings{Undo: 3 * day}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.Delete(c.Context(), ledger.Deletion{Op: lethe.RandomID(c.clock.Now()), Bucket: "a", Items: []ledger.DeleteItem{{Key: "ttl00"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.CreateUpload(c.Context(), ledger.Upload{ID: lethe.RandomID(c.clock.Now()), Bucket: "b", Key: "part", Owner: "o"}); err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(time.Hour)
	f, err := c.Forecast(c.Context(), api.ForecastRequest{})
	if err != nil || len(f.Days) != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, d := range f.Days {
		whole := map[int]string{}
		for _, limit := range []int{1, 2, 1000} {
			whole[limit] = strings.Join(c.rowsOf(api.ForecastDayRequest{Day: d.Day}, limit), "\n")
		}
		if whole[1] != whole[1000] || whole[2] != whole[1000] {
			t.Errorf("%s: the pages differ:\n%s\n\n%s\n\n%s", d.Day, whole[1], whole[2], whole[1000])
		}
		if n := int64(strings.Count(whole[1000], "\n") + 1); n != d.Objects+d.Held.Objects {
			t.Errorf("%s: %d rows, the forecast counts %d and %d held:\n%s", d.Day, n, d.Objects, d.Held.Objects, whole[1000])
		}
		for _, by := range d.By {
			rows := c.rowsOf(api.ForecastDayRequest{Day: d.Day, Bucket: by.Bucket, By: by.By, Rule: by.Rule}, 2)
			if int64(len(rows)) != by.Objects+by.Held.Objects {
				t.Errorf("%s: %d rows of %+v: %v", d.Day, len(rows), by, rows)
			}
		}
	}
	for _, bad := range []api.ForecastDayRequest{{By: "chance"}, {After: "?"}, {After: "eyJzIjotMX0"}} {
		if _, err := c.ForecastDay(c.Context(), bad); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := c.ForecastDay(c.Context(), api.ForecastDayRequest{Bucket: "none"}); !errors.Is(err, lethe.ErrNoSuchBucket) {
		t.Errorf("no such bucket: %v", err)
	}
}

// A page of other rules than the page before is refused: rows that the new ones end may lie
// before its place.
func TestPagesOfADayAreOfOneRevisionOfTheRules(t *testing.T) {
	c := newCounting(t)
	c.fill("a", "logs/", 3, 2*day)
	for range 2 {
		if _, err := c.db.CreateUpload(c.Context(), ledger.Upload{ID: lethe.RandomID(c.clock.Now()), Bucket: "a", Key: "part", Owner: "o"}); err != nil {
			t.Fatal(err)
		}
	}
	for by, after := range map[string]time.Duration{"ttl": 2 * day, "abort": day} {
		r := api.ForecastDayRequest{Day: c.clock.Now().Add(after).Time(), By: by, Limit: 1}
		p, err := c.ForecastDay(c.Context(), r)
		if err != nil || len(p.Rows) != 1 || !p.More {
			t.Fatalf("the first page by %s: %+v, %v", by, p, err)
		}
		c.rules("a", 1+len(by))
		r.After = p.Next
		if _, err := c.ForecastDay(c.Context(), r); !errors.Is(err, ledger.ErrRulesChanged) || err.Error() != "lifecycle rules were changed meanwhile: begin again" {
			t.Errorf("the second page by %s: %v", by, err)
		}
		r.After = ""
		if _, err := c.ForecastDay(c.Context(), r); err != nil {
			t.Errorf("begun again by %s: %v", by, err)
		}
	}
}
