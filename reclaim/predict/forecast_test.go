package predict

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func at(text string) lethe.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return lethe.FromTime(t)
}

func TestForecast(t *testing.T) {
	now := at("2031-01-10T12:00:00Z")
	f := NewForecaster(lifecycle.Rules{
		{ID: "week", Prefix: "a/", Days: 7}, {ID: "off", Prefix: "b/", Days: 1, Disabled: true},
	}, now, 30)
	for _, o := range []struct {
		key, modified, ttl string
	}{
		{"a/over", "2031-01-01T00:00:00Z", ""},
		{"a/today", "2031-01-03T12:00:00Z", ""},                       // ends at the midnight after the 10th
		{"a/later", "2031-01-09T00:00:00Z", ""},                       // on the 17th
		{"a/client", "2031-01-01T00:00:00Z", "2031-01-02T00:00:00Z"},  // its client is first
		{"a/client2", "2031-01-09T00:00:00Z", "2032-01-01T00:00:00Z"}, // the rule is
		{"b/new", "2031-01-10T00:00:00Z", ""},
		{"a/held", "2031-01-01T00:00:00Z", ""},
		{"c", "2020-01-01T00:00:00Z", ""},
	} {
		ttl := at("1970-01-01T00:00:00Z")
		if o.ttl != "" {
			ttl = at(o.ttl)
		}
		f.Object(ledger.Object{Key: o.key, Size: 10, ModifiedAt: at(o.modified), TTLAt: ttl}, o.key == "a/held")
	}
	got := f.Forecasts()
	if got[0].Today != (Amount{2, 20}) || got[0].Days != (Amount{4, 40}) || len(got[0].Examples) != 4 || got[0].Examples[0].Key != "a/over" {
		t.Errorf("week: %+v", got[0])
	}
	if got[1].Today != (Amount{}) || got[1].Days != (Amount{1, 10}) || !got[1].Rule.Disabled {
		t.Errorf("off: %+v", got[1])
	}
	if got[0].Held != (Amount{1, 10}) {
		t.Errorf("held: %+v", got[0].Held)
	}
	if ttl := f.TTL(); ttl.Today != (Amount{1, 10}) || ttl.Days != (Amount{1, 10}) || ttl.Examples[0].Key != "a/client" {
		t.Errorf("times to live: %+v", ttl)
	}
	f.Object(ledger.Object{Key: "a/read", Size: 10, ModifiedAt: at("2031-01-01T00:00:00Z"), TTLAt: now, ReadsLeft: ledger.AllRead}, false)
	if read := f.Read(); read.Today != (Amount{1, 10}) || f.TTL().Today.Objects != 1 {
		t.Errorf("read for the last time: %+v", read)
	}
	if when, n, _ := f.Peak(); when != at("2031-01-17T00:00:00Z") || n != 2 { // a/later and a/client2
		t.Errorf("the most go at %s: %d", when, n)
	}
	short := NewForecaster(lifecycle.Rules{{ID: "long", Days: 100, Prefix: "a"}}, now, 30)
	short.Object(ledger.Object{Key: "a", ModifiedAt: now}, false)
	if r := short.Forecasts()[0]; r.Days.Objects != 0 {
		t.Errorf("beyond the days asked for: %+v", r)
	}
}

// Uploads count for what aborts them first: a rule, or that nobody adds to them.
func TestForecastOfUploads(t *testing.T) {
	f := NewForecaster(lifecycle.Rules{{ID: "uploads", Prefix: "x", AbortDays: 5}}, at("2031-01-10T12:00:00Z"), 30)
	for _, u := range []struct {
		id, begun, abandoned string
		bytes                int64
	}{
		{"over", "2031-01-01T00:00:00Z", "2031-03-01T00:00:00Z", 3},
		{"later", "2031-01-09T00:00:00Z", "2031-03-01T00:00:00Z", 4},
		{"held", "2031-01-01T00:00:00Z", "2031-03-01T00:00:00Z", 5},
		{"beyond", "2031-02-09T00:00:00Z", "2031-03-01T00:00:00Z", 6},
		{"abandoned", "2031-01-09T00:00:00Z", "2031-01-10T00:00:00Z", 7}, // before the rule aborts it
	} {
		f.Upload(ledger.OverdueUpload{
			Upload: ledger.Upload{Key: "x", ID: lethe.ID(u.id), CreatedAt: at(u.begun)}, At: at(u.abandoned), Bytes: u.bytes, Held: u.id == "held",
		})
	}
	u := f.Forecasts()[0]
	if u.Uploads != (Amount{2, 7}) || u.UploadsToday != (Amount{1, 3}) || u.HeldUploads != (Amount{1, 5}) || u.Days.Objects != 0 ||
		len(u.UploadExamples) != 2 || u.UploadExamples[0].Upload.Upload.ID != "over" {
		t.Errorf("uploads: %+v", u)
	}
	if a := f.Abandoned(); a.Uploads != (Amount{1, 7}) || a.UploadsToday != (Amount{1, 7}) || a.UploadExamples[0].Upload.Upload.ID != "abandoned" {
		t.Errorf("abandoned: %+v", a)
	}
}
