package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// maxBlobObjects bounds a page.
const maxBlobObjects = 1000

// BlobObjects returns what needs a blob: the objects and trash entries that
// refer to its content, or the upload of which it is a part. A blob that
// nothing needs has none; one without a row is ErrNoBlob.
func (s *Service) BlobObjects(ctx context.Context, req api.BlobObjectsRequest) (api.BlobObjects, error) {
	out := api.BlobObjects{Objects: []api.Sharer{}}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return out, err
	}
	id, named := lethe.ParseBlobKey(store.ID, req.Blob)
	if !named {
		if id, err = lethe.ParseID(req.Blob); err != nil {
			return out, fmt.Errorf("%w: %q is neither a blob's id nor its name on a backend: %w", api.ErrBadRequest, req.Blob, err)
		}
	}
	limit := cmp.Or(req.Limit, maxBlobObjects)
	if limit < 1 || limit > maxBlobObjects {
		return out, fmt.Errorf("%w: limit is 1 to %d", api.ErrBadRequest, maxBlobObjects)
	}
	rows, err := s.o.Ledger.BlobsByID(ctx, []lethe.ID{id})
	if err != nil {
		return out, err
	}
	if len(rows) == 0 {
		return out, fmt.Errorf("%w: the ledger has no row of %s", api.ErrNoBlob, id)
	}
	out.Blob = blobInfo(store.ID, rows[0])
	switch b := rows[0]; {
	case b.ContentID != "":
		after := ledger.Sharer{Trash: req.AfterTrash, ID: lethe.ID(req.AfterID)}
		err = s.referring(ctx, ledger.SharerQuery{Content: b.ContentID, After: after, Limit: limit}, &out)
	case b.UploadID != "" && req.AfterID == "":
		err = s.uploadOf(ctx, b.UploadID, &out)
	}
	return out, err
}

// uploadOf returns the open upload of which a blob is a part, if there is one.
func (s *Service) uploadOf(ctx context.Context, id lethe.ID, out *api.BlobObjects) error {
	u, err := s.o.Ledger.UploadByID(ctx, id)
	if errors.Is(err, lethe.ErrNoSuchUpload) {
		return nil
	}
	if err == nil {
		out.Objects = append(out.Objects, api.Sharer{Bucket: u.Bucket, Key: u.Key, ID: string(u.ID), Upload: true})
	}
	return err
}

// referring returns the objects and trash entries that refer to a content.
func (s *Service) referring(ctx context.Context, q ledger.SharerQuery, out *api.BlobObjects) (err error) {
	if out.Objects, out.More, err = s.sharers(ctx, q); err != nil || len(out.Objects) == 0 {
		return err
	}
	c, err := s.o.Ledger.ContentByID(ctx, q.Content)
	if errors.Is(err, lethe.ErrContentGone) {
		return nil // meanwhile
	}
	out.Refs = c.Refs
	return err
}

// sharers returns a page of the references to a content, and whether there are
// more.
func (s *Service) sharers(ctx context.Context, q ledger.SharerQuery) (list []api.Sharer, more bool, err error) {
	limit := q.Limit
	q.Limit++
	found, err := s.o.Ledger.Sharers(ctx, q)
	list = []api.Sharer{}
	for _, f := range found[:min(len(found), limit)] {
		list = append(list, api.Sharer{Bucket: f.Bucket, Key: f.Key, Trash: f.Trash, ID: string(f.ID)})
	}
	return list, len(found) > limit, err
}
