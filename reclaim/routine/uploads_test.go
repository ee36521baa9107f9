package routine_test

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
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// left leaves a stale upload with one part on a backend.
func (w *world) left(key, backend, body string) lethe.ID {
	w.Helper()
	u, err := w.Ledger.CreateUpload(w.Ctx, ledger.Upload{Bucket: "b", Key: key})
	w.Must(err)
	p := ledger.Part{UploadID: u.ID, Number: 1, Size: int64(len(body)), Digest: reclaimtest.Digest(body), BlobID: w.ID()}
	_, err = w.Ledger.Begin(w.Ctx, ledger.Intent{ID: p.BlobID, Backend: backend, Size: p.Size, UploadID: u.ID, Part: 1})
	w.Must(err)
	_, err = w.Ledger.CommitPart(w.Ctx, ledger.PartCommit{Op: w.ID(), Part: p})
	w.Must(err)
	return u.ID
}

func (w *world) items(p reclaim.Planner) (list []plan.Item) {
	w.Helper()
	w.Must(p.Items(w.Ctx, func(i plan.Item) error {
		list = append(list, i)
		return nil
	}))
	return list
}

// A plan of uploads lists what a pass would abort, by the times of their backends,
// with their bytes; held ones are listed as staying, and stay.
func TestPlanOfUploadsIsWhatAPassAborts(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.AddBackend(w.Ctx, ledger.Backend{ID: "small"})
	w.Must(err)
	w.left("young", "main", "a")
	short := w.left("short", "small", "four")
	held := w.left("held", "small", "sixsix")
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held", Reason: "audit"}
	_, err = w.Ledger.AddHold(w.Ctx, hold)
	w.Must(err)
	w.Clock.Advance(time.Hour)
	uploads := &routine.Uploads{
		Ledger: w.Ledger, Safety: w.Safety, StaleOn: map[string]time.Duration{"small": time.Hour}, Limit: 1,
	}
	list := w.items(uploads)
	slices.SortFunc(list, func(a, b plan.Item) int { return int(a.Frees - b.Frees) })
	got := ""
	for _, i := range list {
		got += fmt.Sprintf("%s %d %d %d %s %s, stays: %s;", i.Key, i.Size, i.Blobs, i.Frees, i.Backend, i.Why, i.Stays)
	}
	reclaimtest.Want(w, "plan", got, "short 4 1 4 small untouched for 1h, with parts on small, stays: ;"+
		"held 6 1 6 small untouched for 1h, with parts on small, stays: a hold keeps it;")
	b, err := uploads.Plan(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "backlog", fmt.Sprint(b.Count, b.Bytes, b.Held, b.HeldBytes, b.Scheduled), "1 4 1 6 1")
	counts := w.Pass(uploads)
	reclaimtest.Want(w, "aborted", fmt.Sprint(counts["aborted"], counts["condemned_bytes"]), "1 4")
	_, err = w.Ledger.UploadByID(w.Ctx, short)
	reclaimtest.Want(w, "aborted upload is there", err == nil, false)
	results, err := uploads.Apply(w.Ctx, "me", list, func(string, int64) {})
	w.Must(err)
	got = ""
	for _, r := range results {
		got += fmt.Sprintf("%s %s;", r.Item.Key, r.Outcome)
	}
	reclaimtest.Want(w, "applied", got, "held held;short changed since;")
	w.Must(w.Ledger.ReleaseHold(w.Ctx, hold))
	results, err = uploads.Apply(w.Ctx, "me", list[1:], func(string, int64) {})
	w.Must(err)
	reclaimtest.Want(w, "applied as it was planned", results[0].Outcome, plan.Held)
	results, err = uploads.Apply(w.Ctx, "me", w.items(uploads), func(string, int64) {})
	w.Must(err)
	reclaimtest.Want(w, "applied when it is let go", results[0].Outcome, plan.Done)
	_, err = w.Ledger.UploadByID(w.Ctx, held)
	reclaimtest.Want(w, "upload is there", err == nil, false)
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
	w.Clock.Advance(24 * time.Hour)
	l := &holdsLate{w.Ledger, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Key: "a/"}}
	counts := w.Pass(&routine.Uploads{Ledger: l, Safety: w.Safety, Limit: 1})
	reclaimtest.Want(w, "held", counts["held"], 1)
	reclaimtest.Want(w, "aborted", counts["aborted"], 0)
	_, err := w.Ledger.UploadByID(w.Ctx, id)
	w.Must(err)
}
