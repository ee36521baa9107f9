package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// AuditLines returns the last decisions of this process. ErrUnavailable if it is no server.
func (s *Service) AuditLines(_ context.Context, r api.AuditRequest) (api.AuditLines, error) {
	if s.o.Audited == nil || !s.o.Serving {
		return api.AuditLines{}, fmt.Errorf("no server answers here; the log of each has its decisions, as lines with audit=true: %w", lethe.ErrUnavailable)
	}
	kept := s.o.Audited()
	out := api.AuditLines{Instance: s.o.Instance, Kept: len(kept), Lines: []api.AuditLine{}}
	if len(kept) > 0 {
		out.Since = kept[len(kept)-1].At
	}
	out.Lines = append(out.Lines, slices.DeleteFunc(kept, func(l api.AuditLine) bool { return !l.Has(r.Contains) })...)
	return out, nil
}
