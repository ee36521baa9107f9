package service

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

func trashEntry(e ledger.TrashEntry) api.TrashEntry {
	return api.TrashEntry{
		ID: string(e.ID), Bucket: e.Object.Bucket, Key: e.Object.Key, Size: e.Object.Size, Reason: string(e.Reason),
		DeletedAt: toTime(e.DeletedAt), PurgeAt: toTime(e.PurgeAt),
	}
}

// Trash lists the entries that can be restored.
func (s *Service) Trash(ctx context.Context, req api.TrashRequest) (api.TrashList, error) {
	limit := req.Limit
	if limit <= 0 || limit > page {
		limit = page
	}
	list, err := s.o.Objects.Trash(ctx, ledger.TrashQuery{
		Bucket: req.Bucket, Prefix: req.Prefix, After: lethe.ID(req.After), Limit: limit,
	})
	if err != nil {
		return api.TrashList{}, err
	}
	rows, err := s.purges(ctx, list)
	now, out := s.o.Clock.Now(), api.TrashList{Entries: []api.TrashEntry{}}
	for _, e := range list {
		entry := trashEntry(e)
		entry.Held, entry.Due = rows[e.ID].Held, e.PurgeAt <= now
		out.Entries = append(out.Entries, entry)
	}
	if len(list) == limit {
		out.Next = string(list[limit-1].ID)
	}
	return out, err
}

// purges returns when and whether trash entries are purged, by their ids.
func (s *Service) purges(ctx context.Context, list []ledger.TrashEntry) (map[lethe.ID]ledger.Due, error) {
	ids := make([]lethe.ID, len(list))
	for i, entry := range list {
		ids[i] = entry.ID
	}
	named, err := s.o.Ledger.TrashNamed(ctx, ids)
	rows := map[lethe.ID]ledger.Due{}
	for _, d := range named {
		rows[d.ID] = d
	}
	return rows, err
}

// RestoreTrash restores an entry. It fails with ErrTrashNotFound, or with
// ErrPreconditionFailed if the key exists and Overwrite is not set. Overwrite ends an object, for
// good where its bucket keeps no trash, and needs the role for that: ErrForbidden.
func (s *Service) RestoreTrash(ctx context.Context, req api.RestoreRequest) (api.ObjectInfo, error) {
	if c := callerOf(ctx); req.Overwrite && !c.role.Allows(api.Destroy) {
		return api.ObjectInfo{}, &forbidden(c, "trash/restore with overwrite", api.Destroy).Error
	}
	ids, err := parseIDs([]string{req.ID})
	if err != nil {
		return api.ObjectInfo{}, err
	}
	o, err := s.o.Objects.Restore(ctx, ids[0], req.Overwrite)
	if err != nil {
		return api.ObjectInfo{}, err
	}
	s.audit(ctx, "trash_restored", "operator", slog.String("entry", req.ID), slog.String("bucket", o.Bucket), slog.String("key", o.Key))
	return s.objectInfo(ctx, o)
}

// PurgeTrash makes entries due at once; the purge routine deletes them.
func (s *Service) PurgeTrash(ctx context.Context, req api.TrashRequest) (api.Count, error) {
	var out api.Count
	apply := func(ids []lethe.ID) error {
		n, err := s.o.Objects.PurgeTrash(ctx, ids)
		out.Count += n
		if n > 0 {
			s.audit(ctx, "trash_purged", "operator", slog.Int("count", n), slog.Any("entries", ids))
		}
		return err
	}
	return out, s.eachTrash(ctx, req, func(list []ledger.TrashEntry) error {
		ids := make([]lethe.ID, len(list))
		for i, e := range list {
			ids[i] = e.ID
		}
		return apply(ids)
	})
}

// eachTrash calls fn for the chosen entries, page by page. Unknown ids are
// ignored.
func (s *Service) eachTrash(ctx context.Context, req api.TrashRequest, fn func([]ledger.TrashEntry) error) error {
	if len(req.IDs) > 0 {
		return s.trashNamed(ctx, req.IDs, fn)
	}
	if !req.All && req.Bucket == "" {
		return fmt.Errorf("%w: name trash entries by id, or choose them by bucket and prefix, or all of them", api.ErrBadRequest)
	}
	q := ledger.TrashQuery{Bucket: req.Bucket, Prefix: req.Prefix, Limit: page}
	for {
		list, err := s.o.Objects.Trash(ctx, q)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := fn(list); err != nil {
			return err
		}
		q.After = list[len(list)-1].ID
	}
}

func (s *Service) trashNamed(ctx context.Context, texts []string, fn func([]ledger.TrashEntry) error) error {
	ids, err := parseIDs(texts)
	if err != nil {
		return err
	}
	var list []ledger.TrashEntry
	for _, id := range ids {
		e, found, err := s.trashEntry(ctx, id)
		if err != nil {
			return err
		}
		if found {
			list = append(list, e)
		}
	}
	return fn(list)
}
