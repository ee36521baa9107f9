package console

import "github.com/lethe-storage/lethe/admin/api"

// pages are all pages, by their paths.
func (h *Handler) pages() []page {
	return []page{
		{"/{$}", "Home", api.Read, (*visit).home},
		{"/object", "Object", api.Read, (*visit).object},
		{"/buckets", "Buckets", api.Read, (*visit).buckets},
		{"/bucket", "Bucket", api.Read, (*visit).bucket},
	}
}

// actions are all that forms do.
func (h *Handler) actions() []action {
	return append(h.objectActions(), h.bucketActions()...)
}
