package console

import (
	"slices"

	"github.com/lethe-storage/lethe/admin/api"
)

// pages are all pages, by their paths.
func (h *Handler) pages() []page {
	return []page{
		{"/{$}", "Home", api.Read, (*visit).home},
		{"/object", "Object", api.Read, (*visit).object},
		{"/buckets", "Buckets", api.Read, (*visit).buckets},
		{"/bucket", "Bucket", api.Read, (*visit).bucket},
		{"/bucket/documents", "Policy and CORS", api.Read, (*visit).documents},
		{"/usage", "Usage", api.Read, (*visit).usage},
		{"/calendar", "Calendar", api.Read, (*visit).calendar},
		{"/trash", "Trash", api.Read, (*visit).trash},
		{"/queues", "Queues", api.Read, (*visit).queues},
		{"/limits", "Limits and holds", api.Read, (*visit).limits},
		{"/rules", "Rules", api.Read, (*visit).rules},
		{"/receipts", "Receipts", api.Read, (*visit).receipts},
		{"/plans", "Plans", api.Read, (*visit).plans},
		{"/backends", "Backends", api.Read, (*visit).backends},
		{"/access", "Access", api.Read, (*visit).access},
		{"/audit", "Audit", api.Read, (*visit).audit},
		{"/configuration", "Configuration", api.Read, (*visit).configuration},
	}
}

// asked are the pages that forms ask for.
func (h *Handler) asked() []page {
	return []page{{"/rules", "Rules", api.Read, (*visit).simulate}}
}

// actions are all that forms do.
func (h *Handler) actions() []action {
	return slices.Concat(h.objectActions(), h.bucketActions(), h.queueActions(), h.ruleActions(), h.receiptActions(), h.planActions(), h.backendActions(), h.accessActions())
}
