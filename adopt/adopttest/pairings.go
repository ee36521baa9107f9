package adopttest

import (
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// pairedPlace is one with a name that is not ASCII.
const pairedPlace = "app/ü/"

// RunPairings runs the suite of the record of epochs of a new database: one is begun and
// confirmed once, by whoever has seen the one before it.
func RunPairings(t *testing.T, rows adopt.PairingRows) {
	ctx := t.Context()
	fenced := func(err error) {
		t.Helper()
		if !errors.Is(err, lethe.ErrFenced) {
			t.Errorf("not refused: %v", err)
		}
	}
	seen := func(want adopt.Paired) adopt.Paired {
		t.Helper()
		p, err := rows.Paired(ctx, pairedPlace)
		if err != nil || p.Epoch != want.Epoch || p.Next != want.Next || p.Elsewhere || p.Now == 0 {
			t.Fatalf("%+v, %v, want %+v", p, err, want)
		}
		return p
	}
	none, first, ninth := adopt.Epoch{}, adopt.Epoch{Number: 1, Nonce: "a"}, adopt.Epoch{Number: 9, Nonce: "x"}
	seen(adopt.Paired{})
	fenced(rows.BeginEpoch(ctx, pairedPlace, first, "b"))
	if err := rows.BeginEpoch(ctx, pairedPlace, none, "a"); err != nil {
		t.Fatal(err)
	}
	fenced(rows.BeginEpoch(ctx, pairedPlace, none, "b"))
	begun := seen(adopt.Paired{Next: "a"})
	fenced(rows.ConfirmEpoch(ctx, pairedPlace, adopt.Paired{Next: "b"}))
	if err := rows.ConfirmEpoch(ctx, pairedPlace, begun); err != nil {
		t.Fatal(err)
	}
	fenced(rows.ConfirmEpoch(ctx, pairedPlace, begun))
	last := seen(adopt.Paired{Epoch: first})
	if last.At == 0 || last.Now < last.At {
		t.Errorf("confirmed at %d, by %d", last.At, last.Now)
	}
	fenced(rows.ConfirmEpoch(ctx, pairedPlace, last))
	if err := errors.Join(rows.AcceptEpoch(ctx, pairedPlace, ninth), rows.AcceptEpoch(ctx, "other/", none)); err != nil {
		t.Fatal(err)
	}
	if seen(adopt.Paired{Epoch: ninth}).At != 0 {
		t.Error("what is accepted is of an age")
	}
}
