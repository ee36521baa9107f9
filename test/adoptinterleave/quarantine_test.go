package adoptinterleave_test

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// moved makes an action of a method of a quarantine.
func moved(name string, on []string, run func(a *act, q *sqladopt.Quarantine) (any, error)) action {
	return action{name: "quarantine: " + name, site: "quarantine", on: on, run: func(a *act) (any, error) { return run(a, a.keys.Quarantine()) }}
}

// quarantine are what becomes of objects that are moved away.
func quarantine() []action {
	record := func(fence int64, key string) func(a *act, q *sqladopt.Quarantine) (any, error) {
		return func(a *act, q *sqladopt.Quarantine) (any, error) {
			return q.Moved(a.ctx, fence, []string{key}, adopt.Terms{Retention: time.Hour, Late: graces.Late})
		}
	}
	claim := func(c adopt.ClaimRequest) func(a *act, q *sqladopt.Quarantine) (any, error) {
		return func(a *act, q *sqladopt.Quarantine) (any, error) {
			c.Late = graces.Late
			fence, keys, err := q.Claim(a.ctx, c)
			a.fenced(fence)
			return keys, err
		}
	}
	end := func(how adopt.QuarantineOutcome) func(a *act, q *sqladopt.Quarantine) (any, error) {
		return func(a *act, q *sqladopt.Quarantine) (any, error) {
			return q.End(a.ctx, marker, []string{"claimed"}, how)
		}
	}
	hold := moved("Hold all", []string{"moving", "held"}, func(a *act, _ *sqladopt.Quarantine) (any, error) {
		_, _, err := a.keys.AddHold(a.ctx, adopt.Hold{Scope: adopt.HoldCollection})
		return nil, err
	})
	hold.closes = true
	return []action{
		moved("Begin new", []string{"new"}, beginMoves("new")),
		moved("Begin", []string{"moving", "stale", "held"}, beginMoves("moving", "stale", "held")),
		moved("Moved", []string{"moving"}, record(marker, "moving")),
		moved("Moved late", []string{"stale"}, record(silentMarker, "stale")),
		moved("Claim to purge", []string{"held", "wanted"}, claim(adopt.ClaimRequest{Keys: []string{"held", "wanted"}, For: adopt.Purging})),
		moved("Claim to restore", []string{"held", "wanted"}, claim(adopt.ClaimRequest{Keys: []string{"held", "wanted"}, For: adopt.Restoring})),
		moved("End as purged", []string{"claimed"}, end(adopt.Purged)),
		moved("End as left", []string{"claimed"}, end(adopt.Left)),
		moved("Want", []string{"held"}, func(a *act, q *sqladopt.Quarantine) (any, error) { return q.Want(a.ctx, "held") }),
		hold, nameMoved("moving"), nameMoved("held"),
	}
}

// beginMoves begins to move objects.
func beginMoves(keys ...string) func(a *act, q *sqladopt.Quarantine) (any, error) {
	return func(a *act, q *sqladopt.Quarantine) (any, error) {
		var found []adopt.FoundObject
		for _, key := range keys {
			found = append(found, adopt.FoundObject{Key: key, Copy: "away/" + key, Size: 1, Tag: "tag"})
		}
		got, err := q.Begin(a.ctx, found, graces.Late)
		a.fenced(got.Fence)
		got.Fence = 0
		return got, err
	}
}

// nameMoved is an application that names an object.
func nameMoved(key string) action {
	x := moved("name "+key, []string{key}, func(a *act, _ *sqladopt.Quarantine) (any, error) {
		return nil, a.transact(pgx.ReadCommitted, func(tx pgx.Tx) error {
			_, err := tx.Exec(a.ctx, "INSERT INTO uploads VALUES ($1)", key)
			return err
		})
	})
	x.app = true
	return x
}
