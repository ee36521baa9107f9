package ledger

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

func TestObjectEnds(t *testing.T) {
	const day = lethe.Time(24 * time.Hour / time.Microsecond)
	rules := lifecycle.Rules{{ID: "logs", Number: 3, Prefix: "logs/", Days: 2}, {ID: "off", Number: 4, Disabled: true, Days: 1}}
	for name, c := range map[string]struct {
		o    Object
		want Ending
	}{
		"no end":                           {Object{Key: "a", ModifiedAt: day}, Ending{}},
		"a time to live":                   {Object{Key: "a", ModifiedAt: day, TTLAt: 9 * day}, Ending{9 * day, EndsByTTL, ""}},
		"a rule without a stamp":           {Object{Key: "logs/a", ModifiedAt: day}, Ending{4 * day, EndsByRule, "logs"}},
		"the stamp of a rule that is gone": {Object{Key: "a", ModifiedAt: day, RuleAt: 2 * day, RuleNumber: 1}, Ending{}},
		"the rule is first":                {Object{Key: "logs/a", ModifiedAt: day, TTLAt: 5 * day}, Ending{4 * day, EndsByRule, "logs"}},
		"read for the last time":           {Object{Key: "a", ModifiedAt: day, TTLAt: 3 * day, ReadsLeft: AllRead}, Ending{3 * day, EndsByRead, ""}},
		"reads left":                       {Object{Key: "a", ModifiedAt: day, TTLAt: 3 * day, ReadsLeft: 2}, Ending{3 * day, EndsByTTL, ""}},
		"both at once":                     {Object{Key: "logs/a", ModifiedAt: day, TTLAt: 4 * day}, Ending{4 * day, EndsByTTL, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.o.Ends(rules); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
