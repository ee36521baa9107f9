package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
)

// openAudit opens the file of audit lines, if the description names one.
func (a *Adoption) openAudit() error {
	if a.Description.Audit == "" || a.audits != nil {
		return nil
	}
	f, err := os.OpenFile(a.Description.Audit, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w; nothing was done, since it would not be recorded", err)
	}
	a.close = append(a.close, f.Close)
	a.audits = slog.New(slog.NewJSONHandler(f, nil))
	return nil
}

// audit writes one line for a destructive decision, in the form of the store's:
// the decision and the reason.
func (a *Adoption) audit(event, reason string, attrs ...slog.Attr) {
	cmp.Or(a.audits, a.o.Log).LogAttrs(context.Background(), slog.LevelInfo, "audit", slog.Bool("audit", true),
		slog.String("event", event), slog.String("reason", reason), slog.GroupAttrs("what", attrs...))
}

// Change is a command that changes something. Request has no secrets.
type Change struct {
	Who, Route string
	Request    map[string]any
}

// Audited makes a change and writes its audit line: who, what, and how it ended.
func (a *Adoption) Audited(c Change, do func() error) error {
	if err := a.openAudit(); err != nil {
		return err
	}
	err := do()
	attrs := []slog.Attr{slog.String("who", c.Who), slog.String("route", c.Route), slog.String("request", service.Audited(c.Request))}
	outcome := "done"
	if err != nil {
		outcome = "failed"
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	a.audit("adopt_change", "operator", append(attrs, slog.String("outcome", outcome))...)
	return err
}

// refused writes an audit line for a run that a guard ended. If tables changed, or objects may
// belong to another database, Run ends as well, unless the collection is suspended already: the
// check at its next start says why.
func (a *Adoption) refused(r ledger.Run, err error) {
	for _, guard := range []error{adopt.ErrFewRows, adopt.ErrBadNames, adopt.ErrUnguarded, adopt.ErrChanged, adopt.ErrUnpaired, lethe.ErrClock} {
		if errors.Is(err, guard) {
			a.audit("run_refused", err.Error(), slog.String("routine", r.Routine), slog.String("run", string(r.ID)))
		}
	}
	_, collection, _ := strings.Cut(r.Routine, " ")
	if (errors.Is(err, adopt.ErrChanged) || errors.Is(err, adopt.ErrUnpaired)) && !a.suspended.has(collection) {
		select {
		case a.changed <- struct{}{}:
		default: // Run knows it
		}
	}
}
