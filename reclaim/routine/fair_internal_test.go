package routine

import (
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TestTurnsAlternate: buckets are not looked for while a batch takes all that is
// due. Where several have work every second batch is divided among them, and a
// single bucket is looked at ever more rarely.
func TestTurnsAlternate(t *testing.T) {
	due := func(ids ...lethe.ID) ledger.Turns {
		out := ledger.Turns{End: true}
		for i, id := range ids {
			out.Due = append(out.Due, ledger.Turn{Bucket: id, After: lethe.Time(10 + i)})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		more  bool
		found ledger.Turns
		want  string // batches: o the oldest, l a look in vain and then the oldest, t turns
	}{
		{"one batch", false, due("a", "b"), "oooooooooooo"},
		{"two have work", true, due("a", "b"), "ototototototo"},
		{"one is alone", true, due("a"), "ollolooolooooooolooooooolooooooo"},
		{"nobody in this stretch", true, ledger.Turns{Last: "m"}, "ollllllll"},
		{"one in this stretch", true, ledger.Turns{Last: "m", Due: due("c").Due}, "otototot"},
	} {
		var u fairScheduler
		got := ""
		for range len(c.want) {
			step := "o"
			if u.crowded && u.wait == 0 {
				if step = "l"; len(u.next("", c.found)) > 0 {
					step = "t"
				}
			}
			if got += step; step != "t" {
				u.oldest(c.more)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTurnsLeaveTheRestToTheOldest: what others leave of a batch goes to the
// longest waiting bucket, and a bucket is continued from where it was.
func TestTurnsLeaveTheRestToTheOldest(t *testing.T) {
	var u fairScheduler
	got := u.next("k", ledger.Turns{Due: []ledger.Turn{{Bucket: "a", After: 3}, {Bucket: "b", After: 7}, {Bucket: "c", After: 5}}})
	if want := "[{b 7} {c 5} {a 3}]"; fmt.Sprint(turnsOf(got)) != want {
		t.Errorf("turns %v, want %s", turnsOf(got), want)
	}
	if u.after["c"] != 5 {
		t.Errorf("it begins in %v", u.after)
	}
	var r cursor
	r.moved(ledger.Turns{Last: "k"})
	if at := r.at(); at != "k" {
		t.Errorf("the ring is at %q", at)
	}
	if r.moved(ledger.Turns{Last: "z", End: true}); r.at() != "" {
		t.Errorf("the ring does not begin again: %q", r.at())
	}
}

func turnsOf(list []ledger.Turn) (out []string) {
	for _, t := range list {
		out = append(out, fmt.Sprintf("{%s %d}", t.Bucket, int64(t.After)))
	}
	return out
}
