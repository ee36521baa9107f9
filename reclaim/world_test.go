package reclaim_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// world adds to the common world what the tests of this package need.
type world struct{ *reclaimtest.World }

func newWorld(t *testing.T) *world { return &world{reclaimtest.New(t)} }
