package service

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// States for audit lines, before and after a request.

func (s *Service) clockState(ctx context.Context, _ api.ClockRequest) (any, error) {
	return s.ShowClock(ctx, api.None{})
}

func (s *Service) bucketState(ctx context.Context, c api.BucketChange) (any, error) {
	b, err := s.o.Objects.Bucket(ctx, c.Name)
	return bucketOf(b), err
}

func (s *Service) lifecycleState(ctx context.Context, r api.LifecycleRequest) (any, error) {
	l, err := s.ShowLifecycle(ctx, r)
	return l.Rules, err
}

func (s *Service) ttlState(ctx context.Context, r api.TTLRequest) (any, error) {
	return s.ShowTTL(ctx, r.ObjectName)
}

func (s *Service) backendState(ctx context.Context, r api.BackendRequest) (any, error) {
	list, err := s.o.Ledger.Backends(ctx)
	for _, b := range list {
		if b.ID == r.ID {
			return struct {
				Held     string `json:"held"`
				Draining bool   `json:"draining"`
			}{b.Held, b.Draining}, err
		}
	}
	return "none", err
}

// deadState returns the totals of condemned and dead blobs on each backend, or
// on the named one.
func (s *Service) deadState(ctx context.Context, r api.DeadRequest) (any, error) {
	type total struct {
		Backend string `json:"backend"`
		api.StateTotal
	}
	totals, err := s.o.Ledger.Totals(ctx)
	out := []total{}
	for _, t := range totals {
		if (t.State == lethe.Dead || t.State == lethe.Condemned) && (r.Backend == "" || r.Backend == t.Backend) {
			out = append(out, total{t.Backend, api.StateTotal{State: t.State.String(), Blobs: t.Blobs, Bytes: t.Bytes}})
		}
	}
	return out, err
}

func (s *Service) trashState(ctx context.Context, r api.RestoreRequest) (any, error) {
	return s.trashesState(ctx, api.TrashRequest{IDs: []string{r.ID}})
}

// trashesState returns how many entries are in the trash, and when the first is
// purged.
func (s *Service) trashesState(ctx context.Context, _ api.TrashRequest) (any, error) {
	b, err := s.o.Ledger.PurgeBacklog(ctx)
	if err != nil {
		return nil, err
	}
	return backlogOf(b, s.o.Clock.Now()), nil
}

func (s *Service) keyState(ctx context.Context, r api.KeyName) (any, error) {
	k, err := s.o.Ledger.AccessKey(ctx, r.ID)
	return keyOf(k), err
}

func (s *Service) changedKeyState(ctx context.Context, r api.KeyChange) (any, error) {
	return s.keyState(ctx, api.KeyName{ID: r.ID})
}
