package sqlledger

import (
	"math/rand/v2"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// TestRoomOfInlineBytes: contents fill the pages that they lie in, one of 4 KiB as well as
// those of other lengths.
func TestRoomOfInlineBytes(t *testing.T) {
	bodiesRoom := `SELECT pg_total_relation_size('bodies')`
	for name, length := range map[string]func(*rand.Rand) int{
		"4096":        func(*rand.Rand) int { return 4096 },
		"1 to 16 KiB": func(r *rand.Rand) int { return 1<<10 + r.IntN(15<<10) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openServer(t, ledger.Options{})
			dice := rand.New(rand.NewPCG(1, 2))
			var bytes, room int64
			err := db.write(t.Context(), "fill", func(x *tx) error {
				for range 1000 {
					b := ledger.NewBody("", make([]byte, length(dice)))
					bytes += int64(len(b.Bytes))
					if err := x.insertBody(b); err != nil {
						return err
					}
				}
				return x.Row(bodiesRoom).Scan(&room)
			})
			if err != nil {
				t.Fatal(err)
			}
			if times := float64(room) / float64(bytes); times > 1.10 {
				t.Errorf("%d bytes take %d, %.2f times as many", bytes, room, times)
			}
		})
	}
}
