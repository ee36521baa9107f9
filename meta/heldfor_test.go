package meta

import (
	"testing"

	"github.com/lethe-storage/lethe/internal/servers"
)

func heldOK(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func backendsOf(t *testing.T, db *DB) []Backend {
	list, err := db.Backends(t.Context())
	heldOK(t)(0, err)
	return list
}

// What an older program that runs beside this one holds, or lets go, is not taken for
// what was held before.
func TestHeldForBesideOlderPrograms(t *testing.T) {
	db := openServerAt(t, servers.Postgres(t), Options{})
	heldOK(t)(db.AddBackend(t.Context(), Backend{ID: "disk"}))
	for _, step := range []struct {
		old, ours string
		want      HeldFor
	}{
		{ours: "moving", want: HeldByPerson},
		{old: "the backend is at epoch 4, the ledger only at 3: this ledger is an older copy", want: HeldUnknown},
		{old: "", want: ""},
		{old: "moving again", want: HeldUnknown},
		{ours: "moving again", want: HeldByPerson},
	} {
		if step.ours != "" {
			heldOK(t)(0, db.HoldBackend(t.Context(), "disk", step.ours))
		} else {
			heldOK(t)(0, db.write(t.Context(), "older", func(x *tx) error {
				_, err := x.exec(`UPDATE backends SET held = ?1`, step.old)
				return err
			}))
		}
		if b := backendsOf(t, db)[0]; b.HeldFor != step.want {
			t.Errorf("%+v: held for %q", step, b.HeldFor)
		}
	}
}
