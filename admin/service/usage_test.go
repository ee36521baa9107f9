package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/schedule"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const day = 24 * time.Hour

// counting is a service that counts 10 rows for a request at most.
type counting struct {
	*testing.T
	*service.Service
	db    *sqlledger.DB
	clock *clocktest.Clock
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	clock := clocktest.At(lethe.FromTime(time.Date(2031, 5, 4, 13, 0, 0, 0, time.UTC)))
	db, err := sqlledger.Open(t.Context(), sqlledger.Memory, ledger.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.AddBackend(t.Context(), ledger.Backend{ID: "main"}); err != nil {
		t.Fatal(err)
	}
	loop := &reclaim.Loop{
		Ledger: db, Clock: clock, Worker: "test", NewID: func() lethe.ID { return lethe.RandomID(clock.Now()) },
		Routines: []reclaim.Scheduled{{Routine: &routine.Usage{Ledger: db, Limit: 7, Safety: reclaim.Safety{MultipartStale: day}}, Timetable: schedule.Schedule{}, Solo: true}},
	}
	return &counting{t, service.New(service.Options{
		Ledger: db, Loop: loop, Clock: clock, Stopwatch: clock, MaxCounted: 10, Limits: ledger.Limits{Rules: ledger.Limit{Ask: 5}},
		Audit: func(string, string, ...slog.Attr) {},
	}), db, clock}
}

// fill makes a bucket with so many objects of 100 bytes under a prefix.
func (c *counting) fill(bucket, prefix string, n int, ttl time.Duration) {
	c.Helper()
	_, _ = c.db.CreateBucket(c.Context(), ledger.Bucket{Name: bucket, Owner: "o"}) // it may be there
	for i := range n {
		k, digest := fmt.Sprintf("%s%02d", prefix, i), fmt.Sprintf("%016d%048d", i%50, 0)
		up, err := c.db.Begin(c.Context(), ledger.Intent{ID: lethe.RandomID(c.clock.Now()), Backend: "main", Size: 100})
		if err == nil {
			_, err = c.db.Commit(c.Context(), ledger.Commit{
				Op: lethe.RandomID(c.clock.Now()), What: "put", Object: ledger.Object{Bucket: bucket, Key: k, Size: 100, ETag: "e"}, TTL: ttl,
				Content: ledger.ContentKey{Domain: "o", Kind: lethe.Whole, Digest: digest, Size: 100},
				Blobs:   []ledger.Uploaded{{Blob: up.ID, Size: 100, Digest: digest, CRC32C: 1}},
			})
		}
		if err != nil {
			c.Fatal(err)
		}
	}
}

// refresh lets the routine count.
func (c *counting) refresh() {
	c.Helper()
	if _, err := c.Reclaim(c.Context(), api.ReclaimRequest{Only: []string{"usage"}}, func(api.Event) {}); err != nil {
		c.Fatal(err)
	}
}

// ask returns the answer to a request.
func ask[Req, Res any](c *counting, call func(context.Context, Req) (Res, error), req Req) Res {
	c.Helper()
	res, err := call(c.Context(), req)
	if err != nil {
		c.Fatal(err)
	}
	return res
}

func (c *counting) shows(r api.UsageRequest, want string) api.Usage {
	c.Helper()
	u := ask(c, c.Usage, r)
	have := fmt.Sprintf("%d objects of %d, live %t, partial %t", u.Objects, u.Bytes, u.Live, u.Partial)
	if u.At.IsZero() {
		have = fmt.Sprintf("%d objects of %d, not counted", u.Objects, u.Bytes)
	}
	for _, p := range u.Prefixes {
		have += fmt.Sprintf("; %s %d", p.Prefix, p.Objects)
		if p.Growth != nil {
			have += fmt.Sprintf(" %+d", p.Growth.Objects)
		}
	}
	if have != want {
		c.Errorf("%+v is\n%s\nwant\n%s", r, have, want)
	}
	return u
}

// TestUsage: what is small is counted; what is not is shown as it was counted last, and says
// so.
func TestUsage(t *testing.T) {
	c := newCounting(t)
	c.fill("small", "a/", 4, 0)
	c.fill("big", "few/", 3, 0)
	c.fill("big", "many/x", 20, day)
	u := c.shows(api.UsageRequest{Bucket: "small"}, "4 objects of 400, live true, partial false; a/ 4")
	if u.StoredBytes >= 400 || u.WithoutEnd.Objects != 4 || u.Growth != nil || len(u.Sizes) == 0 {
		t.Errorf("%+v", u)
	}
	c.shows(api.UsageRequest{Bucket: "big"}, "23 objects of 2300, not counted")
	c.shows(api.UsageRequest{Bucket: "big", Prefix: "few/"}, "3 objects of 300, live true, partial false")
	c.shows(api.UsageRequest{Bucket: "big", Prefix: "many"}, "11 objects of 1100, live true, partial true; many/ 11")
	c.refresh()
	first := c.clock.Now()
	c.clock.Advance(2 * time.Hour)
	c.fill("big", "many/y", 5, day)
	u = c.shows(api.UsageRequest{Bucket: "big"}, "23 objects of 2300, live false, partial false; few/ 3; many/ 20")
	if u.At != first.Time() || u.WithoutEnd.Objects != 3 || u.Growth != nil {
		t.Errorf("%+v", u)
	}
	c.shows(api.UsageRequest{Bucket: "big", Prefix: "few/"}, "3 objects of 300, live true, partial false")
	c.shows(api.UsageRequest{Bucket: "big", Prefix: "many/"}, "20 objects of 2000, live false, partial false")
	c.refresh()
	c.shows(api.UsageRequest{Bucket: "big"}, "28 objects of 2800, live false, partial false; few/ 3 +0; many/ 25 +5")
	c.shows(api.UsageRequest{Bucket: "big", Since: "1h"}, "28 objects of 2800, live false, partial false; few/ 3 +0; many/ 25 +5")
	c.clock.Advance(90 * time.Minute)
	c.refresh()
	c.shows(api.UsageRequest{Bucket: "big", Since: "1h"}, "28 objects of 2800, live false, partial false; few/ 3 +0; many/ 25 +0")
	for _, r := range []api.UsageRequest{{}, {Bucket: "big", Prefix: "\xff"}, {Bucket: "big", Since: "soon"}, {Bucket: "nowhere"}} {
		if _, err := c.Usage(t.Context(), r); err == nil {
			t.Errorf("%+v is answered", r)
		}
	}
}

// TestBucketUsages: objects and bytes are exact whenever the bucket was counted.
func TestBucketUsages(t *testing.T) {
	c := newCounting(t)
	c.fill("big", "a/", 20, day/2)
	c.refresh()
	c.fill("big", "b/", 5, 0)
	c.fill("later", "a/", 20, 0)
	c.fill("small", "a/", 4, 0)
	text := ""
	for _, b := range ask(c, c.BucketUsages, api.BucketUsagesRequest{}).Buckets {
		text += fmt.Sprintf("%s %d %t %t %d %d;", b.Bucket, b.Objects, b.At.IsZero(), b.Live, b.WithoutEnd.Objects, b.Soon.Objects)
	}
	if want := "big 25 false false 0 20;later 20 true false 0 0;small 4 false true 4 0;"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	list, err := c.BucketGauges(t.Context())
	if err != nil || len(list) != 3 || list[0].Bucket != "big" || list[0].Soon.Objects != 20 || list[2].Live || !list[2].At.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	for i := range 60 {
		c.fill(fmt.Sprintf("one%d", i), "", 1, 0)
	}
	c.clock.Advance(time.Minute)
	list, err = c.BucketGauges(t.Context())
	if err != nil || len(list) != 51 || list[50].Bucket != "" || list[50].Objects != 13 {
		t.Errorf("%d buckets, the last %+v, %v", len(list), list[len(list)-1], err)
	}
}

// TestForecast: by cause and day, with what is held and which limits would stop it.
func TestForecast(t *testing.T) {
	c := newCounting(t)
	c.fill("b", "logs/", 8, 0)
	c.fill("b", "keep/", 1, 40*day)
	c.fill("b", "soon/", 1, time.Hour)
	c.rules("b", 2)
	if _, err := c.db.AddHold(t.Context(), ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "logs/00"}); err != nil {
		t.Fatal(err)
	}
	f := ask(c, c.Forecast, api.ForecastRequest{})
	if len(f.Days) != 2 || !f.Live || f.Later.Objects != 1 || f.WithoutEnd.Objects != 0 {
		t.Fatalf("%+v", f)
	}
	today, then := f.Days[0], f.Days[1]
	if today.Day != time.Date(2031, 5, 4, 0, 0, 0, 0, time.UTC) || today.By[0].By != "ttl" || today.Objects != 1 || len(today.Limits) != 0 {
		t.Errorf("%+v", today)
	}
	if then.Day != time.Date(2031, 5, 7, 0, 0, 0, 0, time.UTC) || then.By[0].Rule != "r" || then.Objects != 7 || then.Held.Objects != 1 || then.FreedBytes != 0 || then.By[0].FreedBytes != 700 {
		t.Errorf("%+v", then)
	}
	if len(then.Limits) != 1 || then.Limits[0].Goes != 0 || then.Limits[0].Due != 7 || then.Limits[0].Bucket != "b" || !strings.Contains(then.Limits[0].Why, "more than 5") {
		t.Errorf("limits: %+v", then.Limits)
	}
	if f := ask(c, c.Forecast, api.ForecastRequest{Bucket: "b", Days: 2}); len(f.Days) != 1 || f.Later.Objects != 8 {
		t.Errorf("two days: %+v", f)
	}
	c.clock.Advance(2 * time.Hour)
	if f := ask(c, c.Forecast, api.ForecastRequest{}); !f.Days[0].Day.IsZero() || f.Days[0].Objects != 1 {
		t.Errorf("what is due: %+v", f.Days[0])
	}
}

// TestForecastOfCounts: of a large bucket it says when it was counted, and what has changed.
func TestForecastOfCounts(t *testing.T) {
	c := newCounting(t)
	c.fill("b", "logs/", 20, 0)
	c.rules("b", 2)
	if f := ask(c, c.Forecast, api.ForecastRequest{}); len(f.Uncounted) != 1 || !f.At.IsZero() || f.Live {
		t.Errorf("%+v", f)
	}
	c.refresh()
	if f := ask(c, c.Forecast, api.ForecastRequest{}); len(f.Uncounted)+len(f.Changed) != 0 || f.Live || f.At != c.clock.Now().Time() || f.Days[0].Objects != 20 {
		t.Errorf("%+v", f)
	}
	c.fill("b", "few/", 2, time.Hour)
	if f := ask(c, c.Forecast, api.ForecastRequest{Bucket: "b", Prefix: "few/"}); !f.Live || len(f.Days) != 1 || f.Days[0].Objects != 2 || f.WithoutEnd.Objects != 0 {
		t.Errorf("of a prefix: %+v", f)
	}
	for _, r := range []api.ForecastRequest{{Bucket: "b", Prefix: "logs/"}, {Prefix: "logs/"}} {
		if f, err := c.Forecast(t.Context(), r); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("of %+v: %+v, %v", r, f, err)
		}
	}
	c.rules("b", 4)
	if f := ask(c, c.Forecast, api.ForecastRequest{}); len(f.Changed) != 1 {
		t.Errorf("%+v", f)
	}
	c.clock.Advance(4 * day)
	if f := ask(c, c.Forecast, api.ForecastRequest{}); len(f.Days) != 0 {
		t.Errorf("a day that has passed: %+v", f.Days)
	}
}

// rules lets a rule end what is under logs/ after so many days.
func (c *counting) rules(bucket string, days int) {
	c.Helper()
	rules := lifecycle.Rules{{ID: "r", Prefix: "logs/", Days: days}}
	if err := rules.Complete(); err != nil {
		c.Fatal(err)
	}
	if _, err := c.db.SetRules(c.Context(), ledger.RulesChange{Bucket: bucket, Rules: rules, By: "operator"}); err != nil {
		c.Fatal(err)
	}
}

// TestObjectList: what ends each object is what the rules in force say, before they are
// applied to it.
func TestObjectList(t *testing.T) {
	c := newCounting(t)
	c.fill("b", "logs/", 3, 0)
	c.fill("b", "x", 2, time.Hour)
	c.rules("b", 2)
	l := ask(c, c.ListObjects, api.ObjectListRequest{Bucket: "b", Limit: 2})
	if len(l.Prefixes) != 1 || len(l.Objects) != 1 || l.Objects[0].EndedBy != "ttl" || !l.More {
		t.Errorf("%+v", l)
	}
	if l = ask(c, c.ListObjects, api.ObjectListRequest{Bucket: "b", After: l.Next}); len(l.Objects) != 1 || l.More {
		t.Errorf("%+v", l)
	}
	l = ask(c, c.ListObjects, api.ObjectListRequest{Bucket: "b", Prefix: "logs/", Recursive: true})
	if len(l.Objects) != 3 || l.Objects[0].Rule != "r" || l.Objects[0].EndsAt != time.Date(2031, 5, 7, 0, 0, 0, 0, time.UTC) {
		t.Errorf("%+v", l)
	}
}
