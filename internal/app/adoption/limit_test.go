package adoption

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// A run takes no more than its limit, which may be less than a batch, with any number of workers.
func TestARunTakesNoMoreThanItsLimit(t *testing.T) {
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store, zero := p.open(t), adopt.Duration(0)
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 20, TTL: time.Microsecond}); err != nil {
		t.Fatal(err)
	}
	a := p.adopt(t, Options{}, func(c *adopt.Collection) { c.Limit, c.Workers, c.Grace.Unreferenced = 7, 4, &zero })
	for range 2 {
		counts, err := a.Loop.Once(t.Context(), []string{"expire pastes"})
		if n := counts["expire pastes"]; err != nil || n["rows"] != 7 || n["objects"] > 7 {
			t.Errorf("a run did %v, %v", counts, err)
		}
	}
}
