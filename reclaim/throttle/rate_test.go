package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// A rate holds in each tenth of a second, also in the first and after a rest, and all of
// it is used.
func TestRateIsSpread(t *testing.T) {
	const rate, batch = 4000, 100
	synctest.Test(t, func(t *testing.T) {
		wait := throttle.PerSecond[int](rate, batch)
		for range 2 {
			done, began := 0, lethe.SystemClock{}.Now()
			for {
				done += batch
				if err := wait(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				passed := lethe.SystemClock{}.Now().Sub(began)
				due := int(passed * rate / time.Second)
				if most := due + rate/10 + batch; done > most || done < due {
					t.Fatalf("%d items within %v, want %d to %d", done, passed, due, most)
				}
				if passed > 2*time.Second {
					break
				}
			}
			time.Sleep(time.Minute)
		}
	})
}
