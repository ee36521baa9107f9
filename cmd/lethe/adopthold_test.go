package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// What is held stays, and every command shows it; after the hold is removed it
// goes.
func TestAdoptHolds(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	var codes []string
	for _, text := range []string{"held row", "held object", "free"} {
		p, err := a.store.Create(t.Context(), []byte(text), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, p.Code)
	}
	object := a.text(`SELECT c.object_key FROM pastes p JOIN content c USING (content_hash) WHERE p.short_code = '` + codes[1] + `'`)
	if code, out := a.run("hold", "add", a.file, "pastes", "--key", "elsewhere/x"); code == 0 || !strings.Contains(out, `begins with "content/"`) {
		t.Errorf("held is what lies elsewhere: exit code %d\n%s", code, out)
	}
	a.ok([]string{`held: the row "` + codes[0] + `"`}, "hold", "add", a.file, "pastes", "--row", codes[0], "--reason", "audit 2031")
	if out := a.ok([]string{"held: the object"}, "hold", "add", a.file, "pastes", "--key", object, "--until", lethe.SystemClock{}.Now().Add(time.Hour).String()); strings.Contains(out, "spelled") {
		t.Errorf("an object that is there is doubted:\n%s", out)
	}
	for _, what := range [][]string{{"--row", "no such row"}, {"--key", "content/never"}} {
		a.ok([]string{"nothing has that key now"}, append([]string{"hold", "add", a.file, "pastes"}, what...)...)
		a.ok([]string{"released"}, append([]string{"hold", "rm", a.file, "pastes", "--yes"}, what...)...)
	}
	a.ok([]string{"audit 2031", "released", object}, "hold", "list", a.file)
	a.ok([]string{"2 holds stand"}, "status", a.file)
	a.ok([]string{"a hold keeps the row"}, "check", a.file)
	a.ok([]string{"a hold keeps the row", "audit 2031"}, "explain", a.file, codes[0])
	a.ok([]string{"is object " + object + "; 1 row refers to it", "a hold keeps the object"}, "explain", a.file, object)
	a.ok([]string{"rows 2", "objects 1"}, "run", a.file, "--once")
	if n := a.count(pastesLeft); n != 1 {
		t.Errorf("%d pastes are left, want the one that is held", n)
	}
	if n := a.count(`SELECT count(*) FROM content`); n != 2 {
		t.Errorf("%d contents are left, want that of the row that is held and the one that is held", n)
	}
	if code, out := a.run("remove", a.file, "--yes"); code == 0 || !strings.Contains(out, "held: a hold keeps ") || !strings.Contains(out, "release it first: \"lethe adopt hold rm\"\n") {
		t.Errorf("holds were forgotten: exit code %d\n%s", code, out)
	}
	a.ok([]string{"released"}, "hold", "rm", a.file, "pastes", "--row", codes[0], "--yes")
	if code, out := a.run("hold", "rm", a.file, "pastes", "--row", codes[0], "--yes"); code != exitNothing || !strings.Contains(out, "no such hold; lethe adopt hold list "+a.file+" shows all") {
		t.Errorf("a hold was released twice: exit code %d\n%s", code, out)
	}
	a.ok([]string{"rows 1", "objects 1"}, "run", a.file, "--once")
	a.ok([]string{"held: the collection pastes"}, "hold", "add", a.file, "pastes", "--wait")
	if n := a.count(`SELECT count(*) FROM content`); n != 1 {
		t.Errorf("%d contents are left, want the one that is held", n)
	}
}

// On a terminal commands show what they do, and nothing else; the audit lines
// are in their file.
func TestAdoptAtATerminal(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "audit.log")
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s", "\ncollections:", "\naudit: "+lines+"\ncollections:"))
	if _, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"guard", "install", a.file, "--yes"}, {"hold", "add", a.file, "pastes", "--reason", "audit"}, {"hold", "rm", a.file, "pastes", "--yes"}, {"run", a.file, "--once"},
	} {
		shown := newScreen(t)
		code := run(t.Context(), append([]string{"adopt"}, args...), streams{strings.NewReader(""), shown.file, shown.file})
		if text := shown.read(); code != 0 || strings.Contains(text, "audit=") || strings.Contains(text, `"audit"`) || strings.Contains(text, "level=") {
			t.Errorf("adopt %s: exit code %d\n%s", strings.Join(args, " "), code, text)
		}
	}
	text, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"route":"guard install"`, `"route":"hold add"`, `"route":"hold rm"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no audit line says %s:\n%s", want, text)
		}
	}
	if err := errors.Join(os.Remove(lines), os.Mkdir(lines, 0o700)); err != nil {
		t.Fatal(err)
	}
	if code, out := a.run("hold", "add", a.file, "pastes", "--reason", "audit"); code == 0 || !strings.Contains(out, "nothing was done") {
		t.Errorf("without a file for its audit line: exit code %d\n%s", code, out)
	}
	if out := a.ok(nil, "hold", "list", a.file); strings.Contains(out, "pastes") {
		t.Errorf("it is held:\n%s", out)
	}
}
