package adoption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// explains checks the explanation of a key.
func explains(t *testing.T, a *Adoption, name, key string, want ...string) {
	t.Helper()
	facts, err := a.Explain(t.Context(), name, key)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(facts)
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("of %s is said %s, not %q", key, said, w)
		}
	}
	if len(want) == 0 && len(facts) > 0 {
		t.Errorf("of %s is said %s", key, said)
	}
}

// An object's explanation has why it stays, when it will be deleted, and when
// it was; also if its worker died after the delete.
func TestExplainKeys(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "died", "held", "orphan", "z")
	f.row("a", "z")
	explains(t, f.Adoption, "files", "files/orphan")
	f.passes(map[string]int64{"orphans": 3})
	explains(t, f.Adoption, "files", "files/a", "a row names object files/a")
	explains(t, f.Adoption, "files", "files/orphan", "no row named object files/orphan (6 bytes)", "it may be deleted from")
	if _, _, err := f.AddHold(t.Context(), adopt.Hold{Collection: "files", Scope: adopt.HoldObject, Key: "files/held"}); err != nil {
		t.Fatal(err)
	}
	explains(t, f.Adoption, "files", "files/held", "a hold keeps")
	f.exec(`UPDATE lethe.orphans SET allowed_at = 1 WHERE key = 'files/died'`)
	f.lose("died")
	explains(t, f.Adoption, "files", "files/died", "its delete was allowed at")
	f.waited()
	f.passes(map[string]int64{"objects": 1})
	explains(t, f.Adoption, "files", "files/orphan", "was deleted, as no row named it")
	explains(t, f.Adoption, "files", "files/died", "was allowed, and its end was not seen")
}

// A folder's explanation has that it is live, its state on the way to deletion,
// and when it was deleted.
func TestExplainFolders(t *testing.T) {
	a := newArchive(t)
	a.record("stays", "t")
	one := a.adopt("one")
	explains(t, one, "topics", "stays/topics/t", "it lives") // before Lethe's tables are made
	if err := one.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	explains(t, one, "topics", "never/topics/t")
	explains(t, one, "topics", "stays/topics/t", "it lives")
	for state, want := range map[int]string{1: "a run that finds it so again marks it", 2: "its marker is being put", 3: "may be purged from", 4: "3 of its objects are gone"} {
		if _, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.folders (collection, name, state, seen_at, marked_at, purged) VALUES ('topics', 'gone/topics/t' || $1::int, $1::int, 1, 1, 3)`, state); err != nil {
			t.Fatal(err)
		}
		explains(t, one, "topics", fmt.Sprintf("sequences/gone/topics/t%d/", state), want)
	}
	if _, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.receipts (collection, kind, at, keys) VALUES ('topics', 'folders', 1, '["old/topics/t"]')`); err != nil {
		t.Fatal(err)
	}
	explains(t, one, "topics", "old/topics/t", "folder old/topics/t was removed")
	if err := one.Unknown([]string{"topics"}, "young/topics/t"); !strings.Contains(err.Error(), `it would be "sequences/young/topics/t/"`) || strings.Contains(err.Error(), "outside") {
		t.Errorf("of a folder that is not recorded is said %v", err)
	}
}

// For an unknown key the error has the place where it would be.
func TestExplainUnknownKeys(t *testing.T) {
	f := newFiles(t, nil)
	for key, want := range map[string]string{
		"files/never":                        `would belong to collection files, below the prefix "files/"`,
		"other/a":                            `lies outside of the prefix "files/" of files`,
		"42":                                 "no receipt names it",
		"files/":                             "it is the prefix of collection files itself: lethe touches no object with this key",
		"files/" + strings.Repeat("k", 1100): "kkk... (1106 bytes, and services have no keys above 1024)",
	} {
		if err := f.Unknown([]string{"files"}, key); !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
	if err := f.Unknown([]string{"others"}, "files/never"); !strings.Contains(err.Error(), "ask for that collection") {
		t.Errorf("asked for another collection: %v", err)
	}
}
