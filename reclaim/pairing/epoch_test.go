package pairing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

// FuzzEpoch: deletes go on only if the last of what lies in the place of a backend's
// epochs is the number that the ledger has confirmed; anything else holds them, and
// says why.
func FuzzEpoch(f *testing.F) {
	for _, seed := range []string{"NUMBER", "0000000000000000001", "9223372036854775807", "9223372036854775808", "7", "", "zz", "NUMBER/a", "-1", "+NUMBER", "00NUMBER"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, name string, beside bool) {
		w := newWorld(t)
		g := w.Pairing()
		w.Must(g.Advance(w.Ctx, "main"))
		w.Must(g.Advance(w.Ctx, "main"))
		mine := w.Bytes.Keys()[0]
		folder := mine[:strings.LastIndex(mine, "/")+1]
		key := folder + strings.ReplaceAll(name, "NUMBER", mine[len(folder):])
		if !beside {
			w.Bytes.Lose(mine)
		}
		if err := w.Bytes.Put(w.Ctx, key, strings.NewReader("{}"), 2); err != nil && key != mine {
			t.Skip(err) // no key of a backend
		}
		digits := strings.Trim(key[len(folder):], "0123456789") == "" && len(key) == len(mine) && key <= folder+"9223372036854775807"
		fits := key == mine || beside && digits && key < mine
		err := g.Check(w.Ctx, "main")
		if fits != (err == nil) {
			t.Fatalf("%q beside %q (%v): %v", key, mine, beside, err)
		}
		list, listErr := w.Ledger.Backends(w.Ctx)
		w.Must(listErr)
		if !fits && (!errors.Is(err, lethe.ErrBackendMismatch) || list[0].Held == "") {
			t.Fatalf("%q: held for %q, %v", key, list[0].Held, err)
		}
	})
}
