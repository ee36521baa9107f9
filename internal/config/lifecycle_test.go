package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

func TestLifecycleRulesOfTheFile(t *testing.T) {
	c, err := Parse("lethe.yaml", []byte(`
lifecycle:
  - bucket=logs prefix=2023/ expiration_days=30
  - bucket=logs id="a rule" prefix="a b" tag=k=v tag=l= larger_than=5 smaller_than=9 expiration_date=2031-01-01 disabled
  - bucket=scratch prefix="" whole_bucket expiration_days=1 abort_days=7
`))
	if err != nil {
		t.Fatal(err)
	}
	over, under := int64(5), int64(9)
	want := map[string]lifecycle.Rules{
		"logs": {
			{Prefix: "2023/", Days: 30},
			{ID: "a rule", Prefix: "a b", Tags: map[string]string{"k": "v", "l": ""}, Over: &over, Under: &under,
				Date: lethe.FromTime(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)), Disabled: true},
		},
		"scratch": {{Whole: true, Days: 1, AbortDays: 7}},
	}
	got, err := c.LifecycleRules()
	if err != nil || got["logs"][0].ID == "" || got["scratch"][0].ID == "" {
		t.Fatalf("rules %+v, %v: want IDs", got, err)
	}
	got["logs"][0].ID, got["scratch"][0].ID = "", ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rules are %+v, want %+v", got, want)
	}
	for _, r := range c.Lifecycle {
		var again LifecycleRule
		if err := again.UnmarshalText([]byte(r.String())); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%s is read as %+v, %v", r, again, err)
		}
	}
}

func TestImplausibleLifecycleRulesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"prefix=x expiration_days=1":                                   "names no bucket",
		"bucket=abc expiration_days=1":                                 "has no prefix",
		"bucket=abc prefix=x":                                          "At least one action",
		"bucket=abc prefix=x expiration_days=0":                        "at least 1",
		"bucket=abc prefix=x expiration_days=1 expiration_days=2":      "twice",
		"bucket=abc prefix=x expiration_days=1 expiration_date=2031":   "not a date",
		"bucket=abc prefix=x expiration_date=2031-01-01 noncurrent=1":  "not known",
		"bucket=abc prefix=x tag=k expiration_days=1":                  "key=value",
		"bucket=abc prefix=\"x expiration_days=1":                      "do not end",
		"bucket=abc prefix=\"\" expiration_days=1":                     "confirm it",
		"bucket=abc id=whole-bucket-too prefix=\"\" expiration_days=1": "confirm it",
		"bucket=A prefix=x expiration_days=1":                          "no name of a bucket",
		"bucket=abc prefix=x larger_than=many expiration_days=1":       "number of bytes",
	} {
		c, err := Parse("lethe.yaml", []byte("lifecycle:\n  - '"+text+"'\n"))
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
