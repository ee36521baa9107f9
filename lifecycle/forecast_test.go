package lifecycle

import "testing"

func TestForecast(t *testing.T) {
	now := at("2031-01-10T12:00:00Z")
	f := NewForecaster(Rules{
		{ID: "week", Prefix: "a/", Days: 7}, {ID: "off", Prefix: "b/", Days: 1, Disabled: true}, {ID: "uploads", AbortDays: 5},
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
		{"c", "2020-01-01T00:00:00Z", ""},
	} {
		ttl := at("1970-01-01T00:00:00Z")
		if o.ttl != "" {
			ttl = at(o.ttl)
		}
		f.Object(Facts{Key: o.key, Size: 10, Modified: at(o.modified)}, ttl)
	}
	f.Upload("x", at("2031-01-01T00:00:00Z"))
	f.Upload("x", at("2031-02-09T00:00:00Z"))
	got := f.Forecasts()
	if got[0].Today != (Amount{2, 20}) || got[0].Days != (Amount{4, 40}) || len(got[0].Examples) != 4 || got[0].Examples[0].Facts.Key != "a/over" {
		t.Errorf("week: %+v", got[0])
	}
	if got[1].Today != (Amount{}) || got[1].Days != (Amount{1, 10}) || !got[1].Rule.Disabled {
		t.Errorf("off: %+v", got[1])
	}
	if got[2].Uploads != 1 || got[2].Days.Objects != 0 {
		t.Errorf("uploads: %+v", got[2])
	}
	short := NewForecaster(Rules{{ID: "long", Days: 100, Prefix: "a"}}, now, 30)
	short.Object(Facts{Key: "a", Modified: now}, 0)
	if r := short.Forecasts()[0]; r.Days.Objects != 0 {
		t.Errorf("beyond the days asked for: %+v", r)
	}
}
