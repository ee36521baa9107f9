package sqlledger

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

func TestInstances(t *testing.T) {
	l := newLedger(t)
	info := ledger.InstanceInfo{Host: "a.example.org", PID: 7, Version: "v1", Roles: []string{"serve"}}
	began := l.now()
	l.ok(l.BeatInstance(l.ctx, "a", info))
	l.clock.Advance(time.Minute)
	info.S3 = "http://a.example.org:9000"
	l.ok(l.BeatInstance(l.ctx, "a", info))
	l.ok(l.BeatInstance(l.ctx, "b", ledger.InstanceInfo{Host: "b"}))
	list, err := l.Instances(l.ctx, time.Minute)
	l.ok(err)
	if len(list) != 2 || list[0].ID != "a" || list[0].StartedAt != began || list[0].BeatAt != l.now() || list[0].Info.S3 != info.S3 || list[0].Info.PID != 7 {
		t.Fatalf("instances %+v", list)
	}
	l.clock.Advance(time.Minute)
	l.ok(l.BeatInstance(l.ctx, "a", info))
	if list, err = l.Instances(l.ctx, time.Minute-time.Microsecond); err != nil || len(list) != 1 {
		t.Errorf("fresh instances %+v, %v", list, err)
	}
	l.ok(l.RemoveInstance(l.ctx, "a"))
	l.clock.Advance(instancesKept)
	l.ok(l.BeatInstance(l.ctx, "c", info))
	if list, err = l.Instances(l.ctx, 10*instancesKept); err != nil || len(list) != 1 || list[0].ID != "c" {
		t.Errorf("instances at the end %+v, %v", list, err)
	}
}

// A question goes to the others that are alive, and is answered by what is made after it.
func TestInstancesAreAsked(t *testing.T) {
	l := newLedger(t)
	for _, id := range []string{"a", "b", "c"} {
		l.ok(l.BeatInstance(l.ctx, id, ledger.InstanceInfo{}))
	}
	l.clock.Advance(time.Minute)
	l.ok(l.BeatInstance(l.ctx, "a", ledger.InstanceInfo{}))
	l.ok(l.BeatInstance(l.ctx, "b", ledger.InstanceInfo{}))
	for want := range int64(2) {
		if asked, err := l.AskInstances(l.ctx, "a", time.Second); err != nil || len(asked) != 1 || asked["b"] != want+1 {
			t.Errorf("asked %v, %v", asked, err)
		}
	}
	for id, want := range map[string]int64{"a": 0, "b": 2, "c": 0, "none": 0} {
		if n, err := l.AskedOf(l.ctx, id); err != nil || n != want {
			t.Errorf("%s was asked %d times, %v", id, n, err)
		}
	}
	l.ok(l.BeatInstance(l.ctx, "b", ledger.InstanceInfo{Answered: 2}))
	if list, err := l.Instances(l.ctx, time.Second); err != nil || len(list) != 2 || list[1].Info.Answered != 2 {
		t.Errorf("instances %+v, %v", list, err)
	}
	if asked, err := l.AskInstances(l.ctx, "a", time.Second); err != nil || asked["b"] != 3 {
		t.Errorf("a heartbeat forgets what was asked: %v, %v", asked, err)
	}
}

func TestSecretsAreShared(t *testing.T) {
	l := newLedger(t)
	if v, err := l.Secret(l.ctx, "root"); v != "" || err != nil {
		t.Errorf("none: %q, %v", v, err)
	}
	for _, proposed := range []string{"first", "second"} {
		if v, err := l.ShareSecret(l.ctx, "root", proposed); v != "first" || err != nil {
			t.Errorf("%s proposed: %q, %v", proposed, v, err)
		}
	}
	if v, err := l.Secret(l.ctx, "root"); v != "first" || err != nil {
		t.Errorf("kept: %q, %v", v, err)
	}
}
