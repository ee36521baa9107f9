package verdict

import (
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// targetFails is how long a target may fail before that is a finding.
const targetFails = 10 * time.Minute

// ofEvents returns which targets of events fail, are near their bound, or refuse events.
func ofEvents(s api.Status) (list []api.StatusFinding) {
	for _, t := range s.EventTargets {
		about := about{api.SeverityWarning, api.KindEvents, t.Name, "lethe events list " + t.Name}
		kept := t.Waiting + t.Dead
		switch {
		case !t.Configured && t.Waiting > 0:
			list = append(list, finding(about, "%s for the target %s, which is not in events.targets", waiting(t.Waiting), t.Name))
		case t.Most > 0 && kept*10 >= t.Most*9:
			list = append(list, finding(about, "the target %s has %s, near the bound of %d: beyond it the oldest are dropped", t.Name, words.Plural(kept, "event", "events"), t.Most))
		case !t.FailingSince.IsZero() && s.Now.Sub(t.FailingSince) >= targetFails:
			list = append(list, since(t.FailingSince, finding(about, "events do not reach the target %s; %s: %s", t.Name, waiting(t.Waiting), short(t.LastError))))
		case t.Dead > 0:
			about.next = "lethe events list " + t.Name + " --dead"
			list = append(list, finding(about, "the target %s refused %s", t.Name, words.Plural(t.Dead, "event that was given up", "events that were given up")))
		}
	}
	return list
}

func waiting(n int64) string { return words.Plural(n, "event", "events") + " " + waits(n) }
