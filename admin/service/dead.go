package service

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// checkChoice checks that a command has a choice, made in one way.
func checkChoice(r api.DeadRequest) error {
	filtered := r.Backend != "" || r.Reason != "" || r.Bucket != "" || r.MinAge != "" || r.MinSize != 0 || r.Error != ""
	switch {
	case len(r.IDs) == 0 && !filtered && !r.All:
		return fmt.Errorf("%w: name dead letters by id, or choose them by backend, reason, bucket, age, size or error, or all of them", api.ErrBadRequest)
	case len(r.IDs) > 0 && (filtered || r.All):
		return fmt.Errorf("%w: name dead letters by id or choose them by filters, not both", api.ErrBadRequest)
	}
	return nil
}

// Dead lists dead letters.
func (s *Service) Dead(ctx context.Context, req api.DeadRequest) (api.DeadList, error) {
	out := api.DeadList{Blobs: []api.DeadInfo{}}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return out, err
	}
	if len(req.IDs) > 0 {
		return out, fmt.Errorf("%w: a list is chosen by filters; dead/show returns one id", api.ErrBadRequest)
	}
	q, err := s.deadQuery(ctx, req)
	if err != nil {
		return out, err
	}
	list, err := s.o.Ledger.Dead(ctx, q)
	for _, d := range list {
		out.Blobs = append(out.Blobs, deadInfo(store.ID, d))
	}
	if len(list) == q.Limit {
		out.Next = string(list[q.Limit-1].ID)
	}
	return out, err
}

// deadQuery returns a page of what a request's filters choose. It fails with
// ErrBadRequest, ErrNoBackend or ErrNoSuchBucket.
func (s *Service) deadQuery(ctx context.Context, r api.DeadRequest) (ledger.DeadQuery, error) {
	q := ledger.DeadQuery{
		Backend: r.Backend, Reason: lethe.Reason(r.Reason), Bucket: r.Bucket, MinSize: r.MinSize, Error: r.Error,
		After: lethe.ID(r.After), Limit: r.Limit,
	}
	if q.Limit <= 0 || q.Limit > page {
		q.Limit = page
	}
	if r.MinSize < 0 {
		return q, fmt.Errorf("%w: min_size is %d bytes", api.ErrBadRequest, r.MinSize)
	}
	if r.MinAge != "" {
		age, err := lethe.ParseTTL(r.MinAge)
		if err != nil {
			return q, fmt.Errorf("%w: min_age: %w", api.ErrBadRequest, err)
		}
		q.DiedBy = s.o.Clock.Now().Add(-age)
	}
	if err := s.hasBackend(ctx, r.Backend); err != nil {
		return q, err
	}
	if r.Bucket != "" {
		if _, err := s.o.Objects.Bucket(ctx, r.Bucket); err != nil {
			return q, err
		}
	}
	return q, nil
}

func deadInfo(store lethe.ID, d ledger.DeadLetter) api.DeadInfo {
	return api.DeadInfo{
		BlobInfo: blobInfo(store, d.Blob), Bucket: d.Bucket, BucketID: string(d.BucketID), Content: string(d.ContentID),
		Upload: string(d.UploadID), Part: d.Part, SHA256: d.Digest,
	}
}

// ShowDead returns one dead letter. ErrNoDeadLetter names what the id is
// instead.
func (s *Service) ShowDead(ctx context.Context, n api.DeadName) (api.DeadDetail, error) {
	ids, err := parseIDs([]string{n.ID})
	if err != nil {
		return api.DeadDetail{}, err
	}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return api.DeadDetail{}, err
	}
	list, err := s.o.Ledger.DeadByID(ctx, ids)
	if err == nil && len(list) == 0 {
		err = s.notDead(ctx, ids[0])
	}
	if err != nil {
		return api.DeadDetail{}, err
	}
	out := api.DeadDetail{DeadInfo: deadInfo(store.ID, list[0]), Now: toTime(s.o.Clock.Now())}
	backends, err := s.o.Ledger.Backends(ctx)
	for _, b := range backends {
		if b.ID == out.Backend {
			out.Held = b.Held
		}
	}
	out.Planned = plannedFor(out)
	return out, err
}

// plannedFor describes what becomes of a dead letter.
func plannedFor(d api.DeadDetail) string {
	text := []string{fmt.Sprintf("nothing by itself: it was given up after %s; it is tried again when it is requeued, and forgotten when it is written off", words.Plural(int64(d.Attempts), "failed attempt", "failed attempts"))}
	if d.Held != "" {
		text = append(text, "deletes on its backend are held ("+d.Held+"): what is requeued waits until they go on")
	}
	if d.LateUntil.After(d.Now) {
		text = append(text, "its upload may still land until "+d.LateUntil.Format(time.RFC3339)+": until then it cannot be written off")
	}
	return strings.Join(text, "; ")
}

// notDead describes what an id is that is not a dead letter.
func (s *Service) notDead(ctx context.Context, id lethe.ID) error {
	list, err := s.o.Ledger.BlobsByID(ctx, []lethe.ID{id})
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return fmt.Errorf("%w: the ledger has no row of blob %s: its bytes are confirmed gone, it was written off, or it never was", api.ErrNoDeadLetter, id)
	}
	return fmt.Errorf("%w: blob %s is %s", api.ErrNoDeadLetter, id, list[0].State)
}

// Requeue condemns dead letters again: due now, attempts at zero.
func (s *Service) Requeue(ctx context.Context, req api.DeadRequest) (api.Count, error) {
	return s.changeDead(ctx, req, "dead_requeued", func(_ []ledger.DeadLetter, ids []lethe.ID) (int, error) {
		return s.o.Ledger.Requeue(ctx, ids)
	})
}

// WriteOff deletes the rows of dead letters: the operator confirms that their
// bytes are gone. Bytes that exist nevertheless are orphans for reconcile.
// Those whose upload may still take effect stay, and are counted.
func (s *Service) WriteOff(ctx context.Context, req api.DeadRequest) (api.Count, error) {
	var late api.Count
	out, err := s.changeDead(ctx, req, "dead_written_off", func(list []ledger.DeadLetter, ids []lethe.ID) (int, error) {
		for _, d := range list {
			if s.mayLand(d) {
				late.Late++
				late.LateUntil = toTime(max(d.LateUntil, lethe.FromTime(late.LateUntil)))
			}
		}
		return s.o.Ledger.WriteOff(ctx, ids)
	})
	out.Late, out.LateUntil = late.Late, late.LateUntil
	return out, err
}

// mayLand reports whether the upload of a dead letter may still put bytes
// there.
func (s *Service) mayLand(d ledger.DeadLetter) bool { return d.LateUntil > s.o.Clock.Now() }

// changeDead applies act to the chosen dead letters, page by page, and leaves
// an audit line for each page.
func (s *Service) changeDead(ctx context.Context, req api.DeadRequest, event string, act func([]ledger.DeadLetter, []lethe.ID) (int, error)) (api.Count, error) {
	var out api.Count
	err := s.eachDead(ctx, req, func(list []ledger.DeadLetter) error {
		ids := make([]lethe.ID, len(list))
		for i, d := range list {
			ids[i] = d.ID
		}
		n, err := act(list, ids)
		out.Count += n
		if n > 0 {
			s.audit(ctx, event, "operator", slog.Int("count", n), slog.Any("blobs", ids))
		}
		return err
	})
	return out, err
}

// eachDead passes the chosen dead letters to fn, page by page. Unknown ids are
// ignored.
func (s *Service) eachDead(ctx context.Context, req api.DeadRequest, fn func([]ledger.DeadLetter) error) error {
	if err := checkChoice(req); err != nil {
		return err
	}
	if len(req.IDs) > 0 {
		ids, err := parseIDs(req.IDs)
		if err != nil {
			return err
		}
		list, err := s.o.Ledger.DeadByID(ctx, ids)
		if err != nil {
			return err
		}
		return fn(list)
	}
	req.After, req.Limit = "", page
	q, err := s.deadQuery(ctx, req)
	if err != nil {
		return err
	}
	for {
		list, err := s.o.Ledger.Dead(ctx, q)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := fn(list); err != nil {
			return err
		}
		q.After = list[len(list)-1].ID
	}
}

func parseIDs(texts []string) ([]lethe.ID, error) {
	out := make([]lethe.ID, len(texts))
	for i, t := range texts {
		id, err := lethe.ParseID(t)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
		}
		out[i] = id
	}
	return out, nil
}
