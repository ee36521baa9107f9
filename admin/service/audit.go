package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
)

// maxAudited bounds a request or a state in an audit line, in bytes.
const maxAudited = 4 << 10

// change is a changing call, or one that reads bytes, until its audit line is written.
type change struct {
	s             *Service
	event         string
	ctx           context.Context
	route         string
	request       any
	before, after any
}

// begin records the caller of a change.
func (s *Service) begin(ctx context.Context, route string, req any) *change {
	return &change{s: s, event: "admin_change", ctx: ctx, route: route, request: req}
}

// end writes the audit line: who, what, before, after, and how it ended.
func (c *change) end(err error) {
	attrs := append(callerOf(c.ctx).attrs(), slog.String("route", c.route), slog.String("request", Audited(c.request)))
	if c.before != nil {
		attrs = append(attrs, slog.String("before", Audited(c.before)))
	}
	if c.after != nil {
		attrs = append(attrs, slog.String("after", Audited(c.after)))
	}
	outcome := "done"
	if err != nil {
		e, _ := httpError(err)
		outcome = e.Code
		attrs = append(attrs, slog.String("error", e.Message))
	}
	c.s.o.Audit(c.event, "operator", append(attrs, slog.String("outcome", outcome))...)
}

// secretive is a response with a secret; Public is the part without.
type secretive interface{ Public() any }

// Audited returns v as JSON for an audit line, without the secrets of the
// API's types, and cut after 4 KiB.
func Audited(v any) string {
	if s, ok := v.(secretive); ok {
		v = s.Public()
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // keys are to be read
	if err := e.Encode(v); err != nil {
		return "unprintable: " + err.Error()
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if len(text) > maxAudited {
		return text[:maxAudited] + "..."
	}
	return text
}

// audit leaves a line about a detail of a change, with its caller. The handler
// writes the line about the change itself.
func (s *Service) audit(ctx context.Context, event, reason string, attrs ...slog.Attr) {
	s.o.Audit(event, reason, append(attrs, slog.String("who", callerOf(ctx).name))...)
}
