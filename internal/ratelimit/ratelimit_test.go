package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/clocktest"
)

func TestEachNameHasItsOwnAllowance(t *testing.T) {
	c := clocktest.New()
	l := New(Rate{PerSecond: 2, Burst: 3}, c)
	for i := range 3 {
		if _, ok := l.Allow("a"); !ok {
			t.Fatalf("request %d of a burst of 3 was refused", i+1)
		}
	}
	wait, ok := l.Allow("a")
	if ok || wait <= 0 || wait > 500*time.Millisecond {
		t.Fatalf("fourth request: allowed %v, wait %v; want a refusal for up to 500ms", ok, wait)
	}
	if _, ok := l.Allow("b"); !ok {
		t.Fatal("another name was refused")
	}
	c.Advance(wait)
	if _, ok := l.Allow("a"); !ok {
		t.Fatal("refused after the wait that was told")
	}
}

func TestSpentTakesNothing(t *testing.T) {
	c := clocktest.New()
	l := New(Rate{PerSecond: 1, Burst: 1}, c)
	if _, spent := l.Spent("a"); spent {
		t.Fatal("spent before anything was asked")
	}
	l.Allow("a")
	for range 3 {
		if wait, spent := l.Spent("a"); !spent || wait != time.Second {
			t.Fatalf("spent %v, wait %v; want 1s", spent, wait)
		}
	}
	c.Advance(time.Second)
	for range 3 {
		if _, spent := l.Spent("a"); spent {
			t.Fatal("spent although a request is allowed again")
		}
	}
	if _, ok := l.Allow("a"); !ok {
		t.Fatal("refused")
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	l := New(Rate{}, nil)
	for range 1000 {
		if _, ok := l.Allow("a"); !ok {
			t.Fatal("refused without a limit")
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := clocktest.New()
	l := New(Rate{PerSecond: 1, Burst: 1}, c)
	for i := range 3 * maxNames {
		l.Allow(fmt.Sprint(i))
		if l.by.Len() > maxNames {
			t.Fatalf("%d names are remembered", l.by.Len())
		}
	}
}

// A frequent name does not get a new allowance because many others occur once.
func TestSecurityManyNamesGiveNobodyANewAllowance(t *testing.T) {
	l := New(Rate{PerSecond: 1, Burst: 1}, clocktest.New())
	l.Allow("a")
	for i := range 5 * maxNames {
		l.Allow(fmt.Sprint(i))
		if i%100 != 0 {
			continue
		}
		if _, ok := l.Allow("a"); ok {
			t.Fatalf("allowed again after %d other names", i)
		}
	}
}
