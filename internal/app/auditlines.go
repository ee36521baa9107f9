package app

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
)

// Bounds of the audit lines that a process keeps to show; the log has all.
const (
	maxAuditLines = 500
	maxAuditText  = 500 // bytes of an attribute
)

// auditLines are the last audit lines of this process.
type auditLines struct {
	mu   sync.Mutex
	list []api.AuditLine // a ring, from next
	next int
}

// add keeps a line as it was written to the log.
func (a *auditLines) add(at lethe.Time, event, reason string, attrs []slog.Attr) {
	line := api.AuditLine{At: at.Time(), Event: event, Reason: reason}
	for _, attr := range attrs {
		text := auditText(attr.Value)
		if len(text) > maxAuditText {
			text = text[:maxAuditText] + "..."
		}
		if attr.Key == "who" {
			line.Who = text
		} else {
			line.What = append(line.What, api.AuditAttribute{Key: attr.Key, Value: text})
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) < maxAuditLines {
		a.list = append(a.list, line)
		return
	}
	a.list[a.next] = line
	a.next = (a.next + 1) % maxAuditLines
}

// auditText writes a value as the log has it: a struct as JSON, with the names of its fields.
func auditText(v slog.Value) string {
	if v.Kind() != slog.KindAny {
		return v.String()
	}
	switch v.Any().(type) {
	case error, fmt.Stringer:
		return v.String()
	}
	return service.Audited(v.Any())
}

// latest returns the lines, the latest first.
func (a *auditLines) latest() []api.AuditLine {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := slices.Concat(a.list[a.next:], a.list[:a.next])
	slices.Reverse(lines)
	return lines
}
