package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe/admin/api"
)

var (
	eventsWaiting   = gauge("events_waiting", "Events that wait to be delivered to a target.", "target")
	eventsDead      = gauge("events_dead", "Events of a target that were given up.", "target")
	eventsOldest    = gauge("events_oldest_age_seconds", "How long ago the oldest event that waits happened.", "target")
	eventsFailures  = gauge("events_failures", "Tries in a row that delivered nothing to a target; 0: it does not fail.", "target")
	eventsDelivered = gauge("events_delivered_total", "Events that a target has confirmed.", "target")
	eventsLost      = gauge("events_lost_total", "Events dropped beyond events.max_waiting.", "target")
)

func tellEvents(tell teller, out chan<- prometheus.Metric, s api.Status) {
	for _, t := range s.EventTargets {
		tell(eventsWaiting, float64(t.Waiting), t.Name)
		tell(eventsDead, float64(t.Dead), t.Name)
		tell(eventsFailures, float64(t.Failures), t.Name)
		oldest := 0.0
		if !t.OldestAt.IsZero() {
			oldest = s.Now.Sub(t.OldestAt).Seconds()
		}
		tell(eventsOldest, oldest, t.Name)
		out <- prometheus.MustNewConstMetric(eventsDelivered, prometheus.CounterValue, float64(t.Delivered), t.Name)
		out <- prometheus.MustNewConstMetric(eventsLost, prometheus.CounterValue, float64(t.Lost), t.Name)
	}
}
