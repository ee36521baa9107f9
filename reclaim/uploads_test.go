package reclaim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// left leaves a stale upload with one part on a backend.
func (w *world) left(key, backend, body string) lethe.ID {
	w.Helper()
	u, err := w.ledger.CreateUpload(w.ctx, ledger.Upload{Bucket: "b", Key: key})
	w.must(err)
	p := ledger.Part{UploadID: u.ID, Number: 1, Size: int64(len(body)), Digest: digest(body), BlobID: w.id()}
	_, err = w.ledger.Begin(w.ctx, ledger.Intent{ID: p.BlobID, Backend: backend, Size: p.Size, UploadID: u.ID, Part: 1})
	w.must(err)
	_, err = w.ledger.CommitPart(w.ctx, ledger.PartCommit{Op: w.id(), Part: p})
	w.must(err)
	return u.ID
}

func (w *world) items(p reclaim.Planner) (list []plan.Item) {
	w.Helper()
	w.must(p.Items(w.ctx, func(i plan.Item) error {
		list = append(list, i)
		return nil
	}))
	return list
}

// A plan of uploads lists what a pass would abort, by the times of their backends,
// with their bytes; held ones are listed as staying, and stay.
func TestPlanOfUploadsIsWhatAPassAborts(t *testing.T) {
	w := newWorld(t)
	_, err := w.ledger.AddBackend(w.ctx, ledger.Backend{ID: "small"})
	w.must(err)
	w.left("young", "main", "a")
	short := w.left("short", "small", "four")
	held := w.left("held", "small", "sixsix")
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held", Reason: "audit"}
	_, err = w.ledger.AddHold(w.ctx, hold)
	w.must(err)
	w.clock.Advance(time.Hour)
	routine := &reclaim.Uploads{
		Ledger: w.ledger, Safety: w.safety, StaleOn: map[string]time.Duration{"small": time.Hour}, Limit: 1,
	}
	list := w.items(routine)
	slices.SortFunc(list, func(a, b plan.Item) int { return int(a.Frees - b.Frees) })
	got := ""
	for _, i := range list {
		got += fmt.Sprintf("%s %d %d %d %s %s;", i.Key, i.Size, i.Blobs, i.Frees, i.Backend, i.Why)
	}
	want(w, "plan", got, "held 6 0 0 small stays, as a hold keeps it: untouched for 1h, with parts on small;"+
		"short 4 1 4 small untouched for 1h, with parts on small;")
	b, err := routine.Plan(w.ctx)
	w.must(err)
	want(w, "backlog", fmt.Sprint(b.Count, b.Bytes, b.Held, b.HeldBytes, b.Scheduled), "1 4 1 6 1")
	counts := w.pass(routine)
	want(w, "aborted", fmt.Sprint(counts["aborted"], counts["condemned_bytes"]), "1 4")
	_, err = w.ledger.UploadByID(w.ctx, short)
	want(w, "aborted upload is there", err == nil, false)
	results, err := routine.Apply(w.ctx, "me", list, &reclaim.Counts{})
	w.must(err)
	got = ""
	for _, r := range results {
		got += fmt.Sprintf("%s %s;", r.Item.Key, r.Outcome)
	}
	want(w, "applied", got, "held held;short changed since;")
	w.must(w.ledger.LiftHold(w.ctx, hold))
	results, err = routine.Apply(w.ctx, "me", list[:1], &reclaim.Counts{})
	w.must(err)
	want(w, "applied when it is let go", results[0].Outcome, plan.Done)
	_, err = w.ledger.UploadByID(w.ctx, held)
	want(w, "upload is there", err == nil, false)
}

// holdsLate is a ledger in which a hold is set after uploads were listed.
type holdsLate struct {
	*memledger.DB
	hold ledger.Hold
}

func (l *holdsLate) StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	list, err := l.DB.StaleUploads(ctx, q)
	if err == nil {
		_, err = l.AddHold(ctx, l.hold)
	}
	return list, err
}

// A hold that is set after uploads were listed is seen by the abort.
func TestAHoldSetInBetweenKeepsAnUpload(t *testing.T) {
	w := newWorld(t)
	id := w.left("a/b", "main", "bytes")
	w.clock.Advance(24 * time.Hour)
	l := &holdsLate{w.ledger, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Key: "a/"}}
	counts := w.pass(&reclaim.Uploads{Ledger: l, Safety: w.safety, Limit: 1})
	want(w, "held", counts["held"], 1)
	want(w, "aborted", counts["aborted"], 0)
	_, err := w.ledger.UploadByID(w.ctx, id)
	w.must(err)
}
