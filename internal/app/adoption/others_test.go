package adoption

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// Another description of the database that deletes in what a collection has, or in its
// quarantine, is a problem of the one that comes second. It ends an hour after the other has
// run, and neither finds itself.
func TestAnotherDescriptionOverlaps(t *testing.T) {
	quarantined := adopt.QuarantineSpec{Prefix: "quarantine/"}
	f := newCollection(t, nil, adopt.Collection{Quarantine: &quarantined})
	f.put("a", "b")
	f.row("a", "b")
	f.passes(map[string]int64{"orphans": 0})
	check := func(prefix string) (bool, string) {
		t.Helper()
		d := *f.whole
		d.Collections = maps.Clone(d.Collections)
		c := d.Collections["files"]
		c.Prefix, c.Quarantine = prefix, nil
		delete(d.Collections, "files")
		d.Collections["others"] = c
		other, err := Open(t.Context(), &d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		found, err := other.check(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		if prefix == "quarantine/" {
			p, err := other.pairing(t.Context(), "others")
			if err == nil {
				err = p.Admit(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprint(found["others"])
		return strings.Contains(text, "another description of this database is at work below "+f.bucket+"/files/"), text
	}
	for prefix, overlaps := range map[string]bool{"": true, "files/sub/": true, "more/": false} {
		if got, text := check(prefix); got != overlaps {
			t.Errorf("below %q: %s", prefix, text)
		}
	}
	if found, err := f.check(t.Context(), all); err != nil || adopt.Problems(found["files"]) {
		t.Errorf("by itself: %v, %v", found, err)
	}
	check("quarantine/")
	if found, err := f.check(t.Context(), all); err != nil || !strings.Contains(fmt.Sprint(found["files"]), "is at work below "+f.bucket+"/quarantine/") {
		t.Errorf("another works in the quarantine: %v, %v", found, err)
	}
	f.exec(`UPDATE lethe.pairings SET at = at - $1`, time.Hour.Microseconds())
	if got, text := check(""); got {
		t.Errorf("an hour later: %s", text)
	}
}

// What is no epoch has a remedy of its own.
func TestNoEpoch(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", ".lethe/epoch/notes.txt")
	f.row("a")
	found, err := f.check(t.Context(), all)
	if text := fmt.Sprint(found["files"]); err != nil || !strings.Contains(text, "notes.txt\" is no epoch") || !strings.Contains(text, "look at that object, and remove it by hand") {
		t.Errorf("a check finds %s, %v", text, err)
	}
}
