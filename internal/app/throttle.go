package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// makeThrottle makes the controller of the engine's speed.
func (s *Store) makeThrottle() {
	r := s.Config.Reclaim
	backends := make(map[string]throttle.Backend)
	for name := range s.buckets {
		b := throttle.Backend{Parallel: deletesInFlight, Requests: true}
		if r.Clean.RatePerSecond > 0 {
			b.Parallel = 1
		}
		backends[name] = b
	}
	s.watch.throttle = &throttle.Controller{
		ClientLatency: r.Yield, Load: r.Load, Clock: s.opt.Stopwatch, Backends: backends, Changed: s.watch.slowed,
	}
	s.watch.throttle.SetRates(ratesOf(s.Config))
}

// slowed logs a change of the backoff level.
func (w *observer) slowed(s throttle.Slowed) {
	level := slog.LevelDebug
	if was := w.slowedBy.Swap(&s.By); was == nil && s.By != "" || was != nil && *was != s.By {
		level = slog.LevelInfo
	}
	if s.By == "" {
		w.log.Log(context.Background(), level, "reclaiming goes at full speed again")
		return
	}
	w.log.Log(context.Background(), level, "reclaiming backs off", "by", s.By, "requests", string(s.Requests), "backoff_level", int(s.Level))
}

// ratesOf reads the delete rates of the configuration.
func ratesOf(c *config.Config) (all throttle.Rate, of map[string]throttle.Rate) {
	of = make(map[string]throttle.Rate)
	for _, b := range c.Backends {
		of[b.Name] = rateOf(b.Rates)
	}
	return rateOf(c.Reclaim.Rates), of
}

func rateOf(l config.DeleteRates) throttle.Rate {
	return throttle.Rate{Deletes: float64(l.DeletesPerSecond), Calls: float64(l.CallsPerSecond), InFlight: l.Concurrency}
}

// applyRates puts the delete rates of a reloaded configuration into use, and removes
// them from the settings that wait for the next start.
func (s *Store) applyRates(c, rest *config.Config) {
	s.watch.throttle.SetRates(ratesOf(c))
	rest.Reclaim.Rates = s.Config.Reclaim.Rates
	rest.Backends = slices.Clone(rest.Backends)
	for i, b := range rest.Backends {
		for _, own := range s.Config.Backends {
			if own.Name == b.Name {
				rest.Backends[i].Rates = own.Rates
			}
		}
	}
}

// setPeers passes on the other instances' reports: the latency of their clients,
// and how many share the rates.
func (s *Store) setPeers(list []ledger.Instance) {
	var peers []throttle.Peer
	for _, i := range list {
		if i.ID != s.worker {
			peers = append(peers, throttle.Peer{
				Level: throttle.Level(i.Info.BackoffLevel), Reclaiming: i.Info.Reclaiming,
				Reclaims: slices.Contains(i.Info.Roles, config.RoleReclaim),
			})
		}
	}
	s.watch.throttle.SetPeers(peers)
}

// slowedBy returns why reclaiming is slowed; empty if it is not.
func (s *Store) slowedBy() string {
	p := s.watch.throttle.Slowed()
	switch {
	case p.By == "":
		return ""
	case p.Requests != "":
		return fmt.Sprintf("%s of %s (%s)", p.By, p.Requests, levelText(p.Level))
	}
	return fmt.Sprintf("%s (%s)", p.By, levelText(p.Level))
}

func levelText(l throttle.Level) string {
	return fmt.Sprintf("backoff level %d of %d", l, throttle.Slowest)
}

// slowOn returns why deleting on a backend is slowed.
func (s *Store) slowOn(id string) string {
	var why []string
	if l := s.watch.throttle.LoadLevel(id); l > 0 {
		why = append(why, fmt.Sprintf("its load (%s)", levelText(l)))
	}
	if s.watch.throttle.Limited(id) {
		why = append(why, "its rates")
	}
	return strings.Join(why, ", ")
}

// ratesOn describes the delete rates in use on a backend; empty if there are none.
func (s *Store) ratesOn(id string) string {
	l := s.watch.throttle.Rate(id)
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
