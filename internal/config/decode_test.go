package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/yamlfile"
)

func TestParseErrorsShowThePlace(t *testing.T) {
	for text, says := range map[string]string{
		"cache:\n  size: 64Mebi\n":         "lethe.yaml:2:9: cache.size: \"64Mebi\" is not a size; use a number with a unit",
		"cache:\n  siez: 64MiB\n":          "lethe.yaml:2:3: cache.siez: there is no such key; did you mean size?\n    2 |   siez: 64MiB\n      |   ^",
		"cash:\n  size: 1\n":               "lethe.yaml:1:1: cash: there is no such key; did you mean cache?",
		"cache: {whatever: 1}\n":           "1:9: cache.whatever: there is no such key; possible here: size, max_value, ttl",
		"5: x\n":                           "1:1: 5: there is no such key",
		"<<: {data_dir: x}\n":              "1:1: <<: there is no such key",
		"cache:\n  ttl: 12\n":              `2:8: cache.ttl: invalid time to live: "12" has no unit after "12"; use`,
		"cache:\n  ttl:\n":                 "cache.ttl: has no value; write one",
		"cache: 5\n":                       "1:8: cache: is not a section; write its keys below it",
		"cache: [1]\n":                     "cache: is not a section",
		"- a\n":                            "1:1: is not a section",
		"data_dir: [a]\n":                  "data_dir: is not a single value",
		"data_dir: {a: b}\n":               "data_dir: is not a single value",
		"paste: {enabled: yes}\n":          `"yes" is neither true nor false`,
		"server: {max_connections: 1.5}\n": `"1.5" is not a whole number`,
		"server: {max_connections: 99999999999999999999}":   "is not a whole number",
		"server: {max_connections: 0x10}":                   `"0x10" is not a whole number`,
		"server: {rate_limit: {requests_per_second: .nan}}": `".nan" is not a number`,
		"server: {trusted_proxies: [10.0.0.0/99]}\n":        `server.trusted_proxies[0]: "10.0.0.0/99" is not a network`,
		"server: {trusted_proxies: {a: b}}\n":               "server.trusted_proxies: is not a single value",
		"backends: dir\n":                                   "backends: is not a list; begin each entry with a dash",
		"backends:\n  - name: a\n    paht: b\n":             "3:5: backends[0].paht: there is no such key; did you mean path?",
		"data_dir: &a x\nlog:\n  level: *a\n":               "3:10: log.level: is an alias; write the value itself",
		"data_dir: a\n---\ndata_dir: b\n":                   "3:9: a second document begins here",
		"data_dir: a\ndata_dir: b\n":                        "lethe.yaml:2:1: mapping key \"data_dir\" already defined",
		"data_dir: a\n\tcache: b\n":                         "lethe.yaml:2:",
		"data_dir: 'a\n":                                    "lethe.yaml:1:",
		"data_dir: \"\xff\"\n":                              "is not a text in UTF-8",
		"reclaim: {expire: {schedule: hourly}}\n":           `reclaim.expire.schedule: schedule: "hourly" is not understood`,
		"reclaim: {expire: {schedule: {corn: x}}}\n":        "reclaim.expire.schedule.corn: there is no such key; did you mean cron?",
		"reclaim: {expire: {schedule: {until: \"06:00\"}}}": "reclaim.expire.schedule: schedule: neither every nor cron is set",
		"reclaim: {expire: {schedule: [1]}}\n":              "reclaim.expire.schedule: is not a single value",
		"root: {secret: REDACTED}\n":                        "root.secret: is REDACTED",
		strings.Repeat("#", yamlfile.MaxBytes+1):            "at most 65536 are read",
	} {
		c, err := Parse("lethe.yaml", []byte(text))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) || c != nil {
			t.Errorf("%.60q: %v\nwant an error that says:\n%s", text, err, says)
		}
	}
}

func TestParseListsEveryProblem(t *testing.T) {
	_, err := Parse("f", []byte("cache:\n  size: x\n  ttl: y\nlog:\n  levle: z\nstore: 1\n"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 4 {
		t.Errorf("%d problems, want 4: %v", len(problems), err)
	}
}

func TestScheduleForms(t *testing.T) {
	for text, want := range map[string]string{
		"every 90s":                    "every 1m30s",
		`cron "0 0 * * *" zone UTC`:    `cron "0 0 * * *" zone UTC`,
		`'cron 0 0 * * * until 06:00'`: `cron "0 0 * * *" until 06:00`,
		`{every: 5m}`:                  "every 5m",
		`{cron: "@daily"}`:             `cron "@daily"`,
		`{cron: 0 22 * * *, until: 04:00, zone: Europe/Berlin, every: 1h}`: `cron "0 22 * * *" zone Europe/Berlin until 04:00 every 1h`,
	} {
		c := mustParse(t, "reclaim:\n  expire:\n    schedule: "+text+"\n")
		if got := c.Reclaim.Expire.Schedule.String(); got != want {
			t.Errorf("schedule: %s is %s; want %s", text, got, want)
		}
	}
}

func TestByteOrderMarksAndCRLFAreAccepted(t *testing.T) {
	c := mustParse(t, "\ufeffdata_dir: x\r\ncache:\r\n  size: 1GiB\r\n")
	if c.DataDir != "x" || c.Cache.Size != 1<<30 {
		t.Errorf("read:\n%s", printed(t, c))
	}
}

func TestValuesKeepTheirText(t *testing.T) {
	c := mustParse(t, "data_dir: 0644\nroot: {access_key: 007, secret: true}\npaste:\n  bucket: !!str 1_000\nserver: {max_connections: '8'}\n")
	if c.DataDir != "0644" || c.Root.AccessKey != "007" || c.Root.Secret.Reveal() != "true" || c.Paste.Bucket != "1_000" ||
		c.Server.MaxConnections != 8 {
		t.Errorf("values changed:\n%s", printed(t, c))
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"none": 0, "0": 0, "0MiB": 0, "1": 1, "1024": 1024, "1KiB": 1024, "64MiB": 64 << 20, "64mib": 64 << 20, "64 MiB": 64 << 20,
		"5GB": 5_000_000_000, "1.5GiB": 3 << 29, "7EiB": 7 << 60, "9223372036854775807": 1<<63 - 1, "9007199254740993B": 9007199254740993,
	} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
		var again Size
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%d is written %s, read again %d, %v", got, got, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "-1MiB", "+1", "1,000", "1.2.3MiB", "8EiB", "9223372036854775808", "99999999999999999999EiB",
		"64Mebi", "1 2", "8.5EiB", "nan", "1e3", "\x00", "1\x00"} {
		got := Size(7)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 7 || !strings.Contains(err.Error(), "64MiB") {
			t.Errorf("%q is %d, %v; want an error, nothing changed", text, got, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]string{"none": "none", "0": "none", "0s": "none", "90s": "1m30s", "2w": "14d", "1d12h": "1d12h"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("%q is %s, %v; want %s", text, d, err, want)
		}
	}
	d := Duration(7)
	if err := d.UnmarshalText([]byte("1y")); !errors.Is(err, lethe.ErrInvalidTTL) || d != 7 {
		t.Errorf("1y is %s, %v; want ErrInvalidTTL", d, err)
	}
}
