package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// Only the named limit is allowed, not just the first match.
func TestAllowChoosesExactly(t *testing.T) {
	list := []ledger.LimitState{
		{Kind: ledger.LimitClock, Subject: "east"},
		{Kind: ledger.LimitDeletes, Subject: "east"}, {Kind: ledger.LimitDeletes, Subject: "west"},
		{Kind: ledger.LimitPurge},
		{Kind: ledger.LimitRules, Subject: "id1"}, // of a deleted bucket
		{Kind: ledger.LimitTTL, Subject: "id2", Name: "invoices"}, {Kind: ledger.LimitTTL, Subject: "id3", Name: "id2"},
	}
	for _, c := range []struct{ kind, subject, want, says string }{
		{"deletes", "west", "west", ""},
		{"deletes", "", "", "east, west"},
		{"deletes", "north", "", "east, west"},
		{"purge", "", "", ""},
		{"purge", "invoices", "", "the store, by no name"},
		{"rules", "", "", "say which rules to allow: id1"},
		{"rules", "id1", "id1", ""},
		{"rules", "invoices", "", "id1"},
		{"ttl", "invoices", "id2", ""},
		{"ttl", "id2", "", "id of another"},
		{"clock", "east", "", "use rules, ttl"},
		{"nonsense", "", "", "use rules, ttl"},
	} {
		g, err := chooseLimit(api.AllowRequest{Kind: c.kind, Subject: c.subject}, list)
		switch {
		case c.says != "":
			if !errors.Is(err, api.ErrBadRequest) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s of %q: %v, want it to say %q", c.kind, c.subject, err, c.says)
			}
		case err != nil || string(g.Kind) != c.kind || g.Subject != c.want:
			t.Errorf("%s of %q: %+v, %v", c.kind, c.subject, g, err)
		}
	}
}
