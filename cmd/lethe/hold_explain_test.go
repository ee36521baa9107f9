package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// TestExplainTellsOfHolds checks that explain names the hold that keeps an
// object.
func TestExplainTellsOfHolds(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.ok("hold", "add", "first", "--key", "a", "--reason", "an audit")
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if !strings.Contains(e.Verdict, `held (object "a") for "an audit"`) || len(e.Holds) != 1 {
		t.Errorf("explained as %q, holds %+v", e.Verdict, e.Holds)
	}
	w.fails("--legal", "hold", "rm", "first", "--key", "none")
	w.ok("hold", "rm", "first", "--key", "a")
	if e = asked[api.Explanation](w, "explain", "s3://first/a"); len(e.Holds) != 0 || strings.Contains(e.Verdict, "held") {
		t.Errorf("explained as %q, holds %+v", e.Verdict, e.Holds)
	}
}

// What keeps an object, and whose its bytes are, is said once and alike.
func TestExplainSaysWhatHoldsKeep(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1d")
	contains(t, "without holds", w.ok("explain", "s3://first/a"), "its bytes are its own")
	w.put("first", "b", "bytes", "")
	w.ok("hold", "add", "s3://first/a")
	w.ok("hold", "add", "s3://first")
	out := w.ok("explain", "s3://first/a")
	contains(t, "with holds", out, ", but a hold keeps it\n", "and by 1 more hold; each of them keeps it", "its bytes stay until the last of 2 references goes:",
		"to release the hold: lethe hold rm s3://first/a ", "to release the hold: lethe hold rm s3://first ")
	if strings.Contains(out, "its own") {
		t.Errorf("shared, and its own:\n%s", out)
	}
}

// A hold says what it keeps now, and how to undo it.
func TestHoldSaysWhatItKeeps(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("media")
	w.put("media", "photos/a", "bytes", "")
	w.put("media", "photos/b", "bytes", "")
	w.put("media", "dir/", "it", "")
	for _, at := range []struct {
		add  []string
		want string
		rm   string
	}{
		{[]string{"s3://media/photos"}, "nothing: no object has this key; 2 begin with photos/: lethe hold add s3://media/photos/ --data-dir ", "s3://media/photos"},
		{[]string{"s3://media/none"}, "nothing: no object has this key; one that is written is held\n", "s3://media/none"},
		{[]string{"s3://media/none/"}, "no objects; those that are written are held\n", "s3://media/none/"},
		{[]string{"s3://media/photos/"}, "now:     2 objects, 10 B\n", "s3://media/photos/"},
		{[]string{"s3://media/pho*"}, "now:     2 objects, 10 B\n", "'s3://media/pho*'"},
		{[]string{"s3://media/photos/a"}, "now:     1 object, 5 B\n", "s3://media/photos/a"},
		{[]string{"media", "--key", "dir/"}, "now:     1 object, 2 B\n", "s3://media --key dir/"},
		{[]string{"media"}, "now:     3 objects, 12 B\n", "s3://media"},
	} {
		undo := "lethe hold rm " + at.rm
		contains(t, "hold add", w.ok(append([]string{"hold", "add"}, at.add...)...), at.want, "to undo: "+undo+" --data-dir ")
		w.ok(strings.Fields(strings.ReplaceAll(undo, "'", ""))[1:]...)
	}
	if list := asked[[]api.HoldInfo](w, "hold", "list"); len(list) != 0 {
		t.Errorf("held: %+v", list)
	}
}

// Explain shows since when the bytes of each copy are verified.
func TestExplainTellsWhenCopiesWereVerified(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes of a", "")
	if text := w.ok("explain", "s3://first/a"); !regexp.MustCompile(`(?m)^  blob .*, written 20\S+.*, not verified since$`).MatchString(text) {
		t.Errorf("after the write:\n%s", text)
	}
	w.ok("reclaim", "--once", "--only", "checksums")
	if text := w.ok("explain", "s3://first/a"); !regexp.MustCompile(`(?m)^  blob .*, verified 20\S+.*$`).MatchString(text) || strings.Contains(text, "not verified") {
		t.Errorf("after it was read:\n%s", text)
	}
}

// What is asked of a bucket that is not there, or of the beginning of keys, is said so.
func TestExplainOfWhatHasNoRow(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "photos/a", "bytes", "")
	w.put("first", "odd; $(ls)/a", "bytes", "")
	for name, want := range map[string]string{
		"s3://first/b": "never stored", "s3://second/a": `there is no bucket "second"`,
		"s3://first/photos": "lethe ls s3://first/photos/", "s3://first/photos/": "lethe ls s3://first/photos/",
		"s3://first/odd; $(ls)": "lethe ls 's3://first/odd; $(ls)/'",
	} {
		if code, out, _ := w.lethe("explain", name); code != exitNothing || !strings.Contains(out, want) {
			t.Errorf("explain %s says %q with code %d, want %q", name, out, code, want)
		}
	}
}
