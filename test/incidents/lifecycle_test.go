package incidents_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// rules sets the rules of bucket b.
func (w *world) rules(rs ...lifecycle.Rule) {
	w.Helper()
	_, err := w.objects.SetRules(w.ctx, ledger.RulesChange{Bucket: "b", Rules: rs, By: "s3"})
	w.must(err)
}

func (w *world) lifecycle() *routine.Lifecycle {
	return &routine.Lifecycle{Ledger: w.ledger, Limit: limit}
}

const day = 24 * time.Hour

// SeaweedFS #11183: a rule's days were written into each object as its time to live,
// and could not be taken back: who lengthened or removed the rule lost what had been
// written under it all the same. Here the transaction that deletes asks the rules of
// that moment, and objects are stamped anew; the client's own time is another one.
func TestSeaweedFS11183_StampsOutliveTheirRule(t *testing.T) {
	short := lifecycle.Rule{ID: "tidy", Prefix: "logs/", Days: 1}
	long := lifecycle.Rule{ID: "tidy", Prefix: "logs/", Days: 30}
	for name, change := range map[string][]lifecycle.Rule{"lengthened": {long}, "removed": nil, "switched off": {{ID: "tidy", Prefix: "logs/", Days: 1, Disabled: true}}} {
		for _, stamped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stamped anew %v", name, stamped), func(t *testing.T) {
				each(t, func(w *world) {
					w.rules(short)
					alive := map[string]string{"b/logs/1": "log 1", "b/logs/2": "log 2", "b/other": "other"}
					for at, body := range alive {
						w.put(at, body)
					}
					w.clock.Advance(2*day + time.Hour) // due, and not yet expired
					w.rules(change...)
					if stamped {
						w.pass(w.lifecycle())
					}
					equal(w, "expired", w.pass(w.expire())["objects"], 0)
					for at, body := range alive {
						w.has(at, body)
					}
					w.rules() // none, for what follows takes months
					w.pass(w.lifecycle())
					w.ends(alive)
				})
			})
		}
	}

	n := newNaive()
	n.put("logs/1", "volume with a TTL of a day", "log 1")
	ttl, rule := day, 30*day
	if now := 2 * day; now > ttl && now < rule {
		delete(n.bytes, n.rows["logs/1"])
	}
	n.loses(t, "logs/1")
}

// s3-orchestrator #453 by its own means: a rule with an empty prefix. Here it is
// refused where rules come in, unless it is said twice that everything is meant.
func TestOrchestrator453_ARuleForEverything(t *testing.T) {
	document := func(id, prefix string) []byte {
		return fmt.Appendf(nil, `<LifecycleConfiguration><Rule><ID>%s</ID><Filter><Prefix>%s</Prefix></Filter>
			<Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`, id, prefix)
	}
	each(t, func(w *world) {
		alive := w.fill("b", 3)
		w.put("b/tmp/1", "temporary")
		for _, id := range []string{"", "tidy"} {
			rules, err := lifecycle.Parse(document(id, ""))
			if err == nil {
				err = errors.Join(rules.Complete())
			}
			if err == nil {
				w.Errorf("the rule %q for everything was taken", id)
			}
		}
		rules, err := lifecycle.Parse(document("tidy", "tmp/"))
		w.must(err)
		w.must(rules.Complete())
		w.rules(rules...)
		w.pass(w.lifecycle())
		w.clock.Advance(3 * day)
		equal(w, "expired", w.pass(w.expire())["objects"], 1)
		w.ends(alive)
	})

	n := newNaive()
	n.put("kept", "name", "body")
	var forgotten struct{ Prefix string }
	for key, name := range n.rows {
		if key[:len(forgotten.Prefix)] == forgotten.Prefix {
			n.queue = append(n.queue, name)
		}
	}
	n.drain()
	n.loses(t, "kept")
}

// MinIO #19168, #21537: what had expired was handed over by a queue in memory, and
// what did not fit was dropped until the next walk over everything came by, which
// took days; hexpm/bob #279: a run did one batch, a night one run. Here what is due
// is rows; a pass goes on until nothing is due, and one that is cut off at any step
// loses none.
func TestMinIO19168_MoreIsDueThanTheQueueHolds(t *testing.T) {
	const due = 20 * limit
	each(t, func(w *world) {
		alive := w.fill("b2", 2)
		for i := range due {
			body := fmt.Sprint("expires ", i)
			_, err := w.objects.Put(w.ctx, object.PutRequest{
				Bucket: "b", Key: body, Body: slowly(body, len(body), func(int) {}), Size: int64(len(body)), TTL: time.Hour,
			})
			w.must(err)
		}
		w.clock.Advance(time.Hour)
		steps := 0
		w.ledger.around = func(method string, do func() error) error {
			if method == "expire" {
				if steps++; steps%5 == 0 {
					return lethe.ErrUnavailable // the process dies, and the next one begins
				}
			}
			return do()
		}
		for range due {
			if _, err := w.try(w.expire()); err == nil {
				break
			}
		}
		w.heal()
		equal(w, "condemned", len(w.blobs(lethe.Condemned)), due)
		w.clock.Advance(w.safety.ReadGrace)
		equal(w, "gone in one pass", w.pass(w.clean())["gone"], due)
		w.ends(alive)
	})

	queue := make(chan int, limit)
	missed := 0
	for i := range due {
		select {
		case queue <- i:
		default:
			missed++
		}
	}
	if missed == 0 {
		t.Error("the naive queue held everything: this scenario proves nothing")
	}
}
