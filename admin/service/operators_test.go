package service_test

import (
	"errors"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// Wrong guesses from an address do not lock out the root key that has logged in there.
func TestSecurityGuessesLockOutNoRootKey(t *testing.T) {
	log := &lines{}
	o := service.NewOperators(newServiceWith(t, log.audit, clocktest.New()), service.Access{RootKey: "root", RootSecret: "its secret"})
	login := func(from, secret string) string {
		_, err := o.Login(t.Context(), from, "root", secret)
		var refused *api.Error
		if errors.As(err, &refused) {
			return refused.Code
		}
		return ""
	}
	const here, elsewhere = "192.0.2.1:1", "192.0.2.2:1"
	if code := login(here, "its secret"); code != "" {
		t.Fatalf("the root key: %s", code)
	}
	limited := false
	for range 20 {
		limited = limited || login(here, "a guess") == "too_many_attempts"
	}
	if !limited {
		t.Error("guesses are not limited")
	}
	if code := login(here, "its secret"); code != "" {
		t.Errorf("the root key, after guesses from its address: %s", code)
	}
	if code := login(elsewhere, "a guess"); code != "unauthorized" {
		t.Errorf("a guess from another address: %s", code)
	}
}
