package reclaim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

// FuzzEpoch: what lies in the place of a backend's epoch lets deletes go on only if
// it names this database and the number that is its name, within what the ledger
// has intended; anything else holds them, and says why.
func FuzzEpoch(f *testing.F) {
	const same = `{"store":"STORE","db":"DB","epoch":NUMBER,"at":1}`
	for _, seed := range []string{
		same, strings.Replace(same, `"DB"`, `"another"`, 1), strings.Replace(same, "NUMBER", "1", 1), strings.Replace(same, "NUMBER", "-1", 1),
		same + same, same + " ", "", "{}", "null", "[]", `{"epoch":9223372036854775808}`, `{"EPOCH":NUMBER,"DB":"DB"}`,
	} {
		for _, number := range []int64{0, 2, 3, 1 << 62} {
			f.Add([]byte(seed), number)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, number int64) {
		w := newWorld(t)
		g := w.guard()
		w.must(g.Advance(w.ctx, "main"))
		w.must(g.Advance(w.ctx, "main"))
		for _, key := range w.bytes.Keys() {
			w.bytes.Lose(key)
		}
		store, err := w.ledger.Identity(w.ctx)
		w.must(err)
		number = max(number, 0)
		for from, to := range map[string]string{"STORE": string(store.ID), "DB": string(store.DB), "NUMBER": fmt.Sprint(number)} {
			body = bytes.ReplaceAll(body, []byte(from), []byte(to))
		}
		w.must(w.bytes.Put(w.ctx, fmt.Sprintf("%s/epoch/%019d", store.ID, number), bytes.NewReader(body), int64(len(body))))
		err = g.Check(w.ctx, "main")
		var says struct {
			DB    lethe.ID
			Epoch int64
		}
		mine := json.Unmarshal(body, &says) == nil && says.DB == store.DB && says.Epoch == number && number == 2
		if mine != (err == nil) {
			t.Fatalf("%q under number %d: %v", body, number, err)
		}
		list, listErr := w.ledger.Backends(w.ctx)
		w.must(listErr)
		if mine {
			return
		}
		if !errors.Is(err, lethe.ErrBackendMismatch) || list[0].Held == "" {
			t.Fatalf("%q under number %d: held for %q, %v", body, number, list[0].Held, err)
		}
	})
}
