package console

import (
	"slices"
	"strings"

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
	return slices.Concat(h.objectActions(), h.bucketActions(), h.queueActions(), h.ruleActions(), h.usageActions(), h.receiptActions(), h.planActions(), h.backendActions(), h.accessActions())
}

// Route is a page of the console, or what a form of it asks for. A form needs the session's
// token as well.
type Route struct {
	Method, Path string
	Role         api.Role
}

// Routes lists all routes for those who have logged in, apart from the logout.
func Routes() []Route {
	var h *Handler
	out := []Route{
		{"GET", "/content", contentRole}, {"GET", "/receipts/export", api.Read}, {"GET", "/plans/file", api.Read}, {"POST", "/bucket/upload", contentRole},
	}
	for _, p := range h.pages() {
		out = append(out, Route{"GET", strings.TrimSuffix(p.path, "{$}"), p.role})
	}
	for _, p := range h.asked() {
		out = append(out, Route{"POST", p.path, p.role})
	}
	for _, a := range h.actions() {
		out = append(out, Route{"POST", a.path, a.role})
	}
	for _, e := range h.bucketEdits() {
		out = append(out, Route{"POST", e.path, e.role})
	}
	return out
}
