package servers

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestRedisForgetsWhenKilled(t *testing.T) {
	s := NewRedis(t)
	ctx := t.Context()
	set := func() {
		t.Helper()
		if err := redisDo(ctx, s.Addr, "SET", "key", "value", "NX"); err != nil {
			t.Fatal(err)
		}
	}
	set()
	s.FlushAll()
	set()
	s.Kill()
	if err := redisDo(ctx, s.Addr, "PING"); err == nil {
		t.Error("a killed server answers")
	}
	s.Restart()
	set()
}

func TestFrozenServersDoNotAnswer(t *testing.T) {
	s := NewRedis(t)
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := redisDo(ctx, s.Addr, "PING"); err == nil {
		t.Error("a frozen server answers")
	}
	s.Thaw()
	if err := redisDo(t.Context(), s.Addr, "PING"); err != nil {
		t.Error(err)
	}
}

func TestClusterRefusesKeysOfSeveralSlots(t *testing.T) {
	s := NewRedisCluster(t)
	if err := redisDo(t.Context(), s.Addr, "UNLINK", "a", "b"); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("two slots in one command: %v, want CROSSSLOT", err)
	}
}
