package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/reclaim"
)

// makePressure makes what slows the engine down: what its clients and those of
// other instances feel, how long database and backends take, and the limits.
func (s *Store) makePressure() {
	s.limits = &reclaim.Limits{Clock: s.opt.Stopwatch}
	s.limits.Set(limitsOf(s.Config))
	r := s.Config.Reclaim
	if r.Strain > 0 {
		s.strain = &reclaim.Strain{Limit: r.Strain, Clock: s.opt.Stopwatch}
		s.strains = make(map[string]*reclaim.Strain)
		for _, b := range s.Config.Backends {
			s.strains[b.Name] = &reclaim.Strain{Limit: r.Strain, Clock: s.opt.Stopwatch}
		}
	}
	if r.Yield > 0 || r.Strain > 0 {
		s.watch.governor = &reclaim.Governor{
			Yield: r.Yield, Deaf: r.Yield == 0, Clock: s.opt.Stopwatch, Database: s.strain, Changed: s.watch.pressed,
		}
	}
}

// pressed tells of a pace that changed.
func (w *observer) pressed(p reclaim.Pressure) {
	level := slog.LevelDebug
	if was := w.slowedBy.Swap(&p.By); was == nil && p.By != "" || was != nil && *was != p.By {
		level = slog.LevelInfo
	}
	if p.By == "" {
		w.log.Log(context.Background(), level, "reclaiming goes at full speed again")
		return
	}
	w.log.Log(context.Background(), level, "reclaiming goes slower", "by", p.By, "requests", string(p.Requests), "pace", p.Pace)
}

// limitsOf reads the limits of the configuration.
func limitsOf(c *config.Config) (all reclaim.Limit, of map[string]reclaim.Limit) {
	of = make(map[string]reclaim.Limit)
	for _, b := range c.Backends {
		of[b.Name] = limitOf(b.Limits)
	}
	return limitOf(c.Reclaim.Limits), of
}

func limitOf(l config.Limits) reclaim.Limit {
	return reclaim.Limit{Deletes: float64(l.DeletesPerSecond), Calls: float64(l.CallsPerSecond), InFlight: l.Concurrency}
}

// applyLimits takes the limits of a new configuration into use, and out of what
// waits for the next start.
func (s *Store) applyLimits(c, rest *config.Config) {
	s.limits.Set(limitsOf(c))
	rest.Reclaim.Limits = s.Config.Reclaim.Limits
	rest.Backends = slices.Clone(rest.Backends)
	for i, b := range rest.Backends {
		for _, own := range s.Config.Backends {
			if own.Name == b.Name {
				rest.Backends[i].Limits = own.Limits
			}
		}
	}
}

// heed takes what the other instances tell: what their clients feel, and how many
// share the limits.
func (s *Store) heed(list []meta.Instance) {
	reclaiming := 1
	var others []reclaim.Shared
	for _, i := range list {
		if i.ID == s.worker {
			continue
		}
		others = append(others, reclaim.Shared{Pace: i.Info.Pace, Reclaiming: i.Info.Reclaiming})
		if slices.Contains(i.Info.Roles, config.RoleReclaim) {
			reclaiming++
		}
	}
	s.watch.governor.Heed(others)
	s.limits.Share(reclaiming)
}

// slowedBy says why reclaiming is slower than it could be; empty: it is not.
func (s *Store) slowedBy() string {
	p := s.watch.governor.Pressure()
	if p.By == "" {
		return ""
	}
	if p.Requests != "" {
		return fmt.Sprintf("%s, by their %s (step %d of 4)", p.By, p.Requests, p.Pace)
	}
	return fmt.Sprintf("%s (step %d of 4)", p.By, p.Pace)
}

// slowOn says why deleting on a backend is slower than it could be.
func (s *Store) slowOn(id string) string {
	var why []string
	if p := s.strains[id].Pace(); p > 0 {
		why = append(why, fmt.Sprintf("it takes longer than usual (step %d of 4)", p))
	}
	if s.limits.Owed(id) {
		why = append(why, "its limits")
	}
	return strings.Join(why, ", ")
}

// limitsOn are the limits in use on a backend, in words; empty if there are none.
func (s *Store) limitsOn(id string) string {
	l := s.limits.Of(id)
	var list []string
	for _, n := range []struct {
		value float64
		text  string
	}{{l.Deletes, "deletes/s"}, {l.Calls, "calls/s"}, {float64(l.InFlight), "calls at once"}} {
		if n.value > 0 {
			list = append(list, fmt.Sprintf("%g %s", n.value, n.text))
		}
	}
	return strings.Join(list, ", ")
}
