package twoledgers_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/instance"
)

var (
	runs    = flag.Bool("doubt.run", false, "run the tests, which take a minute")
	overlay = flag.String("doubt.overlay", "", "a file for go build -overlay, to run a lethe with planted flaws")
)

// binary is lethe with failpoints.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(instance.Main(m, instance.Build{Tags: "failpoints", Overlay: *overlay, Skip: !*runs || testing.Short()}, &binary))
}

// besides begins a test that runs beside the others.
func besides(t *testing.T) {
	t.Helper()
	if !*runs || testing.Short() {
		t.Skip(`runs servers for a minute: "make crash" does`)
	}
	t.Parallel()
}

// patience is how long something may take that has to happen by itself.
const patience = time.Minute
