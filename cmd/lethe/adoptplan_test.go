package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planned writes a plan and returns its file and its text.
func (a *adopted) planned(want ...string) (file, text string) {
	a.t.Helper()
	file = filepath.Join(a.t.TempDir(), "plan.json")
	a.ok(want, "plan", a.file, "-o", file)
	data, err := os.ReadFile(file)
	if err != nil {
		a.t.Fatal(err)
	}
	return file, string(data)
}

// create stores pastes that expire at once, and returns their codes.
func (a *adopted) create(texts ...string) (codes []string) {
	a.t.Helper()
	for _, text := range texts {
		p, err := a.store.Create(a.t.Context(), []byte(text), time.Millisecond)
		if err != nil {
			a.t.Fatal(err)
		}
		codes = append(codes, p.Code)
	}
	return codes
}

// A plan names what a run would take. Applying it takes that, as far as it is
// still due, and nothing else.
func TestAdoptPlanAndApply(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	codes := a.create("goes", "is extended", "is held")
	file, text := a.planned("expire pastes", "3")
	for _, code := range codes {
		if !strings.Contains(text, `"id":"`+code+`"`) {
			t.Errorf("%s is not in the plan\n%s", code, text)
		}
	}
	if strings.Contains(text, os.Getenv("PASTEBIN_S3_SECRET_KEY")) {
		t.Error("a secret is in the plan")
	}
	later := a.create("is not in the plan")
	a.sql(`UPDATE pastes SET expires_at = now() + INTERVAL '1 hour' WHERE short_code = $1`, codes[1])
	a.ok(nil, "hold", "add", a.file, "pastes", "--row", codes[2])
	a.ok([]string{"expire pastes", "rows 1"}, "apply", a.file, file, "--yes")
	if left := a.text(`SELECT string_agg(short_code, ' ' ORDER BY short_code) FROM pastes`); !strings.Contains(left, later[0]) || strings.Contains(left, codes[0]) || a.count(pastesLeft) != 3 {
		t.Errorf("left are %s, want all but %s", left, codes[0])
	}
	if a.count(`SELECT count(*) FROM pastes WHERE deletion_status <> 'NOT_EXPIRED'`) != 0 {
		t.Error("rows stay claimed")
	}
	// Its object waits from then on, and is in the next plan; later ones are
	// not.
	file, text = a.planned("clean pastes")
	if strings.Contains(text, codes[2]) || !strings.Contains(text, later[0]) {
		t.Errorf("the next plan is\n%s", text)
	}
	if objects := strings.Count(text, `"kind":"object"`); objects != 1 {
		t.Errorf("%d objects are planned, want 1", objects)
	}
	a.ok([]string{"objects 1"}, "apply", a.file, file, "--yes")
	if n := a.count(`SELECT count(*) FROM content`); n != 3 {
		t.Errorf("%d contents are left, want 3: that of the row that went now is in no plan", n)
	}
}

// Plans of another description or database, incomplete ones, and those of
// collections that only report are refused.
func TestAdoptPlansThatAreRefused(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("mode: reclaim", "mode: report"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.create("stays")
	file, text := a.planned("expire pastes")
	refused := func(why string, args ...string) {
		t.Helper()
		code, out := a.run(append([]string{"apply"}, append(args, "--yes")...)...)
		if code == 0 || !strings.Contains(out, why) {
			t.Errorf("exit code %d, want %q\n%s", code, why, out)
		}
		if n := a.count(pastesLeft); n != 1 {
			t.Fatalf("%d pastes are left, want 1", n)
		}
	}
	write := func(path, text string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	description, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	other := write(filepath.Join(t.TempDir(), "other.yaml"), strings.Replace(string(description), "workers: 2", "workers: 3", 1))
	altered := write(filepath.Join(t.TempDir(), "altered.json"), strings.Replace(text, `"id":"`, `"id":"x`, 1))
	refused("only reports", a.file, file)
	refused("changed or cut off", a.file, altered)
	refused("another description", other, file, "--reclaim-reported")
	a.sql(`UPDATE lethe.adoption SET created_at = created_at - 1`)
	refused("another database", a.file, file, "--reclaim-reported")
	a.sql(`UPDATE lethe.adoption SET created_at = created_at + 1`)
	a.sql(`INSERT INTO lethe.troubles (collection, kind, key, at) VALUES ('pastes', 1, 'content/of no row', 1)`)
	a.ok([]string{"rows 1"}, "apply", a.file, file, "--reclaim-reported", "--yes")
	if n := a.count(`SELECT count(*) FROM lethe.troubles WHERE kind = 1`); n != 0 {
		t.Errorf("%d missing objects are told of that nothing refers to", n)
	}
	if n := a.count(pastesLeft); n != 0 {
		t.Errorf("%d pastes are left", n)
	}
}

// More items than fit a batch are applied batch by batch.
func TestAdoptPlanOfManyRows(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer())
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.create("shared")
	a.sql(`INSERT INTO pastes (short_code, content_hash, expires_at) SELECT 'p' || n, content_hash, now() - INTERVAL '1 hour' FROM content, generate_series(1, 2500) AS n`)
	a.sql(`UPDATE content SET ref_count = 2502`)
	a.sql(`INSERT INTO pastes (short_code, content_hash) SELECT 'lives', content_hash FROM content`)
	file, _ := a.planned("2,501")
	out := a.ok(nil, "apply", a.file, file, "--yes")
	if want := "rows 2,501"; !strings.Contains(out, want) {
		t.Errorf("not %q:\n%s", want, out)
	}
	if n := a.count(pastesLeft); n != 1 {
		t.Errorf("%d are left, not the one that lives", n)
	}
}

// Without a collection the error lists them.
func TestAdoptOrphansNamesCollections(t *testing.T) {
	const keys = "  %s: {kind: keys, bucket: b, prefix: %s/, keys: {query: SELECT k FROM t}}\n"
	for want, text := range map[string]string{
		"name a collection of keys": fmt.Sprintf(keys+keys, "files", "a", "media", "b"),
		"no collection of keys":     "  rooms: {kind: folders, bucket: b, prefix: c/, folders: {depth: 1, live: {query: SELECT n FROM t}}}\n",
	} {
		file := filepath.Join(t.TempDir(), "adopt.yaml")
		if err := os.WriteFile(file, []byte("database: postgres://x/y\nbuckets: {b: {bucket: b}}\ncollections:\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := (&adopted{t: t}).run("orphans", file)
		if code == 0 || !strings.Contains(out, want) || strings.Contains(text, "media") != strings.Contains(out, "files, media") {
			t.Errorf("exit code %d, want %q\n%s", code, want, out)
		}
	}
}
