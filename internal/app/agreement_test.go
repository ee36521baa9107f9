package app

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
)

// Settings that instances must have in common change a digest; those of each
// instance, and secrets, do not.
func TestDigestsOfAConfiguration(t *testing.T) {
	base, err := digestsOf(config.Default())
	if err != nil || len(base) != 4 {
		t.Fatalf("%v %v", base, err)
	}
	for setting, part := range map[string]string{
		"placement.replicas=2": "placement", "reclaim.grace.min_age=7m": "reclaim.grace",
		`lifecycle=bucket=logs prefix=a/ expiration_days=3`: "lifecycle", "data_dir=/elsewhere": "", "log.level=debug": "", "cache.size=1GiB": "",
		"root.secret=ssssssssssssssssssssssss": "",
	} {
		c := config.Default()
		path, text, _ := strings.Cut(setting, "=")
		if err := c.Set(path, text); err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
		got, err := digestsOf(c)
		if err != nil {
			t.Fatal(err)
		}
		var changed []string
		for p := range got {
			if got[p] != base[p] {
				changed = append(changed, p)
			}
		}
		if part == "" && len(changed) > 0 || part != "" && !slices.Equal(changed, []string{part}) {
			t.Errorf("%s changes %v, want %q", setting, changed, part)
		}
	}
}

// A difference is reported once for each instance and each state of it.
func TestDifferencesAreToldOnce(t *testing.T) {
	var a agreement
	if err := a.set(config.Default()); err != nil {
		t.Fatal(err)
	}
	same, other := a.digests(), a.digests()
	other["placement"] = "another"
	list := []ledger.Instance{
		{ID: "self", Info: ledger.InstanceInfo{Digests: other}}, {ID: "old"},
		{ID: "same", Info: ledger.InstanceInfo{Digests: same}}, {ID: "other", Info: ledger.InstanceInfo{Digests: other}},
	}
	if news := a.news("self", list); len(news) != 1 || !slices.Equal(news["placement"], []string{"other"}) {
		t.Errorf("news %v", news)
	}
	if news := a.news("self", list); len(news) != 0 {
		t.Errorf("told again: %v", news)
	}
	changed := maps.Clone(other)
	changed["placement"] = "a third"
	list[3].Info.Digests = changed
	if news := a.news("self", list); len(news) != 1 {
		t.Errorf("a change is not told: %v", news)
	}
}
