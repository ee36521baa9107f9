package adoption

import (
	"context"
	"errors"
	"log/slog"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/meta"
)

// audit writes one line for a destructive decision, in the form of the store's: what was
// decided and why.
func (a *Adoption) audit(event, reason string, attrs ...slog.Attr) {
	a.o.Log.LogAttrs(context.Background(), slog.LevelInfo, "audit", slog.Bool("audit", true),
		slog.String("event", event), slog.String("reason", reason), slog.GroupAttrs("what", attrs...))
}

// Change is a command that changes something. Request has no secrets.
type Change struct {
	Who, Route string
	Request    map[string]any
}

// Audited makes a change and writes its audit line: who, what, and how it ended.
func (a *Adoption) Audited(c Change, do func() error) error {
	err := do()
	attrs := []slog.Attr{slog.String("who", c.Who), slog.String("route", c.Route), slog.String("request", admin.Audited(c.Request))}
	outcome := "done"
	if err != nil {
		outcome = "failed"
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	a.audit("adopt_change", "operator", append(attrs, slog.String("outcome", outcome))...)
	return err
}

// refused writes an audit line for a run that a guard stopped before it changed anything.
func (a *Adoption) refused(r meta.Run, err error) {
	for _, guard := range []error{adopt.ErrFewRows, adopt.ErrBadNames, adopt.ErrUnguarded} {
		if errors.Is(err, guard) {
			a.audit("run_refused", err.Error(), slog.String("routine", r.Routine), slog.String("run", string(r.ID)))
		}
	}
}
