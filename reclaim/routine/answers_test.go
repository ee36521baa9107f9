package routine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// answer makes a batch delete's result from bytes: each names a key, one of the
// batch or a foreign one, and the result for it.
func answer(keys []string, script []byte) []blob.Result {
	says := []error{nil, blob.ErrNotExist, blob.ErrUnknown, blob.ErrDown, errors.New("AccessDenied")}
	var out []blob.Result
	for _, b := range script {
		key := fmt.Sprint("foreign/", b)
		if i := int(b & 15); i < len(keys) {
			key = keys[i]
		}
		out = append(out, blob.Result{Key: key, Err: says[int(b>>4)%len(says)]})
	}
	return out
}

// FuzzBatchDeleteAnswers: for every result of a backend, a row is settled as gone
// only if the result names its key and reports success.
func FuzzBatchDeleteAnswers(f *testing.F) {
	f.Add([]byte{0x00, 0x01, 0x02, 0x03}, false) // all deleted, in order
	f.Add([]byte{0x03, 0x12, 0x01, 0x00}, false) // out of order, one absent
	f.Add([]byte{0x00, 0x40, 0x20}, false)       // the same key three ways
	f.Add([]byte{0x0f, 0x1f, 0x2f}, false)       // other keys altogether
	f.Add([]byte{0x00, 0x01}, true)              // broken off
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, script []byte, broken bool) {
		keys := []string{"s/00/a", "s/01/b", "s/02/c", "s/03/d"}
		var whole error
		if broken {
			whole = fmt.Errorf("connection reset: %w", blob.ErrUnknown)
		}
		results := answer(keys, script)
		said := blob.Outcomes(keys, results, whole)
		if len(said) != len(keys) {
			t.Fatalf("%d outcomes for %d keys", len(said), len(keys))
		}
		for i, key := range keys {
			named, denied := false, false
			for _, r := range results {
				named = named || r.Key == key
				denied = denied || r.Key == key && !blob.Gone(r.Err)
			}
			item := decide(reclaim.Safety{}.WithDefaults(), ledger.Blob{}, said[i], 0)
			gone := item.Result == ledger.Gone || item.Result == ledger.Absent
			if gone != (named && !denied) {
				t.Errorf("%s: settled as %d (%v); named %v, denied %v by %v", key, item.Result, said[i], named, denied, results)
			}
		}
	})
}
