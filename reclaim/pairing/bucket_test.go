package pairing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/test/reclaimtest"
	"github.com/lethe-storage/lethe/test/servers"
)

// Epochs are written to a bucket, advance there, and hold what does not belong
// together, as on a disk.
func TestLimitOnABucket(t *testing.T) {
	for name, start := range map[string]func(testing.TB) servers.S3{"versitygw": servers.VersityGW, "gofakes3": servers.GoFakeS3} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Stores["main"] = reclaimtest.Bucket(t, start(t))
			g := &pairing.Pairing{Ledger: w.Ledger, Stores: w.Stores, Clock: w.Clock}
			for range 3 {
				w.Must(g.Advance(w.Ctx, "main"))
			}
			w.Must(g.Check(w.Ctx, "main"))
			var keys []string
			list := func(i blob.Info) error { keys = append(keys, i.Key); return nil }
			w.Must(w.Stores["main"].List(w.Ctx, "", "", list))
			if len(keys) != 1 || !strings.HasPrefix(keys[0], string(w.Store)+"/epoch/") {
				t.Errorf("the bucket holds %q", keys)
			}
			if _, err := w.Stores["main"].Delete(w.Ctx, keys); err != nil {
				t.Fatal(err)
			}
			if err := g.Check(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
				t.Errorf("a bucket without its epoch: %v", err)
			}
		})
	}
}
