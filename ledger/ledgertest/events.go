package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

func eventTests() []test {
	return []test{
		{name: "what comes and goes is told", run: eventsTold},
		{name: "a copy, a completed upload, a form", run: eventsCreated},
		{name: "expired: by its time, a rule, the last read", run: eventsExpired},
		{name: "written over after its time", run: eventsLate},
		{name: "the trash: deleted and restored", run: eventsTrash},
		{name: "of a deleted bucket", run: eventsBucketDeleted},
		{name: "only what matches", run: eventsFiltered},
		{name: "a refused call tells nothing", run: eventsRefused},
		{name: "a repeated operation tells once", run: eventsOnce},
		{name: "claims follow the order of a key", run: eventsInOrder},
		{name: "a claim that ended is taken over, and its holder is fenced", run: eventsFenced},
		{name: "what fails waits, and holds up its key alone", run: eventsFailed},
		{name: "a target that rests", run: eventsRest},
		{name: "dead letters: requeued and dropped", run: eventsDead},
		{name: "beyond the bound", run: eventsTrimmed},
		{name: "of another bucket with the name", run: eventsMeant},
		{name: "claimed at once", run: eventsAtOnce},
	}
}

// notify has all events of the usual bucket told to the target "app".
func (w *world) notify(rules ...notification.Rule) {
	w.Helper()
	if rules == nil {
		rules = []notification.Rule{{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}}}
	}
	w.ok(w.SetNotifications(w.ctx, ledger.NotificationChange{Bucket: bucketName, Rules: rules}))
}

// waiting returns the events that wait, as "kind key", with the reason.
func (w *world) waiting(target string) string {
	w.Helper()
	var out []string
	for _, e := range must(w.Events(w.ctx, ledger.EventQuery{Target: target}))(w) {
		text := fmt.Sprintf("%s %s", strings.Replace(string(e.Kind), "Object", "", 1), e.Key)
		if e.Reason != "" {
			text += " " + string(e.Reason)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// expects compares the events that wait.
func (w *world) expects(want string) {
	w.Helper()
	equal(w, "events", w.waiting("app"), want)
}

func (w *world) claimEvents(limit int) ledger.ClaimedEvents {
	w.Helper()
	return must(w.ClaimEvents(w.ctx, ledger.EventClaim{Target: "app", Worker: "w", Limit: limit, Lease: time.Minute}))(w)
}

// settleEvents settles every event of a claim alike.
func (w *world) settleEvents(c ledger.ClaimedEvents, as ledger.EventResult) ledger.EventsSettled {
	w.Helper()
	s := ledger.EventSettlement{Target: "app", Fence: c.Fence}
	for _, e := range c.Events {
		as.No = e.No
		s.Results = append(s.Results, as)
	}
	return must(w.SettleEvents(w.ctx, s))(w)
}

// keysOf returns the keys of claimed events, in their order.
func keysOf(c ledger.ClaimedEvents) string {
	var out []string
	for _, e := range c.Events {
		out = append(out, e.Key+":"+string(e.Kind)[len("Object"):])
	}
	return strings.Join(out, " ")
}

func (w *world) target() ledger.EventTarget {
	w.Helper()
	list := must(w.EventTargets(w.ctx))(w)
	i := slices.IndexFunc(list, func(t ledger.EventTarget) bool { return t.Name == "app" })
	if i < 0 {
		w.Fatalf("there is no target: %+v", list)
	}
	return list[i]
}

func eventsTold(w *world) {
	w.put("before", "unseen")
	w.notify()
	w.as(client)
	o := w.put("k", "body")
	w.put("k", "more")
	w.put("empty", "")
	w.remove("k", "absent", "before")
	w.expects("Created:Put k, Created:Put k, Created:Put empty, Removed:Delete before delete, Removed:Delete k delete")
	list := must(w.Events(w.ctx, ledger.EventQuery{Target: "app", Limit: 1}))(w)
	equal(w, "event", plain(list[0].Event), plain(notification.Event{
		Kind: notification.Put, Rule: "all", Owner: owner, Bucket: bucketName, Key: "k", Version: o.ID, Size: 4, ETag: o.ETag, By: client,
	}))
	equal(w, "time", list[0].At, w.now())
	w.ok(w.SetNotifications(w.ctx, ledger.NotificationChange{Bucket: bucketName}))
	w.put("later", "unseen")
	equal(w, "waiting", w.target().Waiting, int64(5))
	equal(w, "rules", len(must(w.Notifications(w.ctx, bucketName))(w)), 0)
}

func eventsCreated(w *world) {
	w.notify()
	from := w.put("from", "body")
	c := ledger.Commit{Op: w.id(), What: "copy", Object: ledger.Object{Bucket: bucketName, Key: "to", Size: 4}, Source: &ledger.Source{Bucket: bucketName, Key: "from", ID: from.ID}}
	w.commit(c)
	p := w.written("posted", "form")
	p.What = "post"
	w.commit(p)
	u := w.written("whole", "parts")
	u.What = "complete"
	w.commit(u)
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "from", Attrs: &ledger.Attrs{ContentType: "text/plain"}}))(w)
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "from", Tags: &map[string]string{"a": "b"}}))(w)
	w.expects("Created:Put from, Created:Copy to, Created:Post posted, Created:CompleteMultipartUpload whole, Created:Copy from")
}

func eventsExpired(w *world) {
	w.notify()
	w.rules(temporary(1))
	w.putTTL("k", "body", time.Minute)
	w.put("tmp/k", "ruled")
	read := w.putCounted("once", "secret", 1)
	w.countRead(read, ledger.AllRead)
	w.expects("Created:Put k, Created:Put tmp/k, Created:Put once")
	w.later(72 * time.Hour)
	w.expire()
	w.expects("Created:Put k, Created:Put tmp/k, Created:Put once, " +
		"LifecycleExpiration:Delete k expiry, LifecycleExpiration:Delete once read, LifecycleExpiration:Delete tmp/k lifecycle")
}

func eventsLate(w *world) {
	w.notify()
	old := w.putTTL("k", "body", time.Minute)
	w.later(time.Hour)
	w.put("k", "another")
	w.expects("Created:Put k, LifecycleExpiration:Delete k expiry, Created:Put k")
	equal(w, "version", must(w.Events(w.ctx, ledger.EventQuery{Target: "app"}))(w)[1].Version, old.ID)
}

func eventsTrash(w *world) {
	w.notify()
	w.undo()
	w.put("k", "body")
	w.remove("k")
	must(w.Restore(w.ctx, w.id(), w.bin()[0].ID, false))(w)
	w.put("k", "more")
	w.later(2 * time.Hour)
	must(w.Purge(w.ctx, ledger.Batch{}))(w)
	w.expects("Created:Put k, Removed:Delete k delete, Created:Put k restored, Created:Put k")
}

func eventsBucketDeleted(w *world) {
	w.notify()
	w.putTTL("k", "body", time.Minute)
	w.later(time.Hour)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	w.put("k", "in the new bucket")
	w.expire()
	w.expects("Created:Put k, LifecycleExpiration:Delete k expiry")
	equal(w, "bucket", must(w.Events(w.ctx, ledger.EventQuery{Target: "app"}))(w)[1].Bucket, bucketName)
}

func eventsFiltered(w *world) {
	w.notify(
		notification.Rule{ID: "1", Target: "app", Events: []string{"s3:ObjectCreated:Put"}, Prefix: "in/", Suffix: ".jpg"},
		notification.Rule{ID: "2", Target: "other", Events: []string{"s3:ObjectRemoved:*"}},
	)
	for _, key := range []string{"in/a.jpg", "in/a.png", "out/a.jpg", "in/.jpg"} {
		w.put(key, "body")
	}
	w.remove("in/a.png")
	w.expects("Created:Put in/a.jpg, Created:Put in/.jpg")
	equal(w, "other", w.waiting("other"), "Removed:Delete in/a.png delete")
}

func eventsRefused(w *world) {
	w.notify()
	w.configure(ledger.BucketSettings{QuotaBytes: 3})
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, w.reference("k", "body"))), lethe.ErrContentGone) })
	c := w.written("k", "body")
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrQuotaExceeded) })
	w.expects("")
}

func eventsOnce(w *world) {
	w.notify()
	c := w.written("k", "body")
	w.commit(c)
	w.commit(c)
	w.expects("Created:Put k")
}

func eventsInOrder(w *world) {
	w.notify()
	w.put("a", "1")
	w.put("b", "1")
	w.put("a", "2")
	one := w.claimEvents(1)
	equal(w, "first", keysOf(one), "a:Created:Put")
	equal(w, "second", keysOf(w.claimEvents(0)), "b:Created:Put") // a's next one waits behind its first
	equal(w, "none", keysOf(w.claimEvents(0)), "")
	equal(w, "settled", w.settleEvents(one, ledger.EventResult{Outcome: ledger.EventDelivered}), ledger.EventsSettled{Delivered: 1})
	w.remove("a")
	all := w.claimEvents(0)
	equal(w, "rest", keysOf(all), "a:Created:Put a:Removed:Delete")
	if all.Events[0].Sequencer() >= all.Events[1].Sequencer() {
		w.Fatalf("sequencers %s and %s", all.Events[0].Sequencer(), all.Events[1].Sequencer())
	}
}

func eventsFenced(w *world) {
	w.notify()
	w.put("a", "1")
	old := w.claimEvents(0)
	w.later(time.Minute)
	now := w.claimEvents(0)
	equal(w, "taken over", keysOf(now), "a:Created:Put")
	w.unchanged(func() {
		equal(w, "settled", w.settleEvents(old, ledger.EventResult{Outcome: ledger.EventDelivered}), ledger.EventsSettled{Fenced: 1})
	})
	equal(w, "settled", w.settleEvents(now, ledger.EventResult{Outcome: ledger.EventDelivered}), ledger.EventsSettled{Delivered: 1})
	equal(w, "settled again", w.settleEvents(now, ledger.EventResult{Outcome: ledger.EventDelivered}), ledger.EventsSettled{Fenced: 1})
	equal(w, "delivered", w.target().Delivered, int64(1))
}

func eventsFailed(w *world) {
	w.notify()
	w.put("a", "1")
	w.put("a", "2")
	w.put("b", "1")
	c := w.claimEvents(1)
	failed := ledger.EventResult{Outcome: ledger.EventFailed, Error: "it answered 500", RetryAt: w.now().Add(time.Minute)}
	equal(w, "settled", w.settleEvents(c, failed), ledger.EventsSettled{Failed: 1})
	equal(w, "failing since", w.target().FailingSince, w.now())
	equal(w, "another", keysOf(w.claimEvents(0)), "b:Created:Put")
	w.later(time.Minute)
	again := w.claimEvents(0)
	equal(w, "again, and what is behind it, as it answered", keysOf(again), "a:Created:Put a:Created:Put b:Created:Put")
	equal(w, "attempts", fmt.Sprintf("%d %d %s", again.Events[0].Attempts, again.Failures, again.Events[0].LastError), "1 1 it answered 500")
	w.settleEvents(again, ledger.EventResult{Outcome: ledger.EventDelivered})
	equal(w, "failing since", w.target().FailingSince, lethe.Time(0))
}

func eventsRest(w *world) {
	w.notify()
	w.put("a", "1")
	w.put("b", "1")
	w.put("c", "1")
	c := w.claimEvents(0)
	s := ledger.EventSettlement{Target: "app", Fence: c.Fence, RestUntil: w.now().Add(time.Minute), Results: []ledger.EventResult{
		{No: c.Events[0].No, Outcome: ledger.EventFailed, Error: "no answer", RetryAt: w.now().Add(2 * time.Minute)},
		{No: c.Events[1].No, Outcome: ledger.EventUnsent}, {No: c.Events[2].No, Outcome: ledger.EventUnsent},
	}}
	equal(w, "settled", must(w.SettleEvents(w.ctx, s))(w), ledger.EventsSettled{Failed: 1})
	equal(w, "none", keysOf(w.claimEvents(0)), "")
	w.later(time.Minute)
	c = w.claimEvents(0)
	equal(w, "another one first, and one alone", keysOf(c), "b:Created:Put")
	s = ledger.EventSettlement{Target: "app", Fence: c.Fence, RestUntil: w.now().Add(time.Minute), Results: []ledger.EventResult{{No: c.Events[0].No, Outcome: ledger.EventDelivered}}}
	equal(w, "settled", must(w.SettleEvents(w.ctx, s))(w), ledger.EventsSettled{Delivered: 1})
	equal(w, "it rests, though it took one", keysOf(w.claimEvents(0)), "")
}

func eventsDead(w *world) {
	w.notify()
	w.put("a", "1")
	w.put("a", "2")
	c := w.claimEvents(1)
	dead := ledger.EventResult{Outcome: ledger.EventDead, Error: "it answered 400"}
	equal(w, "settled", w.settleEvents(c, dead), ledger.EventsSettled{Dead: 1})
	equal(w, "target", fmt.Sprint(w.target().Waiting, w.target().Dead), "1 1")
	equal(w, "what follows", keysOf(w.claimEvents(0)), "a:Created:Put")
	letters := must(w.Events(w.ctx, ledger.EventQuery{Target: "app", Dead: true}))(w)
	equal(w, "letters", fmt.Sprintf("%d: %s", len(letters), letters[0].LastError), "1: it answered 400")
	no := letters[0].No
	waits := must(w.Events(w.ctx, ledger.EventQuery{Target: "app"}))(w)[0].No
	equal(w, "requeued", must(w.RequeueEvents(w.ctx, ledger.EventSelection{Target: "app", Numbers: []int64{waits, 99}}))(w), 0)
	equal(w, "requeued", must(w.RequeueEvents(w.ctx, ledger.EventSelection{Target: "app", Numbers: []int64{no}}))(w), 1)
	again := w.claimEvents(1)
	equal(w, "again", fmt.Sprint(again.Events[0].No == no, again.Events[0].Attempts), "true 0")
	w.settleEvents(again, dead)
	equal(w, "dropped", must(w.DropEvents(w.ctx, ledger.EventSelection{Target: "other"}))(w), 0)
	equal(w, "dropped", must(w.DropEvents(w.ctx, ledger.EventSelection{Target: "app"}))(w), 1)
	equal(w, "target", fmt.Sprint(w.target().Waiting, w.target().Dead), "1 0")
}

func eventsTrimmed(w *world) {
	w.notify()
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		w.put(key, "1")
	}
	w.settleEvents(w.claimEvents(0), ledger.EventResult{Outcome: ledger.EventUnsent})
	c := w.claimEvents(0)
	c.Events = c.Events[2:3]
	w.settleEvents(c, ledger.EventResult{Outcome: ledger.EventDead})
	trim := ledger.EventTrim{Target: "app", Most: 5, Limit: 2}
	equal(w, "none", must(w.TrimEvents(w.ctx, trim))(w), int64(0))
	trim.Most = 2
	equal(w, "what is not being sent", must(w.TrimEvents(w.ctx, trim))(w), int64(1))
	equal(w, "what is being sent", must(w.TrimEvents(w.ctx, trim))(w), int64(0))
	w.later(time.Minute)
	trim.Limit = 1
	equal(w, "a batch", must(w.TrimEvents(w.ctx, trim))(w), int64(1))
	w.expects("Created:Put b, Created:Put d, Created:Put e")
	equal(w, "the rest", must(w.TrimEvents(w.ctx, trim))(w), int64(1))
	w.expects("Created:Put d, Created:Put e")
	equal(w, "lost", w.target().Lost, int64(3))
}

func eventsMeant(w *world) {
	c := ledger.NotificationChange{Bucket: bucketName, Into: w.id()}
	w.unchanged(func() { w.fails(w.SetNotifications(w.ctx, c), lethe.ErrNoSuchBucket) })
	w.unchanged(func() {
		w.fails(w.SetNotifications(w.ctx, ledger.NotificationChange{Bucket: "absent"}), lethe.ErrNoSuchBucket)
	})
	w.fails(refused(w.Notifications(w.ctx, "absent")), lethe.ErrNoSuchBucket)
	equal(w, "of no target", len(must(w.ClaimEvents(w.ctx, ledger.EventClaim{Target: "absent"}))(w).Events), 0)
}

// eventsAtOnce: claims at the same time have nothing in common, and no later event of a key
// than another one.
func eventsAtOnce(w *world) {
	w.notify()
	for range 3 {
		for _, key := range []string{"a", "b", "c", "d"} {
			w.put(key, fmt.Sprint(w.id()))
		}
	}
	claims := make(chan ledger.ClaimedEvents, 4)
	for range 4 {
		go func() {
			c, err := w.ClaimEvents(w.ctx, ledger.EventClaim{Target: "app", Worker: "w", Limit: 2, Lease: time.Minute})
			if err != nil {
				w.Error(err)
			}
			claims <- c
		}()
	}
	seen := map[string]bool{}
	for range 4 {
		for _, e := range (<-claims).Events {
			if seen[e.Key] {
				w.Errorf("two claims have an event of %s", e.Key)
			}
			seen[e.Key] = true
		}
	}
}
