package service

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// What the ledger keeps of a failure is told without the packages that it came through.
func TestFailuresAreToldPlainly(t *testing.T) {
	const kept, told = `s3blob: delete x: backend is down: connection refused`, `delete x: backend is down: connection refused`
	id := lethe.RandomID(0)
	if got := blobInfo(id, ledger.Blob{ID: id, LastError: kept}).LastError; got != told {
		t.Errorf("of a blob: %s", got)
	}
	if got := runOf(map[string]ledger.Run{"clean": {Outcome: "reclaim: backend main: " + kept}}, "clean").Outcome; got != "backend main: "+told {
		t.Errorf("of a run: %s", got)
	}
	if got := walkOf(ledger.Walk{Outcome: "reconcile: " + kept}).Outcome; got != told {
		t.Errorf("of a walk: %s", got)
	}
}
