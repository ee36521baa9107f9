package wake

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/test/servers"
)

// instance is a running bus; woken receives the routines that it wakes.
type instance struct {
	*Bus
	woken chan string
	heard chan string
}

func start(t *testing.T, name, addr string) *instance {
	t.Helper()
	if addr == "" {
		return startOn(t, name, redisconn.Options{})
	}
	return startOn(t, name, redisconn.Options{URL: "redis://" + addr, Timeout: 2 * time.Second})
}

func startOn(t *testing.T, name string, server redisconn.Options) *instance {
	t.Helper()
	i := &instance{woken: make(chan string, 1000), heard: make(chan string, 1000)}
	o := Options{
		Channel: Channel("store"), Self: name, Routines: []string{"clean", "expire"}, Gap: 20 * time.Millisecond,
		Wake: func(routine string) { i.woken <- routine }, Events: Events{Heard: func(routine string) { i.heard <- routine }},
	}
	if server.URL != "" {
		conn, err := redisconn.Open(server)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
		o.Conn = conn
	}
	i.Bus = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { i.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return i
}

// wait returns what comes, "" after half a minute.
func wait(from <-chan string) string {
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	select {
	case s := <-from:
		return s
	case <-limit.C:
		return ""
	}
}

// reach notifies until the other instance receives it: a subscription takes a
// moment.
func reach(t *testing.T, from, to *instance) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		from.Notify("expire", 0)
		select {
		case <-to.heard:
			return
		case <-tick.C:
		}
	}
	t.Fatal("the other instance hears nothing")
}

func TestWithoutRedisAnInstanceWakesItself(t *testing.T) {
	one := start(t, "one", "")
	one.Notify("clean", 0)
	if got := wait(one.woken); got != "clean" {
		t.Errorf("woken: %q, want clean", got)
	}
	one.Notify("unknown", 0)
	one.Notify("clean", 2*maxDelay)
	var watch lethe.Monotonic
	begun := watch.Now()
	one.Notify("expire", 100*time.Millisecond)
	if got := wait(one.woken); got != "expire" {
		t.Errorf("woken: %q, want expire", got)
	}
	if took := watch.Now().Sub(begun); took < 100*time.Millisecond {
		t.Errorf("woken after %s, want 100ms", took)
	}
}

func TestInstancesWakeEachOther(t *testing.T) {
	s := servers.NewRedis(t)
	one, two := start(t, "one", s.Addr), start(t, "two", s.Addr)
	reach(t, one, two)
	if got := wait(two.woken); got != "expire" {
		t.Errorf("woken: %q, want expire", got)
	}
	select {
	case routine := <-one.heard:
		t.Errorf("an instance hears itself: %s", routine)
	default:
	}
	s.Kill()
	one.Notify("clean", 0) // lost
	s.Restart()
	reach(t, two, one)
	reach(t, one, two)
}

// Instances that subscribed to the old primary receive each other's notices
// through the new one.
func TestInstancesWakeEachOtherAfterAFailover(t *testing.T) {
	pair := servers.NewRedisPair(t)
	server := redisconn.Options{URL: "redis://" + pair.Sentinel + "?master_name=" + pair.Master, Kind: redisconn.Sentinel, Timeout: 2 * time.Second}
	one, two := startOn(t, "one", server), startOn(t, "two", server)
	reach(t, one, two)
	pair.Primary.Kill()
	one.Notify("clean", 0) // lost to the other, not to itself
	if got := wait(one.woken); got == "" {
		t.Error("an instance does not wake itself")
	}
	pair.AwaitFailover()
	reach(t, one, two)
	reach(t, two, one)
	pair.Primary.Restart() // it becomes the other's replica
	reach(t, one, two)
}

func TestForeignMessagesAreIgnored(t *testing.T) {
	s := servers.NewRedis(t)
	one, two := start(t, "one", s.Addr), start(t, "two", s.Addr)
	reach(t, two, one)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	for _, text := range []string{
		"", "hello", "{", `{"from":"x","wakes":{"clean":[-1]}}`, `{"from":"x","wakes":{"clean":[99999999999999]}}`,
		`{"from":"x","wakes":{"nobody":[0]}}`, `{"from":"one","wakes":{"clean":[0]}}`, `{"from":"x","wakes":[1]}`,
	} {
		if err := client.Publish(t.Context(), one.Channel, text).Err(); err != nil {
			t.Fatal(err)
		}
	}
	reach(t, two, one)
	for {
		select {
		case routine := <-one.woken:
			if routine == "clean" {
				t.Error("a foreign message woke clean")
			}
			continue
		default:
		}
		return
	}
}
