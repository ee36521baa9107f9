package admin

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// DeadRequest chooses dead letters: by their ids, or by backend and reason, or
// with All every one. For a list, nothing chosen means every one too.
type DeadRequest struct {
	IDs     []string `json:"ids,omitempty"`
	Backend string   `json:"backend,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	All     bool     `json:"all,omitempty"`
	After   string   `json:"after,omitempty"` // list: the last id of the page before
	Limit   int      `json:"limit,omitempty"` // list: default and most 1,000
}

// DeadList is a page of dead letters, oldest blob first.
type DeadList struct {
	Blobs []BlobInfo `json:"blobs"`
	Next  string     `json:"next,omitempty"` // the After of the next page
}

// Count answers how many were changed.
type Count struct {
	Count int `json:"count"`
}

// Dead lists dead letters.
func (s *Service) Dead(ctx context.Context, req DeadRequest) (DeadList, error) {
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return DeadList{}, err
	}
	limit := req.Limit
	if limit <= 0 || limit > page {
		limit = page
	}
	list, err := s.o.Ledger.Dead(ctx, meta.DeadQuery{
		Backend: req.Backend, Reason: lethe.Reason(req.Reason), After: lethe.ID(req.After), Limit: limit,
	})
	out := DeadList{Blobs: []BlobInfo{}}
	for _, b := range list {
		out.Blobs = append(out.Blobs, blobInfo(store.ID, b))
	}
	if len(list) == limit {
		out.Next = string(list[limit-1].ID)
	}
	return out, err
}

// Requeue condemns dead letters again: due now, attempts at zero.
func (s *Service) Requeue(ctx context.Context, req DeadRequest) (Count, error) {
	return s.eachDead(ctx, req, "dead_requeued", s.o.Ledger.Requeue)
}

// WriteOff removes dead letters from the books: the operator vouches that their
// bytes are gone.
func (s *Service) WriteOff(ctx context.Context, req DeadRequest) (Count, error) {
	return s.eachDead(ctx, req, "dead_written_off", s.o.Ledger.WriteOff)
}

// eachDead applies act to the dead letters that were chosen, page by page, and
// leaves an audit line for each page.
func (s *Service) eachDead(ctx context.Context, req DeadRequest, event string, act func(context.Context, []lethe.ID) (int, error)) (Count, error) {
	var out Count
	apply := func(ids []lethe.ID) error {
		n, err := act(ctx, ids)
		out.Count += n
		if n > 0 {
			s.audit(ctx, event, "operator", slog.Int("count", n), slog.Any("blobs", ids))
		}
		return err
	}
	if len(req.IDs) > 0 {
		ids, err := parseIDs(req.IDs)
		if err != nil {
			return out, err
		}
		return out, apply(ids)
	}
	if !req.All && req.Backend == "" && req.Reason == "" {
		return out, fmt.Errorf("%w: name dead letters by id, or choose them by backend or reason, or all of them", ErrBadRequest)
	}
	q := meta.DeadQuery{Backend: req.Backend, Reason: lethe.Reason(req.Reason), Limit: page}
	for {
		list, err := s.o.Ledger.Dead(ctx, q)
		if err != nil || len(list) == 0 {
			return out, err
		}
		ids := make([]lethe.ID, len(list))
		for i, b := range list {
			ids[i] = b.ID
		}
		if err := apply(ids); err != nil {
			return out, err
		}
		q.After = ids[len(ids)-1]
	}
}

func parseIDs(texts []string) ([]lethe.ID, error) {
	out := make([]lethe.ID, len(texts))
	for i, t := range texts {
		id, err := lethe.ParseID(t)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		out[i] = id
	}
	return out, nil
}
