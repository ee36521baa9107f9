package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func (w *world) deadIDs(q ledger.DeadQuery) (ids []lethe.ID) {
	w.Helper()
	for _, d := range must(w.Dead(w.ctx, q))(w) {
		ids = append(ids, d.ID)
	}
	return ids
}

// lettersByID asks for dead letters in the order of their ids.
func lettersByID(ctx context.Context, l Ledger, ids []lethe.ID) ([]ledger.DeadLetter, error) {
	list, err := l.DeadByID(ctx, ids)
	slices.SortFunc(list, func(a, b ledger.DeadLetter) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list, err
}

// chosenLetters: each filter selects what it describes, and all together select what matches
// all. A letter has the bucket of its last reference while that has its name.
func chosenLetters(w *world) {
	other := w.bucket("another", ledger.BucketSettings{})
	w.put("small", "body")
	w.put("large", strings.Repeat("body ", 20))
	small, large := w.onlyBlob("small").ID, w.onlyBlob("large").ID
	w.remove("small")
	first := w.now()
	w.gaveUp("access DENIED")
	w.remove("large")
	w.gaveUp("50% of _it_ timed out")
	orphan := w.letters(1)[0]
	both := []lethe.ID{min(small, large), max(small, large)}
	for name, c := range map[string]struct {
		q    ledger.DeadQuery
		want []lethe.ID
	}{
		"bucket":           {ledger.DeadQuery{Bucket: bucketName}, both},
		"other bucket":     {ledger.DeadQuery{Bucket: other.Name}, nil},
		"no such bucket":   {ledger.DeadQuery{Bucket: "nowhere"}, nil},
		"age":              {ledger.DeadQuery{DiedBy: first}, []lethe.ID{small}},
		"too young":        {ledger.DeadQuery{DiedBy: w.row(small).DiedAt - 1}, nil},
		"size":             {ledger.DeadQuery{MinSize: 100, Bucket: bucketName}, []lethe.ID{large}},
		"larger than any":  {ledger.DeadQuery{MinSize: 1 << 60}, nil},
		"error":            {ledger.DeadQuery{Error: "s DEN"}, []lethe.ID{small}},
		"another case":     {ledger.DeadQuery{Error: "access denied"}, nil},
		"no pattern":       {ledger.DeadQuery{Error: "50% of _it_"}, []lethe.ID{large}},
		"still no pattern": {ledger.DeadQuery{Error: "%"}, []lethe.ID{large}},
		"all at once":      {ledger.DeadQuery{Backend: disk, Reason: lethe.ReasonDelete, Bucket: bucketName, DiedBy: first, MinSize: 4, Error: "DENIED"}, []lethe.ID{small}},
		"one that is not":  {ledger.DeadQuery{Backend: disk, Reason: lethe.ReasonDelete, Bucket: bucketName, DiedBy: first, MinSize: 5, Error: "DENIED"}, nil},
		"behind":           {ledger.DeadQuery{Bucket: bucketName, After: both[0]}, both[1:]},
		"up to a limit":    {ledger.DeadQuery{Bucket: bucketName, Limit: 1}, both[:1]},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 9
		}
		equal(w, name, fmt.Sprint(w.deadIDs(c.q)), fmt.Sprint(c.want))
	}
	w.put("alive", "something else")
	list := must(lettersByID(w.ctx, w, []lethe.ID{small, w.onlyBlob("alive").ID, orphan, small, w.id()}))(w)
	slices.SortFunc(list, func(a, b ledger.DeadLetter) int { return strings.Compare(b.Bucket, a.Bucket) })
	if len(list) != 2 || list[0].Bucket != bucketName || list[0].BucketID == "" || list[0].Blob != w.row(small) || list[1].Bucket != "" || list[1].BucketID != "" {
		w.Fatalf("by id: %+v", list)
	}
	w.remove("alive")
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	if list = must(w.DeadByID(w.ctx, []lethe.ID{small}))(w); len(list) != 1 || list[0].Bucket != "" || list[0].BucketID == "" {
		w.Fatalf("of a deleted bucket: %+v", list)
	}
}

// gaveUp makes dead letters of all condemned blobs.
func (w *world) gaveUp(text string) {
	w.Helper()
	w.later(time.Hour)
	w.settle(w.claim(), ledger.SettleItem{Result: ledger.Failed, Error: text, Dead: true})
}
